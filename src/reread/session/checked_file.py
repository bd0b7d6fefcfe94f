"""One file as `check` reads it: its lines and records in one pass, and what the rules ask of them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.text import plural
from reread.model.conversation import Call, Conversation
from reread.model.ledger import FATES
from reread.model.record_kinds import CALL_BLOCKS, TREE_TYPES
from reread.records import dialects
from reread.records.decode import NOT_AN_OBJECT, Record, Records
from reread.records.envelope import RecordEnvelope
from reread.records.lines import Line, Lines
from reread.records.types import (
    BLOCK,
    EMPTY,
    FIELD,
    MISSING,
    SUBTYPE,
    TOOL,
    TYPE,
    Deviation,
    EarlyRecord,
    deviations,
)
from reread.tools import is_known, tool_for

STRICT = dialects.early.NAME
"""The dialect that was specified as rules: a record of it that breaks one is an error."""
SPOKEN = frozenset({"user", "assistant"})
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MOST_SHOWN = 80
UNKNOWN = (TYPE, SUBTYPE, BLOCK, TOOL, FIELD)

_decode = msgspec.json.Decoder().decode

K = TypeVar("K", str, Deviation)
Spot = tuple[int, str]
"""A line, and what was found there."""


class FileTally(msgspec.Struct, frozen=True):
    """The content of a file, counted."""

    types: Counter[str]
    tools: Counter[str]
    """Calls by tool name."""
    dialects: Counter[str]
    unknown_types: Counter[str]
    """Records by unknown type: `new-type`, `system/new`, `attachment/new`, `block/new`, `tool/New`."""
    unknown_fields: Counter[str]
    """Records by the path of an unknown field, such as `user.newField` or `tool/Bash.result.newField`."""
    changed_types: Counter[str]
    """Records by the path of a value of another type, and what it is: `user.cwd is a number, not a string`."""


class CheckedRecord(NamedTuple):
    """A record with everything the rules look at."""

    at: int
    """Its index among the file's records."""
    line: int
    body: bytes
    envelope: RecordEnvelope
    dialect: str
    fault: str | None
    refusal: str | None
    """Why a strict JSON reader rejects it; None if it does not."""
    written: dict[str, Any]
    """The object as written; empty if there is none."""
    native: dict[str, Any]
    """The object in the native format."""
    deviations: list[Deviation]
    """How the object differs from the known types; in the strict dialect, how it does as written."""

    @property
    def is_json(self) -> bool:
        """True if it is JSON of any kind."""
        return self.fault in (None, NOT_AN_OBJECT)

    @property
    def content(self) -> Any:
        """The message's content in the native format."""
        message = self.native.get("message")
        return cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None


