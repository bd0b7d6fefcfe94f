"""Decode lines into records: a fast path for healthy native lines, a slow path that loses nothing of any other."""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.base.late_pattern import late_pattern
from reread.records import dialects
from reread.records.arrays import ArraySplitter, is_array
from reread.records.envelope import RecordEnvelope, decode_envelope, to_envelope
from reread.records.lines import IndexedLineSplitter, ReadAt
from reread.records.type_names import RECORD_TYPES

if TYPE_CHECKING:
    from reread.records.types import Entry


BLOCK_TYPES = frozenset({"tool_use", "tool_result"})
"""Types that a record and a content block share."""

_PADDING = r"[ \t\r\n\x00]*+(?:\xef\xbb\xbf[ \t\r\n\x00]*+)*+"
"""Bytes that may surround a record: white space, runs of NUL, a byte order mark (decoded as Latin-1)."""
_SKIP_PADDING = late_pattern(_PADDING)
_OBJECT_OR_END = late_pattern(_PADDING + r"(?:\{|\Z)")
_RECORD_START = late_pattern(r'\{\s*"\w+"\s*:')
_TYPE_FIELD = late_pattern(rb'"type"\s*+:\s*+"|"claudeMessage"\s*+:')
"""Every record contains one of these; most other objects are ruled out by it without being decoded."""
_BETWEEN_BRACES = late_pattern(
    r'(?:[^"\\{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?=[ \t\r\n]*+[]:,}]))*',
    re.DOTALL,
)
"""Text up to the next brace, whole strings included.

Stops at what JSON never contains: a backslash outside a string, a string that no punctuation follows.
"""


