"""Rules: what is odd about a file, found in one pass over its lines.

A rule is one generator function and one row of RULES. It looks at a line, at a record or, once all have been
seen, at the whole file, and yields what is odd there.
"""

from __future__ import annotations

import binascii
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import msgspec

from reread.base import jsontext
from reread.base.text import plural
from reread.base.times import parse_timestamp
from reread.model.conversation import CALLS, Conversation
from reread.model.ledger import FATES
from reread.records import dialects
from reread.records.decode import Record
from reread.records.envelope import RecordEnvelope
from reread.records.lines import Line, Lines
from reread.records.types import FAMILIES, SYSTEMS, unknown_fields

LEVELS = ERROR, WARNING, INFO = ("error", "warning", "info")

STRICT = dialects.early.NAME
"""The dialect that was written down as rules: a record of it that breaks one is an error."""
NODES = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""The types that hang in the tree."""
SPOKEN = frozenset({"user", "assistant"})
ENVELOPE = ("uuid", "parentUuid", "sessionId", "timestamp")
"""What every record of the tree says of itself; the parent of a root is null."""
NESTED: dict[str, Any] = {**FAMILIES, "system": SYSTEMS}
"""The families whose members have kinds of their own, as the paths of unknown things name them."""
KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
MOST_SHOWN = 80

_decode = msgspec.json.Decoder().decode
_WHOLE_PAIR = re.compile(rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
_MARK = b"\xef\xbb\xbf"


class Finding(msgspec.Struct, frozen=True):
    """One odd thing, and where it stands."""

    code: str
    level: str
    """error, warning or info."""
    line: int
    """From 1; 0 where it is about the file as a whole."""
    text: str


class FileTally(msgspec.Struct, frozen=True):
    """What a file holds, counted."""

    types: Counter[str]
    tools: Counter[str]
    """Calls by the name of the tool."""
    dialects: Counter[str]
    unknown_types: Counter[str]
    """Records by what no type knows: `new-type`, `system/new`, `attachment/new`, `block/new`."""
    unknown_fields: Counter[str]
    """Records by the path of what no type has a field for, such as `user.newField`."""


class CheckedRecord(NamedTuple):
    """A record as the pass comes by it."""

    at: int
    """Its place among the file's records."""
    line: int
    body: bytes
    envelope: RecordEnvelope
    dialect: str
    fault: str | None
    refusal: str | None
    """Why a strict JSON reader would not read it, where it would not."""
    written: dict[str, Any]
    """The object as written; empty where there is none."""
    native: dict[str, Any]
    """The object in the native tongue."""

    @property
    def is_json(self) -> bool:
        """Whether it is JSON of any kind."""
        try:
            jsontext.loads(self.body)
        except ValueError:
            return False
        return True

    @property
    def content(self) -> Any:
        """The message's content in the native tongue."""
        message = self.native.get("message")
        return cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None