class Sighting:
    """Something unknown: where it came first, how often, and in which client versions."""

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
    """A file as far as it has been read."""

    def __init__(self, conversation: Conversation, lines: Lines, relatives: Sequence[Conversation]) -> None:
        self.conversation = conversation
        self.lines = lines
        self.records: Records = conversation.records
        self.relatives = relatives
        """The other conversations of the session: a parent or a call may be in their files."""
        self.types: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.dialects: dict[str, Sighting] = {}
        self.drift: dict[Deviation, Sighting] = {}
        self.version: str | None = None
        self.blank: list[int] = []
        self.returns: list[int] = []
        """Lines that end in CR LF."""
        self.broken: list[tuple[int, str]] = []
        """Records that could not be read, and why."""
        self.ends: bool = True
        """True if the last line has a line end."""
        self.closes: bool = True
        """True if the last line ends like an array."""
        self.begun: bool = False
        """True once a line was not blank."""
        self.is_document: bool = False
        """True if the file is one JSON array."""
        self.strict: set[int] = set()
        """Lines that must obey the rules of the strict dialect."""
        self.undated: set[int] = set()
        """Lines that are native only by default: without a type or a timestamp a record does not show its dialect."""
        self.is_native: bool = False
        """True once a record was certainly native."""
        self.parents: array[int] = array("i")
        self.first: dict[str, int] = {}
        """The first record of each uuid."""
        self.repeats: list[tuple[int, int]] = []
        """Records whose uuid came before, each with the first one that has it."""
        self.missing: list[tuple[int, str]] = []
        """Records whose parent did not come before them."""
        self.borrowed: set[str] = set()
        """Records in another file that this one says it continues."""
        self.inactive: set[int] = set()
        """Records that are marked as not active."""
        self.sidechain: set[str] = set()
        """The uuids of sidechain records."""
        self.calls: dict[str, CheckedCall] = {}
        self.results: dict[str, int] = {}
        """The first result of each call."""
        self.more_results: list[tuple[int, str]] = []
        self.unnamed_results: list[int] = []
        """Records with a result that names no call."""

    def read(self, line: Line) -> list[CheckedRecord]:
        """Return the records that begin on the next line."""
        found: list[CheckedRecord] = []
        records = self.records
        index = len(self.parents)
        while index < len(records) and records.line(index) <= line.number:
            _, offset, length = records.position(index)
            start = offset - line.offset
            is_inside = 0 <= start <= len(line.raw) - length
            body = line.raw[start : start + length] if is_inside else records[index].body
            found.append(_checked(index, Record(line.number, offset, body)))
            index += 1
        return found

    def add_line(self, line: Line, seen: list[CheckedRecord]) -> None:
        """Add a physical line."""
        raw = line.raw
        if line.number == len(self.lines):
            self.ends = raw.endswith(b"\n")
            self.closes = raw.rstrip().endswith(b"]")
        if not self.begun and (opening := raw.removeprefix(BYTE_ORDER_MARK).lstrip()):
            self.begun = True
            self.is_document = opening.startswith(b"[") and not (seen and seen[0].body.startswith(b"["))
        if not seen and not self.is_document:
            self.blank.append(line.number)
        elif raw.endswith(b"\r\n"):
            self.returns.append(line.number)

    def add(self, seen: CheckedRecord) -> None:
        """Add a record."""
        envelope = seen.envelope
        self.types[envelope.type] += 1
        self.parents.append(-1)
        _note_sighting(self.dialects, seen.dialect, seen.line)
        if seen.fault is not None:
            if not seen.is_json and seen.body.strip(b" \t\r\n\0"):
                self.broken.append((seen.at, seen.fault))
            return
        self.version = envelope.version or self.version
        for one in seen.deviations:
            if one.kind != MISSING:
                _note_sighting(self.drift, one, seen.line, self.version)
        if seen.dialect == STRICT:
            self.strict.add(seen.line)
        elif seen.dialect == dialects.NATIVE and (envelope.type in TREE_TYPES or not envelope.type):
            if not envelope.type or "timestamp" not in seen.written:
                self.undated.add(seen.line)
            else:
                self.is_native = True
        if envelope.type == "fork-context-ref":
            self.borrowed.add(str(seen.native.get("parentLastUuid")))
        if self._add_to_tree(seen.at, envelope, is_echo=seen.native.get("isReplay") is True):
            self._add_calls(seen.at, envelope)
            self._compare_tools(seen)

    def _add_to_tree(self, index: int, envelope: RecordEnvelope, *, is_echo: bool) -> bool:
        """Find the record's place in the tree; False if it came before."""
        if envelope.uuid is None:
            return True
        first = self.first.setdefault(envelope.uuid, index)
        if first != index:
            if not is_echo:
                self.repeats.append((index, first))
            return False
        if envelope.isSidechain:
            self.sidechain.add(envelope.uuid)
        if envelope.is_active is False:
            self.inactive.add(index)
        if envelope.parentUuid is not None:
            parent = self.first.get(envelope.parentUuid, index)
            if parent == index:
                self.missing.append((index, envelope.parentUuid))
            else:
                self.parents[index] = parent
        return True

    def _add_calls(self, index: int, envelope: RecordEnvelope) -> None:
        content = envelope.message.content if envelope.message is not None and envelope.type in SPOKEN else None
        if not isinstance(content, list):
            return
        for block in content:
            if block.type in CALL_BLOCKS:
                if block.id is None or block.id not in self.calls:
                    self.tools[block.name or block.type] += 1
                if block.id is not None:
                    self.calls.setdefault(block.id, CheckedCall(index, block.name or block.type))
            elif block.tool_use_id is None:
                if block.type == "tool_result":
                    self.unnamed_results.append(index)
            elif self.results.setdefault(block.tool_use_id, index) != index:
                self.more_results.append((index, block.tool_use_id))

    def _compare_tools(self, seen: CheckedRecord) -> None:
        """Compare inputs and results with the types of their tools; the input of a failed call proves nothing."""
        blocks = [as_dict(block) for block in as_list(seen.content)]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        found: list[Deviation] = []
        for block in blocks:
            name = as_str(block.get("name"))
            if name is not None and as_str(block.get("type")) in CALL_BLOCKS:
                call = self._find_call(block.get("id"))
                found += input_deviations(name, block.get("input")) if call is None or not call.is_error else []
        if len(results) == 1 and "toolUseResult" in seen.native:
            call = self._find_call(results[0].get("tool_use_id"))
            found += result_deviations(call.name, seen.native["toolUseResult"]) if call is not None else []
        for one in found:
            _note_sighting(self.drift, one, seen.line, self.version)

    def _find_call(self, id: Any) -> Call | None:
        return self._calls.get(id) if isinstance(id, str) else None

    @cached_property
    def _calls(self) -> dict[str, Call]:
        """The calls of all files of the session by id; those of this file count first."""
        return {
            id: call
            for conversation in reversed((*self.conversations(), *self.relatives))
            for id, call in conversation.calls_by_id.items()
        }

    @cached_property
    def answered(self) -> set[str]:
        """The calls with which a result was paired, perhaps by position."""
        own = (conversation.calls_by_id.items() for conversation in self.conversations())
        return {id for calls in own for id, call in calls if call.answer >= 0}

    @cached_property
    def calls_of_relatives(self) -> set[str]:
        """The calls that were made in other files of the session."""
        return {id for conversation in self.relatives for id in conversation.calls_by_id}

    @cached_property
    def uuids_of_relatives(self) -> set[str]:
        """The records in other files of the session."""
        return {uuid for conversation in self.relatives for uuid in conversation.tree.uuids}

    @property
    def torn(self) -> int:
        """The record that was being written when the file ended, or -1."""
        at = self.broken[-1][0] if self.broken else -1
        whole = self.closes if self.is_document else self.ends
        is_last = at == len(self.records) - 1 and not whole
        return at if is_last and at >= 0 and self.records[at].body.startswith(b"{") else -1

    @cached_property
    def cycles(self) -> list[list[int]]:
        """The cycles of records that are one another's ancestors."""
        parents = array("i", self.parents)
        for index, name in self.missing:
            parents[index] = self.first.get(name, -1)
        rings: list[list[int]] = []
        done: set[int] = set()
        for at, _ in self.missing:
            path: dict[int, int] = {}
            while at >= 0 and at not in done and at not in path:
                path[at] = len(path)
                at = parents[at]
            if at in path:
                rings.append(list(path)[path[at] :])
            done.update(path)
        return rings

    def strict_lines(self) -> set[int]:
        """Return the lines on which breaking a rule of the strict dialect is an error."""
        return self.strict if self.is_native or not self.strict else self.strict | self.undated

    def fate(self, index: int) -> str:
        """Return what became of a record, whatever branch it is on."""
        return FATES[self.conversation.ledger.code(index)]

    def conversations(self) -> Iterator[Conversation]:
        """Return the conversation and those of agents whose records are in the same file."""
        yield self.conversation
        yield from (agent for agent in self.conversation.inline_agents.values() if not agent.from_progress)

    def sightings(self, kind: str) -> Iterator[Spot]:
        """Yield the unknown or changed things of a kind."""
        for one, sighting in self.drift.items():
            if one.kind == kind:
                name = one.path.removeprefix("type/").removeprefix("block/").removeprefix("tool/")
                what = f"{shown(name)} {one.text}" if one.text else f"{kind} {shown(name) or '(none)'}"
                yield sighting.line, f"{what}: {sighting}"

    def tally(self) -> FileTally:
        """Return what the file holds."""
        dialects = {name: sighting.count for name, sighting in self.dialects.items()}
        fields, kinds, changed = Counter[str](), Counter[str](), Counter[str]()
        for one, sighting in self.drift.items():
            if one.text:
                changed[f"{one.path} {one.text}"] += sighting.count
            elif one.kind == FIELD:
                fields[one.path] += sighting.count
            else:
                kinds[one.path.removeprefix("type/")] += sighting.count
        return FileTally(self.types, self.tools, Counter(dialects), kinds, fields, changed)