def split_line(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each piece of a line starts and ends: the whole objects, and the torn text between them."""
    text = raw.decode("latin-1")  # one character for each byte, so that positions are offsets
    at = _skip_padding(text, 0)
    while at < len(text):
        start, end = _next_object(text, raw, at)
        if at < start:
            yield at, at + len(raw[at:start].rstrip(b" \t\r\n\x00"))
        if start < end:
            yield start, end
        at = _skip_padding(text, end)


def _skip_padding(text: str, at: int) -> int:
    found = _SKIP_PADDING.match(text, at)
    return found.end() if found else at


def _next_object(text: str, raw: bytes, at: int) -> tuple[int, int]:
    """Return where the next whole object starts and ends; the end of the line twice if there is none.

    An object at `at` only has to be JSON. Torn text comes before any other, and torn text may contain nested objects
    that are JSON too; so any other must be a record, and the last thing on the line or followed by another object.

    This takes linear time on any input, because the scan only moves forward and decodes no byte twice:
    - Torn text may end inside a string. The scan then takes the first quote of the next record for the end of that
      string, and stops there, because a name follows instead of punctuation.
    - An object that is directly followed by another is not nested in valid JSON, so nothing around it is tried.
    """
    opened = [at] if text[at] == "{" else []
    here = at + 1
    while True:
        if not opened:
            found = _RECORD_START.search(text, here)
            if found is None:
                break
            opened, here = [found.start()], found.start() + 1
        found = _BETWEEN_BRACES.match(text, here)
        here = found.end() + 1 if found else len(text) + 1
        if here > len(text):
            break
        brace = text[here - 1]
        if brace == "{":
            opened.append(here - 1)
        elif brace != "}":
            opened.clear()
        elif (start := opened.pop()) == at:
            if jsontext.is_json(text[start:here]):
                return start, here
        elif _OBJECT_OR_END.match(text, here):
            if _RECORD_START.match(text, start) and _is_record(raw[start:here]):
                return start, here
            opened.clear()
    return len(text), len(text)


def _is_record(data: bytes) -> bool:
    if not _TYPE_FIELD.search(data):
        return False
    try:
        value = jsontext.loads_clean(data)
    except ValueError:
        return False
    kind = dialects.translate(value)[1].get("type")
    if not isinstance(kind, str) or kind not in RECORD_TYPES:
        return False
    return value.get("type") not in BLOCK_TYPES or "uuid" in value or "message" in value


NOT_AN_OBJECT = "not a JSON object"
"""The fault of a record that is JSON of another kind."""
LONG = 4096
"""Records of so many bytes are decoded only once on the slow path, as long as they are remembered."""
REMEMBERED = 8 << 20
"""How many bytes of such records are remembered."""
NATIVE_TYPES = RECORD_TYPES - dialects.stream_json.TYPES

_NOT_BLANK = late_pattern(rb"[^ \t\r\n]")


class RecordOrigin(NamedTuple):
    """Where a record really is, if its file is read together with earlier states of it."""

    line: int
    """Number of its line there; 0 if it is not known."""
    offset: int
    state: str | None
    """The file with the earlier state; None if the file itself has the record."""


class Record(msgspec.Struct, gc=False, eq=False):
    """One JSON object of a line, with its position; decoded on demand."""

    line: int
    """Number of the line it starts on, from 1."""
    offset: int
    """Offset of its first byte in the file."""
    body: bytes
    """Its bytes, including the line end if it is the whole line."""
    _type: str = ""
    _envelope: RecordEnvelope | None = None
    _dialect: str = dialects.NATIVE
    _fault: str | None = None
    state: str | None = None
    """The file with the earlier state that has the record, if its own file has dropped it; else None."""

    @property
    def dropped(self) -> bool:
        """True if only an earlier state of the file has it: `line` and `offset` are those in `state`."""
        return self.state is not None

    @property
    def raw(self) -> bytes:
        """Its own bytes, without the line end."""
        return self.body.rstrip(b"\r\n")

    @property
    def envelope(self) -> RecordEnvelope:
        """The fields that folding needs."""
        if self._envelope is None:
            self._envelope, self._dialect, self._fault = decode_body(self.body)
        return self._envelope

    @property
    def type(self) -> str:
        """Its type in the native format; `malformed` if it cannot be read."""
        return self._type or self.envelope.type

    @property
    def dialect(self) -> str:
        """Name of the dialect it is written in."""
        _ = self.envelope
        return self._dialect

    @property
    def fault(self) -> str | None:
        """Why it cannot be read; None if it can."""
        _ = self.envelope
        return self._fault

    @property
    def value(self) -> Any:
        """The JSON as written; None if it is not JSON."""
        try:
            return jsontext.loads(self.body)
        except ValueError:
            return None

    @property
    def native(self) -> dict[str, Any]:
        """The object in the native format, without lone surrogates; empty if it cannot be read."""
        _ = self.envelope
        if self._fault is not None:
            return {}
        value = cast(dict[str, Any], jsontext.loads_clean(self.body))
        return value if self._dialect == dialects.NATIVE else dialects.translate(value)[1]

    @property
    def entry(self) -> Entry:
        """The typed value in the native format."""
        from reread.records.types import Malformed, to_entry  # loaded late: most readers need no structs

        if self.fault:
            return Malformed(reason=self.fault, text=self.raw.decode("utf-8", "replace"))
        return to_entry(self.native)


class Records(Sequence[Record]):
    """The records of one source: positions in memory, bytes read on demand."""

    def __init__(self, read: ReadAt) -> None:
        self.read = read
        self.origin: Callable[[int, int], RecordOrigin] | None = None
        """Says where the record on a line and at an offset of the source really is, if it is a joined one."""
        self._lines = array("I")
        self._offsets = array("Q")
        self._lengths = array("I")
        self._kept: dict[int, Record] | None = None

    def keep(self) -> None:
        """Keep each record that is asked for, with what was decoded of it: for work that asks for all several times."""
        self._kept = {}

    def add(self, line: int, offset: int, length: int) -> None:
        """Append the position of one record."""
        self._lines.append(line)
        self._offsets.append(offset)
        self._lengths.append(length)

    def add_lines(self, number: int, starts: array[int], lines: Sequence[bytes]) -> None:
        """Append the positions of consecutive lines, each of them one record; `number` is that of the first."""
        self._lines.extend(range(number, number + len(lines)))
        self._offsets.extend(starts[number - 1 :])
        self._lengths.extend(map(len, lines))

    @property
    def offsets(self) -> array[int]:
        """The offsets of all records."""
        return self._offsets

    def line(self, index: int) -> int:
        """Return the number of the line that a record starts on."""
        return self._lines[index] if self.origin is None else self.origin(*self.position(index)[:2]).line

    def state(self, index: int) -> str | None:
        """Return the file with the earlier state that has a record; None if the file itself has it."""
        return self.origin(*self.position(index)[:2]).state if self.origin is not None else None

    def name(self, index: int) -> str:
        """Return a name for a record without a uuid: its line, and the file if that is an earlier state."""
        state = self.state(index)
        return f"line {self.line(index)}" + (f" of {os.path.basename(state)}" if state is not None else "")

    @property
    def dropped(self) -> list[Record]:
        """The records that only an earlier state of the file has."""
        return [self[index] for index in range(len(self)) if self.is_dropped(index)]

    def is_dropped(self, index: int) -> bool:
        """True if only an earlier state of the file has a record."""
        return self.origin is not None and self.state(index) is not None

    def position(self, index: int) -> tuple[int, int, int]:
        """Return the line number, offset and length of a record in the source, which may be a joined one."""
        return self._lines[index], self._offsets[index], self._lengths[index]

    def body(self, index: int) -> bytes:
        """Return the bytes of a record."""
        return self.read(self._offsets[index], self._lengths[index])

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        kept = self._kept
        if kept is not None and index in kept:
            return kept[index]
        offset = self._offsets[index]
        record = Record(self._lines[index], offset, self.read(offset, self._lengths[index]))
        if self.origin is not None:
            record.line, record.offset, record.state = self.origin(record.line, record.offset)
        if kept is not None:
            kept[index] = record
        return record

    def in_source(self, index: int) -> Record:
        """Return a record with its position in the source."""
        offset = self._offsets[index]
        return Record(self._lines[index], offset, self.read(offset, self._lengths[index]))

    def __iter__(self) -> Iterator[Record]:
        for n in range(len(self)):
            yield self[n]


LinesHandler = Callable[[int, "array[int]", list[bytes], list[RecordEnvelope]], None]
"""Handles consecutive lines, each of them one record: number of the first, offsets of all lines, bytes, envelopes."""


class Decoder:
    """Decodes bytes into records without I/O: feed it chunks of any size, then flush it once.

    With `on_lines`, chunks whose lines are all healthy go to that function instead of being returned as records, which
    is faster for a caller that needs every envelope.
    """

    def __init__(self, on_lines: LinesHandler | None = None) -> None:
        self._on_lines = on_lines
        self._splitter = IndexedLineSplitter()
        self._held: list[bytes] | None = []
        """Bytes held back until they tell whether this is an array or lines; None from then on."""
        self._array: ArraySplitter | None = None

    @property
    def starts(self) -> array[int]:
        """Offsets of all lines so far."""
        return self._splitter.starts

    @property
    def size(self) -> int:
        """Number of bytes in these lines."""
        return self._splitter.offset

    @property
    def is_lines(self) -> bool:
        """True if what was fed is known to be lines, and ends with a whole one."""
        return self._array is None and not self._held and self._splitter.is_at_line_start

    def resume(self, starts: array[int], size: int) -> None:
        """Go on after lines that another decoder has read: their offsets, and their size together."""
        self._splitter.starts.extend(starts)
        self._splitter.offset = size
        self._held = None

    def feed(self, data: bytes) -> list[Record]:
        """Return the records that `data` completes."""
        if self._held is not None:
            data = self._begin(self._held, data)
        starts = self.starts
        number = len(starts) + 1
        lines = self._splitter.feed(data)
        if self._array is not None:
            return self._decode_elements(self._array.feed(data))
        envelopes = decode_envelopes(lines) if self._on_lines is not None else None
        if self._on_lines is None or envelopes is None:
            return decode_lines(lines, range(number, number + len(lines)), starts[number - 1 :])
        self._on_lines(number, starts, lines, envelopes)
        return []

    def flush(self) -> list[Record]:
        """Return the records in the bytes after the last line end."""
        out: list[Record] = []
        if self._held:
            held, self._held = self._held, None
            out, self._held = self.feed(b"".join(held)), []  # as if nothing had been fed
        tail = self._splitter.flush()
        if self._array is not None:
            return out + self._decode_elements(self._array.flush())
        if tail:
            out += decode_lines([tail], [len(self.starts)], [self.starts[-1]])
        return out

    def _begin(self, held: list[bytes], data: bytes) -> bytes:
        """Hold bytes back, or return all that were once it is known whether they begin an array or lines."""
        held.append(data)
        if not data.strip():
            return b""
        data = b"".join(held)
        is_one_array = is_array(data)
        if is_one_array is None:
            held[:] = [data]
            return b""
        self._held = None
        if is_one_array:
            self._array = ArraySplitter()
        return data

    def _decode_elements(self, elements: list[tuple[int, bytes]]) -> list[Record]:
        starts = [start for start, _ in elements]
        return decode_lines([element for _, element in elements], map(self._splitter.line_at, starts), starts)


class _TypeFields(msgspec.Struct, gc=False):
    """The fields that tell a healthy native record from any other."""

    sessionId: str | None = None
    type: str = ""


_decode_type = msgspec.json.Decoder(_TypeFields).decode


def decode_lines(lines: Iterable[bytes], numbers: Iterable[int], starts: Iterable[int]) -> list[Record]:
    """Return the records of whole lines, given with their numbers and offsets."""
    out: list[Record] = []
    add, decode_type, native, sessionless = out.append, _decode_type, NATIVE_TYPES, dialects.SESSIONLESS
    for body, number, start in zip(lines, numbers, starts, strict=True):
        try:
            fields = decode_type(body)
            if (kind := fields.type) in (sessionless if fields.sessionId is None else native):
                add(Record(number, start, body, kind))
            else:
                add(Record(number, start, body))
        except jsontext.DECODE_ERRORS:
            if _NOT_BLANK.search(body):
                out += slow_records(body, number, start)
    return out


def decode_envelopes(lines: list[bytes]) -> list[RecordEnvelope] | None:
    """Return the envelope of each line; None if one of them is not exactly one record."""
    try:
        envelopes = list(map(decode_envelope, lines))
    except jsontext.DECODE_ERRORS:
        return None
    for n, envelope in enumerate(envelopes):
        if envelope.type not in (dialects.SESSIONLESS if envelope.sessionId is None else NATIVE_TYPES):
            envelopes[n] = decode_body(lines[n])[0]
    return envelopes


Decoded = tuple[RecordEnvelope, str, str | None]


def decode_body(body: bytes) -> Decoded:
    """Return the envelope, the dialect and the fault of the record in exactly these bytes."""
    try:
        envelope = decode_envelope(body)
        if envelope.type in (dialects.SESSIONLESS if envelope.sessionId is None else NATIVE_TYPES):
            return envelope, dialects.NATIVE, None
    except jsontext.DECODE_ERRORS:
        pass
    return _slowly_decoded[body]


def _decode_slowly(body: bytes) -> Decoded:
    try:
        value = jsontext.loads_clean(body)
    except ValueError as error:
        return RecordEnvelope(type="malformed"), dialects.NATIVE, f"not JSON: {error}"
    if not isinstance(value, dict):
        return RecordEnvelope(type="malformed"), dialects.NATIVE, NOT_AN_OBJECT
    dialect, native = dialects.translate(cast(dict[str, Any], value))
    return to_envelope(native), dialect, None


class _Recent:
    """The long records decoded last: views ask for them again and again, and one may be made to be slow."""

    def __init__(self) -> None:
        self._decoded: dict[bytes, Decoded] = {}
        self._size = 0
        self._lock = threading.Lock()

    def __getitem__(self, body: bytes) -> Decoded:
        if not LONG <= len(body) <= REMEMBERED // 2:
            return _decode_slowly(body)
        found = self._decoded.get(body)
        if found is None:
            found = _decode_slowly(body)
            with self._lock:
                self._add(body, found)
        return found

    def _add(self, body: bytes, decoded: Decoded) -> None:
        if body not in self._decoded:
            self._decoded[body] = decoded
            self._size += len(body)
        while self._size > REMEMBERED:
            oldest = next(iter(self._decoded))
            del self._decoded[oldest]
            self._size -= len(oldest)


_slowly_decoded = _Recent()


def slow_records(body: bytes, line: int, offset: int) -> list[Record]:
    """Return every record of a line that the fast path refused; at least one, malformed if need be."""
    records = [Record(line, offset + start, body[start:end]) for start, end in split_line(body)]
    return records or [Record(line, offset, body)]


def inner_record(record: Record, message: bytes, start: int = 0) -> Record:
    """Return a record that is written inside another, such as an agent's in a progress record, after `start`."""
    try:
        envelope = decode_envelope(message)
    except jsontext.DECODE_ERRORS:
        envelope = to_envelope(as_dict(jsontext.loads_clean(message)))
    at = record.body.find(message, start)
    if at < 0:
        return Record(record.line, record.offset, record.body, envelope.type, envelope)
    return Record(record.line, record.offset + at, message, envelope.type, envelope)
