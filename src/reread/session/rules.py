"""The findings of `check` in a file: one generator function and one row of RULES for each rule.

A rule looks at a line, at a record or, once all have been read, at the whole file, and yields what it finds.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple, cast

from reread.base import jsontext
from reread.base.text import plural
from reread.base.times import parse_timestamp
from reread.model.conversation import Conversation
from reread.model.ledger import DUPLICATE
from reread.records import dialects
from reread.records.lines import Line, Lines
from reread.records.types import BLOCK, CHANGED, FIELD, MISSING, SUBTYPE, TOOL, TYPE, WRONG, kind_of
from reread.session.checked_file import (
    BYTE_ORDER_MARK,
    SPOKEN,
    STRICT,
    CheckedFile,
    CheckedRecord,
    FileTally,
    Spot,
    shown,
)
from reread.session.finding import ERROR, INFO, WARNING, Finding, Rule

_WHOLE_PAIR = re.compile(rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


def byte_order_mark(file: CheckedFile, line: Line, seen: list[CheckedRecord]) -> Iterator[str]:
    if line.raw.startswith(BYTE_ORDER_MARK):
        yield "begins with a byte order mark"


def nul_bytes(file: CheckedFile, line: Line, seen: list[CheckedRecord]) -> Iterator[str]:
    if b"\0" in line.raw:
        yield f"holds {plural(line.raw.count(0), 'NUL byte')}; what stands around them is read"


def spliced_line(file: CheckedFile, line: Line, seen: list[CheckedRecord]) -> Iterator[str]:
    whole = sum(one.fault is None for one in seen)
    if whole > 1 and not file.is_document:
        yield f"holds {whole} records on one line; all are read"


def not_json(file: CheckedFile) -> Iterator[Spot]:
    torn = file.torn
    for index, fault in file.broken:
        if index != torn:
            yield file.records.line(index), f"cannot be read: {shown(fault)}"


def torn_tail(file: CheckedFile) -> Iterator[Spot]:
    if file.torn >= 0:
        yield file.records.line(file.torn), "breaks off: it is still being written, or was never finished"
    elif file.is_document and not file.closes:
        yield len(file.lines), "the array breaks off: it is still being written, or was never finished"


def no_final_newline(file: CheckedFile) -> Iterator[Spot]:
    if not file.ends and not file.is_document and file.torn < 0:
        yield len(file.lines), "the last line has no line end"


def blank_line(file: CheckedFile) -> Iterator[Spot]:
    if file.blank:
        yield file.blank[0], f"{plural(len(file.blank), 'line')} without a record"


def carriage_return(file: CheckedFile) -> Iterator[Spot]:
    if file.returns:
        yield file.returns[0], f"{plural(len(file.returns), 'line')} ending in CR LF"


def not_an_object(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    if seen.fault is not None and seen.is_json:
        yield "is JSON, but no object"


def invalid_utf8(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    if seen.refusal is not None and seen.fault is None and not _is_utf8(seen.body):
        yield "is not valid UTF-8; the broken bytes read as U+FFFD"


def lone_surrogate(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    if seen.refusal is not None and seen.fault is None and _has_half_pair(seen.body):
        yield "holds half of a surrogate pair; it reads as U+FFFD"


def loose_json(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    if seen.refusal is None or seen.fault is not None:
        return
    if _is_utf8(seen.body) and not _has_half_pair(seen.body):
        yield f"strict JSON readers refuse it: {shown(seen.refusal)}"


def missing_field(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    absent = [_field_name(one.path) for one in seen.deviations if one.kind == MISSING]
    if absent:
        yield f"has no {', '.join(absent)}"


def wrong_type(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    for one in seen.deviations:
        if one.kind == WRONG:
            yield f"its {shown(_field_name(one.path))} {one.text}"


def bad_timestamp(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    stamp = seen.native.get("timestamp")
    untranslated = seen.dialect == STRICT and isinstance(stamp, int | float)
    if untranslated or (isinstance(stamp, str) and parse_timestamp(stamp) is None):
        yield f"its timestamp is no time: {shown(jsontext.dumps(stamp).decode())}"


def bad_content(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    message = seen.written.get("message", seen.native.get("message"))
    if not isinstance(message, dict) or not (seen.envelope.type in SPOKEN or seen.dialect == STRICT):
        return
    content = cast(dict[str, Any], message).get("content")
    if isinstance(content, list):
        blocks = cast(list[Any], content)
        odd = [n for n, block in enumerate(blocks, 1) if not (isinstance(block, dict) and "type" in block)]
        if odd:
            yield f"its content has {kind_of(blocks[odd[0] - 1])} without a type in place of block {odd[0]}"
    elif not isinstance(content, str):
        yield f"its content is {kind_of(content)}, neither a string nor a list"


def bad_image(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    for image in _images(seen.content):
        source = image.get("source", {"data": image.get("data"), "media_type": image.get("mimeType")})
        is_encoded = seen.dialect == STRICT
        fault = _image_fault(cast(dict[str, Any], source), is_encoded) if isinstance(source, dict) else "has no source"
        if fault:
            yield f"an image {fault}"


def sidechain_marker(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    if seen.envelope.parentUuid in file.sidechain and not seen.envelope.isSidechain:
        yield "hangs under a sidechain record and is not marked as one"


def no_active_branch(file: CheckedFile) -> Iterator[Spot]:
    if not file.inactive:
        return
    continued = {parent for index, parent in enumerate(file.parents) if index not in file.inactive}
    for index in sorted(file.inactive):
        parent = file.parents[index]
        if parent not in file.inactive and parent not in continued:
            yield file.records.line(index), "is marked inactive, and no record beside it is active"


def repeated_uuid(file: CheckedFile) -> Iterator[Spot]:
    for index, first in file.repeats:
        if file.fate(index) != "reappended":
            same = file.records[index].raw == file.records[first].raw
            how = "repeats" if same else "says something else under the uuid of"
            yield file.records.line(index), f"{how} line {file.records.line(first)}"


def reappended_record(file: CheckedFile) -> Iterator[Spot]:
    for index, first in file.repeats:
        if file.fate(index) == "reappended":
            yield file.records.line(index), f"a compaction wrote line {file.records.line(first)} again"


def repeated_record(file: CheckedFile) -> Iterator[Spot]:
    named = {file.records.line(index) for index, _ in file.repeats}
    for conversation in file.conversations():
        for index in range(len(conversation.records)):
            if conversation.ledger.code(index) == DUPLICATE and conversation.records.line(index) not in named:
                fate = conversation.ledger[index]
                yield fate.line, f"says again what line {fate.of} says, under another uuid"


def dangling_parent(file: CheckedFile) -> Iterator[Spot]:
    for index, name in file.missing:
        if name not in file.first and name not in file.borrowed and name not in file.uuids_of_relatives:
            yield file.records.line(index), f"its parent {shown(name)} is not in the file"


def forward_parent(file: CheckedFile) -> Iterator[Spot]:
    rings = {index for ring in file.cycles for index in ring}
    for index, name in file.missing:
        parent = file.first.get(name, index)
        if parent > index and index not in rings:
            yield file.records.line(index), f"its parent stands later, on line {file.records.line(parent)}"


def parent_cycle(file: CheckedFile) -> Iterator[Spot]:
    for cycle in file.cycles:
        lines = [file.records.line(index) for index in cycle]
        if len(lines) == 1:
            yield lines[0], "is its own parent"
        else:
            yield min(lines), f"is its own ancestor, by {plural(len(lines), 'record')}"


def orphan_result(file: CheckedFile) -> Iterator[Spot]:
    for id, index in file.results.items():
        if id not in file.calls and not file.borrowed and id not in file.calls_of_relatives:
            yield file.records.line(index), f"a result of call {shown(id)}, which is not in the file"
    for index in file.unnamed_results:
        if file.fate(index) == "orphan":
            yield file.records.line(index), "a result names no call, and no call waits for one"


def unnamed_result(file: CheckedFile) -> Iterator[Spot]:
    for index in file.unnamed_results:
        if file.fate(index) != "orphan":
            yield file.records.line(index), "a result names no call; it is placed by where it stands"


def result_before_call(file: CheckedFile) -> Iterator[Spot]:
    for id, index in file.results.items():
        call = file.calls.get(id)
        if call is not None and call.at > index:
            line = file.records.line(call.at)
            yield file.records.line(index), f"a result before its call, which is on line {line}"


def several_results(file: CheckedFile) -> Iterator[Spot]:
    for index, id in file.more_results:
        line = file.records.line(file.results[id])
        yield file.records.line(index), f"a second result of call {shown(id)}; the first is on line {line}"


def unanswered_call(file: CheckedFile) -> Iterator[Spot]:
    for id, call in file.calls.items():
        if id not in file.results and id not in file.answered:
            yield file.records.line(call.at), f"{shown(call.name)} call {shown(id)} has no result"


def absent_agent(file: CheckedFile) -> Iterator[Spot]:
    for call in file.conversation.calls:  # agents have been linked: linking here would read the file again
        if call.absent_agent is not None:
            yield call.line, f"the transcript of agent {shown(call.absent_agent)}, which its result names, is not there"


def session_change(file: CheckedFile) -> Iterator[Spot]:
    metadata = file.conversation.metadata
    for id, index in zip(metadata.ids[1:], metadata.ids_at[1:], strict=True):
        yield file.records.line(index), f"the session id changes to {shown(id)}"


def foreign_dialect(file: CheckedFile) -> Iterator[Spot]:
    for name, sighting in file.dialects.items():
        if name != dialects.NATIVE:
            yield sighting.line, f"written as {name}: {sighting}"


sightings = partial(methodcaller, "sightings")
"""The rule that tells of all sightings of one kind."""


# fmt: off
RULES = (
    Rule("not-json", ERROR, "A line, or a piece of one, is no JSON.", file=not_json),
    Rule("not-an-object", ERROR, "A line is JSON, but no object.", record=not_an_object),
    Rule("torn-tail", WARNING, "The file breaks off inside its last record.", file=torn_tail),
    Rule("spliced-line", WARNING, "Several records stand on one line.", line=spliced_line),
    Rule("nul-bytes", WARNING, "A line holds NUL bytes.", line=nul_bytes),
    Rule("invalid-utf8", WARNING, "A record is not valid UTF-8.", record=invalid_utf8),
    Rule("missing-field", WARNING, "A record lacks what its kind must have.", record=missing_field),
    Rule("wrong-type", WARNING, "A field has a value of another type.", record=wrong_type),
    Rule("bad-timestamp", WARNING, "A timestamp is no time.", record=bad_timestamp),
    Rule("bad-content", WARNING, "A message's content is neither text nor blocks.", record=bad_content),
    Rule("bad-image", WARNING, "An image is not encoded as images are.", record=bad_image),
    Rule("sidechain-marker", WARNING, "A record of a sidechain is not marked so.", record=sidechain_marker),
    Rule("no-active-branch", WARNING, "Only inactive records follow a record.", file=no_active_branch),
    Rule("repeated-uuid", WARNING, "A uuid stands in the file twice.", file=repeated_uuid),
    Rule("dangling-parent", WARNING, "A record's parent is not in the file.", file=dangling_parent),
    Rule("parent-cycle", WARNING, "A record is its own ancestor.", file=parent_cycle),
    Rule("orphan-result", WARNING, "A result's call is not in the file.", file=orphan_result),
    Rule("result-before-call", INFO, "A result stands before its call.", file=result_before_call),
    Rule("unnamed-result", INFO, "A result names no call.", file=unnamed_result),
    Rule("several-results", INFO, "A call has more than one result.", file=several_results),
    Rule("unanswered-call", INFO, "A call has no result.", file=unanswered_call),
    Rule("absent-agent", INFO, "A result names an agent whose transcript is not there.", file=absent_agent),
    Rule("forward-parent", INFO, "A record's parent stands later in the file.", file=forward_parent),
    Rule("reappended-record", INFO, "A compaction wrote a record again.", file=reappended_record),
    Rule("repeated-record", INFO, "A record says again what an earlier one says.", file=repeated_record),
    Rule("session-change", INFO, "The session id changes inside the file.", file=session_change),
    Rule("foreign-dialect", INFO, "Records are not as the client keeps them on disk.", file=foreign_dialect),
    Rule("unknown-type", INFO, "Records have a type that is not known.", file=sightings(TYPE)),
    Rule("unknown-subtype", INFO, "Records or their payloads have an unknown subtype.", file=sightings(SUBTYPE)),
    Rule("unknown-block", INFO, "Messages have a content block that is not known.", file=sightings(BLOCK)),
    Rule("unknown-tool", INFO, "Calls name a tool that is not known.", file=sightings(TOOL)),
    Rule("unknown-field", INFO, "Records have a field that is not known.", file=sightings(FIELD)),
    Rule("changed-type", INFO, "Parts of records or tools have a value of another type.", file=sightings(CHANGED)),
    Rule("lone-surrogate", INFO, "A record holds half of a surrogate pair.", record=lone_surrogate),
    Rule("loose-json", INFO, "A record is JSON that only lenient readers read.", record=loose_json),
    Rule("byte-order-mark", INFO, "A line begins with a byte order mark.", line=byte_order_mark),
    Rule("blank-line", INFO, "Lines hold no record.", file=blank_line),
    Rule("carriage-return", INFO, "Lines end in CR LF.", file=carriage_return),
    Rule("no-final-newline", INFO, "The last line is whole but has no line end.", file=no_final_newline),
)
# fmt: on
"""Every rule, the most severe first."""

WRITTEN_RULES = frozenset(
    {
        "bad-content",
        "bad-image",
        "dangling-parent",
        "missing-field",
        "no-active-branch",
        "orphan-result",
        "parent-cycle",
        "repeated-uuid",
        "result-before-call",
        "sidechain-marker",
        "wrong-type",
    }
)
"""The rules that the strict dialect was specified with; a record of it that breaks one is an error."""

DRIFT_RULES = frozenset(
    {
        "changed-type",
        "unknown-block",
        "unknown-field",
        "unknown-subtype",
        "unknown-tool",
        "unknown-type",
        "wrong-type",
    }
)
"""The rules that find what differs from the known types."""

_LINE_RULES = [(n, rule.line) for n, rule in enumerate(RULES) if rule.line]
_RECORD_RULES = [(n, rule.record) for n, rule in enumerate(RULES) if rule.record]
_FILE_RULES = [(n, rule.file) for n, rule in enumerate(RULES) if rule.file]


class FileCheck(NamedTuple):
    """The findings of one pass over a file."""

    findings: list[Finding]
    """In the order of their lines."""
    tally: FileTally


def check_file(
    conversation: Conversation,
    lines: Lines,
    *,
    relatives: Sequence[Conversation] = (),
    visit: Callable[[CheckedRecord], None] | None = None,
) -> FileCheck:
    """Apply all rules to one file; `relatives` are the other conversations of its session."""
    file = CheckedFile(conversation, lines, relatives)
    spots: list[tuple[int, int, str]] = []
    for line in lines:
        seen = file.read(line)
        file.add_line(line, seen)
        for n, look in _LINE_RULES:
            spots += [(line.number, n, text) for text in look(file, line, seen)]
        for record in seen:
            for n, judge in _RECORD_RULES:
                spots += [(line.number, n, text) for text in judge(file, record)]
            file.add(record)
            if visit is not None:
                visit(record)
    for n, find in _FILE_RULES:
        spots += [(number, n, text) for number, text in find(file)]
    spots.sort(key=lambda spot: spot[:2])
    strict = file.strict_lines()
    return FileCheck([_finding(RULES[n], number, text, strict) for number, n, text in spots], file.tally())


def _finding(rule: Rule, line: int, text: str, strict: set[int]) -> Finding:
    return Finding(rule.code, ERROR if line in strict and rule.code in WRITTEN_RULES else rule.level, line, text)


def findings(conversation: Conversation, lines: Lines, *, relatives: Sequence[Conversation] = ()) -> Iterator[Finding]:
    """Yield what the rules find in one file, in the order of its lines."""
    yield from check_file(conversation, lines, relatives=relatives).findings


def _field_name(path: str) -> str:
    """Return the name of a field without the type of its record: `message.role`, `tool_use.id`."""
    family, slash, rest = path.partition("/")
    return rest if slash and family != "system" else path.partition(".")[2]


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_half_pair(body: bytes) -> bool:
    return _HALF_PAIR.search(_WHOLE_PAIR.sub(b" ", body)) is not None


def _images(content: Any) -> Iterator[dict[str, Any]]:
    """Return the images of a message's content, those in results included."""
    for block in cast(list[Any], content) if isinstance(content, list) else ():
        if isinstance(block, dict):
            held = cast(dict[str, Any], block)
            if held.get("type") == "image":
                yield held
            elif held.get("type") == "tool_result":
                yield from _images(held.get("content"))


def _image_fault(source: dict[str, Any], is_encoded: bool) -> str | None:
    """Return what is wrong with the source of an image, which may have to be encoded in the file."""
    if source.get("type", "base64") != "base64":
        if is_encoded:
            return f"is not encoded: its source is {shown(jsontext.dumps(source['type']).decode())}"
        return None if source.get("url") or source.get("file_id") else "has neither data, URL nor file"
    kind, data = source.get("media_type"), source.get("data")
    if not (isinstance(kind, str) and kind.startswith("image/")):
        return f"has no image type: {shown(jsontext.dumps(kind).decode())}"
    try:
        binascii.a2b_base64(data if isinstance(data, str) else "", strict_mode=True)
    except ValueError as error:
        return f"is not base64: {error}"
    return None if data else "is empty"