def _checked(index: int, record: Record) -> CheckedRecord:
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
        index,
        record.line,
        body,
        record.envelope,
        record.dialect,
        record.fault,
        refusal,
        written,
        native,
        _deviations(record, written, native) if record.fault is None else [],
    )


def _deviations(record: Record, written: dict[str, Any], native: dict[str, Any]) -> list[Deviation]:
    """Compare a record with its type; a dialect without a specification may leave out what only files have."""
    found = deviations(native)
    is_mixed = "cwd" in written and isinstance(written.get("timestamp"), str)  # only its type's name is early
    if record.dialect == STRICT and not is_mixed:
        unknown = [one for one in found if one.kind in UNKNOWN]
        return unknown + [one for one in deviations(written, EarlyRecord, "early") if one.kind not in UNKNOWN]
    if record.dialect == dialects.NATIVE:
        return found
    own = [one for one in found if one.text != EMPTY and (one.kind != MISSING or one.path.endswith(".message"))]
    return own + [one for one in found if one not in own and one.path.startswith("block/")]


def _note_sighting(sightings: dict[K, Sighting], name: K, line: int, version: str | None = None) -> None:
    sighting = sightings.get(name)
    if sighting is None:
        sighting = sightings[name] = Sighting(line)
    sighting.count += 1
    if version is not None:
        sighting.versions[version] = None


def shown(value: str) -> str:
    """Return a short form of a text from a transcript that is safe to print."""
    text = printable(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def printable(text: str) -> str:
    """Return a text with everything unprintable escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]


def input_deviations(name: str, value: Any) -> list[Deviation]:
    """Return how the input of a call differs from its type; an unknown tool is one difference.

    Fields of which the type knows nothing are none: a model may invent them.
    """
    if not is_known(name):
        return [Deviation(TOOL, f"tool/{name}")]
    found = _compare(value, tool_for(name).input, f"tool/{name}.input")
    return [one for one in found if one.kind != FIELD]


def result_deviations(name: str, value: Any) -> list[Deviation]:
    """Return how a structured result differs from its type; a text is the result of a call that failed."""
    return _compare(value, tool_for(name).result, f"tool/{name}.result") if not isinstance(value, str) else []


def _compare(value: Any, hint: Any, path: str) -> list[Deviation]:
    return deviations(value, hint, path) if hint is not None else []