class Sighting:
    """Something that no type knows: where it came first, how often, and in which versions."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.count = 0
        self.versions: dict[str, None] = {}

    def __str__(self) -> str:
        if not self.versions:
            return plural(self.count, "record")
        s = "s" if len(self.versions) > 1 else ""
        return f"{plural(self.count, 'record')}, version{s} {', '.join(map(shown, self.versions))}"


class CheckedCall(NamedTuple):
    """A call, as far as its result needs it."""

    at: int
    """The record that makes it."""
    name: str


class CheckedFile:
    """A file as the pass has seen it so far."""

    def __init__(self, conversation: Conversation, lines: Lines, relatives: Sequence[Conversation]) -> None:
        self.conversation = conversation
        self.lines = lines
        self.records = conversation.records
        self.relatives = relatives
        """Conversations in whose files a parent or a call may stand as well."""
        self.types: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.dialects: dict[str, Sighting] = {}
        self.unknown: dict[str, Sighting] = {}
        self.version: str | None = None
        self.blank: list[int] = []
        self.returns: list[int] = []
        """Lines that end in CR LF."""
        self.broken: list[tuple[int, str]] = []
        """Records that could not be read, and why."""
        self.ends = True
        """Whether the last line has an end."""
        self.closes = True
        """Whether the last line ends as an array does."""
        self.begun = False
        """Whether a line that is not blank has come."""
        self.is_document = False
        """Whether the file is one JSON array."""
        self.strict: set[int] = set()
        """Lines that must keep the rules of the strict dialect."""
        self.undated: set[int] = set()
        """Lines in the native tongue by default alone: without a time a record does not tell its dialect."""
        self.is_native = False
        """Whether a record is in the native tongue beyond doubt."""
        self.parents = array("i")
        self.first: dict[str, int] = {}
        """The first record of each uuid."""
        self.repeats: list[tuple[int, int]] = []
        """Records whose uuid stood before, each with the first that has it."""
        self.waiting: list[tuple[int, str]] = []
        """Records whose parent did not stand before them."""
        self.borrowed: set[str] = set()
        """Records in another file that this one says it goes on from."""
        self.side: set[str] = set()
        """The uuids of sidechain records."""
        self.uses: dict[str, CheckedCall] = {}
        self.answers: dict[str, int] = {}
        """The first result of each call."""
        self.more_answers: list[tuple[int, str]] = []
        self.unnamed: list[int] = []
        """Records with a result that names no call."""

    def read(self, line: Line) -> list[CheckedRecord]:
        """The records that begin on the next line."""
        found: list[CheckedRecord] = []
        records = self.records
        index = len(self.parents)
        while index < len(records) and records.line(index) <= line.number:
            _, offset, length = records.place(index)
            start = offset - line.offset
            is_inside = 0 <= start <= len(line.raw) - length
            body = line.raw[start : start + length] if is_inside else records[index].body
            found.append(_see(index, Record(line.number, offset, body)))
            index += 1
        return found

    def take_line(self, line: Line, seen: list[CheckedRecord]) -> None:
        """Take in what a physical line shows."""
        raw = line.raw
        if line.number == len(self.lines):
            self.ends = raw.endswith(b"\n")
            self.closes = raw.rstrip().endswith(b"]")
        if not self.begun and (opening := raw.removeprefix(_MARK).lstrip()):
            self.begun = True
            self.is_document = opening.startswith(b"[") and not (seen and seen[0].body.startswith(b"["))
        if not seen and not self.is_document:
            self.blank.append(line.number)
        elif raw.endswith(b"\r\n"):
            self.returns.append(line.number)

    def take(self, seen: CheckedRecord) -> None:
        """Take in a record."""
        envelope = seen.envelope
        self.types[envelope.type] += 1
        self.parents.append(-1)
        _sight(self.dialects, seen.dialect, seen.line)
        if seen.fault is not None:
            if not seen.is_json and seen.body.strip(b" \t\r\n\0"):
                self.broken.append((seen.at, seen.fault))
            return
        self.version = envelope.version or self.version
        for path in unknown_fields(seen.native):
            _sight(self.unknown, path, seen.line, self.version)
        if seen.dialect == STRICT:
            self.strict.add(seen.line)
        elif envelope.type in NODES and seen.dialect == dialects.NATIVE:
            if "timestamp" in seen.written:
                self.is_native = True
            else:
                self.undated.add(seen.line)
        if envelope.type == "fork-context-ref":
            self.borrowed.add(str(seen.native.get("parentLastUuid")))
        if self._take_node(seen.at, envelope, is_echo=seen.native.get("isReplay") is True):
            self._take_calls(seen.at, envelope)

    def _take_node(self, index: int, envelope: RecordEnvelope, *, is_echo: bool) -> bool:
        """Find the record's place in the tree; False where it came before."""
        if envelope.uuid is None:
            return True
        first = self.first.setdefault(envelope.uuid, index)
        if first != index:
            if not is_echo:
                self.repeats.append((index, first))
            return False
        if envelope.isSidechain:
            self.side.add(envelope.uuid)
        if envelope.parentUuid is not None:
            parent = self.first.get(envelope.parentUuid, index)
            if parent == index:
                self.waiting.append((index, envelope.parentUuid))
            else:
                self.parents[index] = parent
        return True

    def _take_calls(self, index: int, envelope: RecordEnvelope) -> None:
        content = envelope.message.content if envelope.message is not None and envelope.type in SPOKEN else None
        if not isinstance(content, list):
            return
        for block in content:
            if block.type in CALLS:
                if block.id is None or block.id not in self.uses:
                    self.tools[block.name or block.type] += 1
                if block.id is not None:
                    self.uses.setdefault(block.id, CheckedCall(index, block.name or block.type))
            elif block.tool_use_id is None:
                if block.type == "tool_result":
                    self.unnamed.append(index)
            elif self.answers.setdefault(block.tool_use_id, index) != index:
                self.more_answers.append((index, block.tool_use_id))

    @property
    def torn(self) -> int:
        """The record that was being written when the file ended, or -1."""
        at = self.broken[-1][0] if self.broken else -1
        whole = self.closes if self.is_document else self.ends
        is_last = at == len(self.records) - 1 and not whole
        return at if is_last and at >= 0 and self.records[at].body.startswith(b"{") else -1

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The rings of records that are one another's ancestors; a ring has a link that leads forward."""
        parents = array("i", self.parents)
        for index, name in self.waiting:
            parents[index] = self.first.get(name, -1)
        rings: list[list[int]] = []
        done: set[int] = set()
        for at, _ in self.waiting:
            path: dict[int, int] = {}
            while at >= 0 and at not in done and at not in path:
                path[at] = len(path)
                at = parents[at]
            if at in path:
                rings.append(list(path)[path[at] :])
            done.update(path)
        return rings

    def must_be_strict(self) -> set[int]:
        """The lines on which breaking a written rule is an error."""
        return self.strict if self.is_native or not self.strict else self.strict | self.undated

    def fate(self, index: int) -> str:
        """What became of a record, branches aside."""
        return FATES[self.conversation.fate_code(index)]

    def stands_elsewhere(self, uuid: str) -> bool:
        """Whether a record stands in another file of the session."""
        return any(conversation.index_of(uuid) is not None for conversation in self.relatives)

    def is_called_elsewhere(self, id: str) -> bool:
        """Whether a call was made in another file of the session."""
        return any(conversation.has_call(id) for conversation in self.relatives)

    def is_answered(self, id: str) -> bool:
        """Whether a result that names no call was placed on this one."""
        calls = (conversation.find_call(id) for conversation in self.conversations())
        return any(call is not None and call.answer >= 0 for call in calls)

    def conversations(self) -> Iterator[Conversation]:
        """The conversation, and those of the agents whose records stand between its own."""
        yield self.conversation
        yield from (agent for agent in self.conversation.inline_agents.values() if not agent.progress_only)

    def unknowns(self, sort: str) -> Iterator[Spot]:
        """What no type knows, of one sort."""
        for path, sighting in self.unknown.items():
            if _sort(path) == sort:
                name = path.removeprefix("type/").removeprefix("block/")
                yield sighting.line, f"{sort} {shown(name) or '(none)'}: {sighting}"

    def tally(self) -> FileTally:
        """What the file holds."""
        fields = {path: seen.count for path, seen in self.unknown.items() if _sort(path) == "field"}
        kinds = {path.removeprefix("type/"): s.count for path, s in self.unknown.items() if path not in fields}
        counts = {name: sighting.count for name, sighting in self.dialects.items()}
        return FileTally(self.types, self.tools, Counter(counts), Counter(kinds), Counter(fields))


def _see(index: int, record: Record) -> CheckedRecord:
    body = record.body
    value: Any = None
    refusal: str | None = None
    try:
        value = _decode(body)
    except jsontext.DECODE_ERRORS as error:
        refusal = str(error)
        if record.fault is None:
            value = jsontext.loads_clean(body)
    written = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    native = written if record.dialect == dialects.NATIVE else dialects.translate(written)[1]
    return CheckedRecord(
        index, record.line, body, record.envelope, record.dialect, record.fault, refusal, written, native
    )


def _sight(sightings: dict[str, Sighting], name: str, line: int, version: str | None = None) -> None:
    sighting = sightings.get(name)
    if sighting is None:
        sighting = sightings[name] = Sighting(line)
    sighting.count += 1
    if version is not None:
        sighting.versions[version] = None


Spot = tuple[int, str]
"""A line, and what is odd there."""


def byte_order_mark(file: CheckedFile, line: Line, seen: list[CheckedRecord]) -> Iterator[str]:
    if line.raw.startswith(_MARK):
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
    required: tuple[str, ...] = ()
    if seen.dialect == STRICT or (seen.dialect == dialects.NATIVE and seen.envelope.type in NODES):
        required = ENVELOPE
    if seen.dialect == STRICT or seen.envelope.type in SPOKEN:
        required += ("message",)
    held = seen.written if seen.dialect == STRICT else seen.native
    roots = {"parentUuid"} & held.keys()
    absent = [name for name in required if held.get(name) is None and name not in roots]
    if absent:
        yield f"has no {', '.join(absent)}"


def bad_timestamp(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    stamp = seen.native.get("timestamp")
    if stamp is not None and (not isinstance(stamp, str) or parse_timestamp(stamp) is None):
        yield f"its timestamp is no time: {shown(jsontext.dumps(stamp).decode())}"


def bad_content(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    message = seen.written.get("message", seen.native.get("message"))
    if message is None or not (seen.envelope.type in SPOKEN or seen.dialect == STRICT):
        return
    if not isinstance(message, dict):
        yield f"its message is {_kind(message)}, no object"
        return
    content = cast(dict[str, Any], message).get("content")
    if isinstance(content, list):
        blocks = cast(list[Any], content)
        odd = [n for n, block in enumerate(blocks, 1) if not (isinstance(block, dict) and "type" in block)]
        if odd:
            yield f"its content has {_kind(blocks[odd[0] - 1])} without a type in place of block {odd[0]}"
    elif not isinstance(content, str):
        yield f"its content is {_kind(content)}, neither a string nor a list"


def bad_image(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    for image in _images(seen.content):
        source = image.get("source", {"data": image.get("data"), "media_type": image.get("mimeType")})
        fault = _image_fault(cast(dict[str, Any], source)) if isinstance(source, dict) else "has no source"
        if fault:
            yield f"an image {fault}"


def sidechain_marker(file: CheckedFile, seen: CheckedRecord) -> Iterator[str]:
    if seen.envelope.parentUuid in file.side and not seen.envelope.isSidechain:
        yield "hangs under a sidechain record and is not marked as one"


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
            if FATES[conversation.fate_code(index)] == "duplicate" and conversation.records.line(index) not in named:
                fate = conversation.fate(index)
                yield fate.line, f"says again what line {fate.of} says, under another uuid"


def dangling_parent(file: CheckedFile) -> Iterator[Spot]:
    for index, name in file.waiting:
        if name not in file.first and name not in file.borrowed and not file.stands_elsewhere(name):
            yield file.records.line(index), f"its parent {shown(name)} is not in the file"


def forward_parent(file: CheckedFile) -> Iterator[Spot]:
    rings = {index for ring in file.cycles for index in ring}
    for index, name in file.waiting:
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
    for id, index in file.answers.items():
        if id not in file.uses and not file.borrowed and not file.is_called_elsewhere(id):
            yield file.records.line(index), f"a result of call {shown(id)}, which is not in the file"
    for index in file.unnamed:
        if file.fate(index) == "orphan":
            yield file.records.line(index), "a result names no call, and no call waits for one"


def unnamed_result(file: CheckedFile) -> Iterator[Spot]:
    for index in file.unnamed:
        if file.fate(index) != "orphan":
            yield file.records.line(index), "a result names no call; it is placed by where it stands"


def result_before_call(file: CheckedFile) -> Iterator[Spot]:
    for id, index in file.answers.items():
        use = file.uses.get(id)
        if use is not None and use.at > index:
            line = file.records.line(use.at)
            yield file.records.line(index), f"a result before its call, which is on line {line}"


def several_results(file: CheckedFile) -> Iterator[Spot]:
    for index, id in file.more_answers:
        line = file.records.line(file.answers[id])
        yield file.records.line(index), f"a second result of call {shown(id)}; the first is on line {line}"


def unanswered_call(file: CheckedFile) -> Iterator[Spot]:
    for id, use in file.uses.items():
        if id not in file.answers and not file.is_answered(id):
            yield file.records.line(use.at), f"{shown(use.name)} call {shown(id)} has no result"


def session_change(file: CheckedFile) -> Iterator[Spot]:
    facts = file.conversation.metadata
    for id, index in zip(facts.ids[1:], facts.ids_at[1:], strict=True):
        yield file.records.line(index), f"the session id changes to {shown(id)}"


def foreign_dialect(file: CheckedFile) -> Iterator[Spot]:
    for name, sighting in file.dialects.items():
        if name != dialects.NATIVE:
            yield sighting.line, f"written as {name}: {sighting}"


def unknown_type(file: CheckedFile) -> Iterator[Spot]:
    yield from file.unknowns("type")


def unknown_subtype(file: CheckedFile) -> Iterator[Spot]:
    yield from file.unknowns("subtype")


def unknown_block(file: CheckedFile) -> Iterator[Spot]:
    yield from file.unknowns("block")


def unknown_field(file: CheckedFile) -> Iterator[Spot]:
    yield from file.unknowns("field")


LineRule = Callable[[CheckedFile, Line, list[CheckedRecord]], Iterator[str]]
RecordRule = Callable[[CheckedFile, CheckedRecord], Iterator[str]]
FileRule = Callable[[CheckedFile], Iterator[Spot]]


class Rule(NamedTuple):
    """A code with its level and meaning, and what looks for it in a line, a record or the whole file."""

    code: str
    level: str
    says: str
    line: LineRule | None = None
    record: RecordRule | None = None
    file: FileRule | None = None


# fmt: off
RULES = (
    Rule("not-json", ERROR, "A line, or a piece of one, is no JSON.", file=not_json),
    Rule("not-an-object", ERROR, "A line is JSON, but no object.", record=not_an_object),
    Rule("torn-tail", WARNING, "The file breaks off inside its last record.", file=torn_tail),
    Rule("spliced-line", WARNING, "Several records stand on one line.", line=spliced_line),
    Rule("nul-bytes", WARNING, "A line holds NUL bytes.", line=nul_bytes),
    Rule("invalid-utf8", WARNING, "A record is not valid UTF-8.", record=invalid_utf8),
    Rule("missing-field", WARNING, "A record lacks what its kind must have.", record=missing_field),
    Rule("bad-timestamp", WARNING, "A timestamp is no time.", record=bad_timestamp),
    Rule("bad-content", WARNING, "A message's content is neither text nor blocks.", record=bad_content),
    Rule("bad-image", WARNING, "An image is not encoded as images are.", record=bad_image),
    Rule("sidechain-marker", WARNING, "A record of a sidechain is not marked so.", record=sidechain_marker),
    Rule("repeated-uuid", WARNING, "A uuid stands in the file twice.", file=repeated_uuid),
    Rule("dangling-parent", WARNING, "A record's parent is not in the file.", file=dangling_parent),
    Rule("parent-cycle", WARNING, "A record is its own ancestor.", file=parent_cycle),
    Rule("orphan-result", WARNING, "A result's call is not in the file.", file=orphan_result),
    Rule("result-before-call", INFO, "A result stands before its call.", file=result_before_call),
    Rule("unnamed-result", INFO, "A result names no call.", file=unnamed_result),
    Rule("several-results", INFO, "A call has more than one result.", file=several_results),
    Rule("unanswered-call", INFO, "A call has no result.", file=unanswered_call),
    Rule("forward-parent", INFO, "A record's parent stands later in the file.", file=forward_parent),
    Rule("reappended-record", INFO, "A compaction wrote a record again.", file=reappended_record),
    Rule("repeated-record", INFO, "A record says again what an earlier one says.", file=repeated_record),
    Rule("session-change", INFO, "The session id changes inside the file.", file=session_change),
    Rule("foreign-dialect", INFO, "Records are not as the client keeps them on disk.", file=foreign_dialect),
    Rule("unknown-type", INFO, "Records have a type that is not known.", file=unknown_type),
    Rule("unknown-subtype", INFO, "Records or their payloads have an unknown subtype.", file=unknown_subtype),
    Rule("unknown-block", INFO, "Messages have a content block that is not known.", file=unknown_block),
    Rule("unknown-field", INFO, "Records have a field that is not known.", file=unknown_field),
    Rule("lone-surrogate", INFO, "A record holds half of a surrogate pair.", record=lone_surrogate),
    Rule("loose-json", INFO, "A record is JSON that only lenient readers read.", record=loose_json),
    Rule("byte-order-mark", INFO, "A line begins with a byte order mark.", line=byte_order_mark),
    Rule("blank-line", INFO, "Lines hold no record.", file=blank_line),
    Rule("carriage-return", INFO, "Lines end in CR LF.", file=carriage_return),
    Rule("no-final-newline", INFO, "The last line is whole but has no line end.", file=no_final_newline),
)
# fmt: on
"""Every rule, the gravest first."""

WRITTEN_RULES = frozenset(
    {
        "bad-content",
        "bad-image",
        "dangling-parent",
        "missing-field",
        "orphan-result",
        "parent-cycle",
        "repeated-uuid",
        "result-before-call",
        "sidechain-marker",
    }
)
"""The rules that the strict dialect was described with; a record of it that breaks one is an error."""

_LINE_RULES = [(n, rule.line) for n, rule in enumerate(RULES) if rule.line]
_RECORD_RULES = [(n, rule.record) for n, rule in enumerate(RULES) if rule.record]
_FILE_RULES = [(n, rule.file) for n, rule in enumerate(RULES) if rule.file]


class FileCheck(NamedTuple):
    """What one pass over a file found."""

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
    """Everything the rules find in one file, and what it holds; `kin` are the other files of its session."""
    file = CheckedFile(conversation, lines, relatives)
    spots: list[tuple[int, int, str]] = []
    for line in lines:
        seen = file.read(line)
        file.take_line(line, seen)
        for n, look in _LINE_RULES:
            spots += [(line.number, n, text) for text in look(file, line, seen)]
        for record in seen:
            for n, judge in _RECORD_RULES:
                spots += [(line.number, n, text) for text in judge(file, record)]
            file.take(record)
            if visit is not None:
                visit(record)
    for n, find in _FILE_RULES:
        spots += [(number, n, text) for number, text in find(file)]
    spots.sort(key=lambda spot: spot[:2])
    strict = file.must_be_strict()
    return FileCheck([_finding(RULES[n], number, text, strict) for number, n, text in spots], file.tally())


def _finding(rule: Rule, line: int, text: str, strict: set[int]) -> Finding:
    return Finding(rule.code, ERROR if line in strict and rule.code in WRITTEN_RULES else rule.level, line, text)


def findings(conversation: Conversation, lines: Lines, *, relatives: Sequence[Conversation] = ()) -> Iterator[Finding]:
    """Everything the rules find in one file, in the order of its lines."""
    yield from check_file(conversation, lines, relatives=relatives).findings


def shown(value: str) -> str:
    """A text out of a transcript, in a few characters that can do no harm on a terminal."""
    text = printable(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def printable(text: str) -> str:
    """A text with whatever is not to be printed written as escapes."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _kind(value: Any) -> str:
    for kind, words in KINDS.items():
        if isinstance(value, kind):
            return words
    return "null" if value is None else "a number"


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_half_pair(body: bytes) -> bool:
    return _HALF_PAIR.search(_WHOLE_PAIR.sub(b" ", body)) is not None


def _images(content: Any) -> Iterator[dict[str, Any]]:
    """The images of a message's content, those in results included."""
    for block in cast(list[Any], content) if isinstance(content, list) else ():
        if isinstance(block, dict):
            held = cast(dict[str, Any], block)
            if held.get("type") == "image":
                yield held
            elif held.get("type") == "tool_result":
                yield from _images(held.get("content"))


def _image_fault(source: dict[str, Any]) -> str | None:
    if source.get("type", "base64") != "base64":
        return None if source.get("url") or source.get("file_id") else "has neither data, URL nor file"
    kind, data = source.get("media_type"), source.get("data")
    if not (isinstance(kind, str) and kind.startswith("image/")):
        return f"has no image type: {shown(jsontext.dumps(kind).decode())}"
    try:
        binascii.a2b_base64(data if isinstance(data, str) else "", strict_mode=True)
    except ValueError as error:
        return f"is not base64: {error}"
    return None if data else "is empty"


def _sort(path: str) -> str:
    """Whether the path of something unknown names a type, a subtype, a block or a field."""
    family, _, rest = path.partition("/")
    if path.startswith("type/"):
        return "type"
    if path.startswith(f"{family}/") and family in NESTED and rest.split(".")[0] not in NESTED[family]:
        return "block" if family == "block" else "subtype"
    return "field"
