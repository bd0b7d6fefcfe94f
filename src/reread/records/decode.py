"""Lines to records: a fast road for healthy native lines, a slow road that loses nothing of any other."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast, overload

import msgspec

from reread.base import jsontext
from reread.records import dialects
from reread.records.envelope import RecordEnvelope, decode_envelope, to_envelope
from reread.records.lines import LineSplitter, ReadAt
from reread.records.types import RECORDS, Entry, Malformed, to_entry

NATIVE_TYPES = frozenset(RECORDS) - dialects.stream_json.TYPES
BLOCK_TYPES = frozenset({"tool_use", "tool_result"})
"""Names that a record and a content block share."""

_JUNK = r"(?:[ \t\r\n\x00]|\xef\xbb\xbf)*+"
"""What may surround a record: white space, runs of NUL, a byte order mark (read as Latin-1)."""
_PADDING = re.compile(_JUNK)
_OBJECT_OR_END = re.compile(_JUNK + r"(?:\{|\Z)")
_RECORD_START = re.compile(r'\{\s*"\w+"\s*:')
_NAMES_TYPE = re.compile(rb'"type"\s*+:\s*+"|"claudeMessage"\s*+:')
"""What every record contains: rules out most other objects without decoding them."""
_BETWEEN_BRACES = re.compile(
    r'(?:[^"\\{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?=[ \t\r\n]*+[]:,}]))*+',
    re.DOTALL,
)
"""Text up to the next brace, whole strings included.

Stops at what no JSON contains: a backslash outside a string, or a string not followed by punctuation.
"""
_ELEMENT = re.compile(r"[^ \t\r\n,]")
_DELIMITER = re.compile(r"[,\[\]{}]")
_BOM = b"\xef\xbb\xbf"
_VALUE = b'{["-0123456789tfn]'
"""What the first element of an array, or its end, begins with; a line of a log has other letters."""
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")


class Record(msgspec.Struct, gc=False, eq=False):
    """One JSON object of one line: where it stands, its bytes, and what it says when asked."""

    line: int
    """The number of the line it begins on, from 1."""
    offset: int
    """Where its bytes begin in the file."""
    body: bytes
    """Its bytes, with the line end where it is the whole line."""
    _type: str = ""
    _head: RecordEnvelope | None = None
    _dialect: str = dialects.NATIVE
    _fault: str | None = None

    @property
    def raw(self) -> bytes:
        """Its own bytes, without the line end."""
        return self.body.rstrip(b"\r\n")

    @property
    def envelope(self) -> RecordEnvelope:
        """What folding needs to know of it."""
        if self._head is None:
            self._head, self._dialect, self._fault = decode_body(self.body)
        return self._head

    @property
    def type(self) -> str:
        """Its type in the native tongue; `malformed` where it could not be read."""
        return self._type or self.envelope.type

    @property
    def dialect(self) -> str:
        """The name of the dialect it is written in."""
        _ = self.envelope
        return self._dialect

    @property
    def fault(self) -> str | None:
        """Why it could not be read, where it could not."""
        _ = self.envelope
        return self._fault

    @property
    def value(self) -> Any:
        """The JSON as written; None where there is none."""
        try:
            return jsontext.loads(self.body)
        except ValueError:
            return None

    @property
    def native(self) -> dict[str, Any]:
        """The object in the native tongue, every string of it encodable; empty where it could not be read."""
        try:
            value = jsontext.loads_clean(self.body)
        except ValueError:
            return {}
        return dialects.translate(cast(dict[str, Any], value))[1] if isinstance(value, dict) else {}

    @property
    def entry(self) -> Entry:
        """The typed value in the native tongue."""
        if self.fault:
            return Malformed(reason=self.fault, text=self.raw.decode("utf-8", "replace"))
        return to_entry(self.native)


class Records(Sequence[Record]):
    """The records of one source: positions in memory, bytes read when asked."""

    def __init__(self, read: ReadAt) -> None:
        self.read = read
        self._lines = array("I")
        self._offsets = array("Q")
        self._lengths = array("I")

    def add(self, line: int, offset: int, length: int) -> None:
        """Remember where one more record stands."""
        self._lines.append(line)
        self._offsets.append(offset)
        self._lengths.append(length)

    def add_lines(self, number: int, starts: array[int], lines: Sequence[bytes]) -> None:
        """Remember where whole lines stand, each of them one record, of which the first has that number."""
        self._lines.extend(range(number, number + len(lines)))
        self._offsets.extend(starts[number - 1 :])
        self._lengths.extend(map(len, lines))

    def line(self, index: int) -> int:
        """The line a record begins on."""
        return self._lines[index]

    def place(self, index: int) -> tuple[int, int, int]:
        """The line that a record begins on, where its bytes begin, and how many there are."""
        return self._lines[index], self._offsets[index], self._lengths[index]

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        offset = self._offsets[index]
        return Record(self._lines[index], offset, self.read(offset, self._lengths[index]))

    def __iter__(self) -> Iterator[Record]:
        for n in range(len(self)):
            yield self[n]


LinesHandler = Callable[[int, "array[int]", list[bytes], list[RecordEnvelope]], None]
"""Takes in whole lines with their heads, each line one record: the first line's number, where all lines begin."""


class Decoder:
    """Bytes in, records out; no I/O. Feed it chunks of any size, then flush it once for a torn tail.

    Lines that are healthy go to `take`, where given, rather than out as records: it is for who wants every head.
    """

    def __init__(self, take: LinesHandler | None = None) -> None:
        self._take = take
        self._cutter = LineSplitter()
        self._head: list[bytes] = []
        """The first bytes, until they tell whether this is a document or lines."""
        self._document: _ArrayDecoder | None = None
        self._feed = self._feed_first

    @property
    def starts(self) -> array[int]:
        """The offset of each line so far."""
        return self._cutter.starts

    @property
    def size(self) -> int:
        """How many bytes have been given out as lines."""
        return self._cutter.offset

    def feed(self, data: bytes) -> list[Record]:
        """The records that `data` completes."""
        return self._feed(data)

    def flush(self) -> list[Record]:
        """What the bytes after the last line end hold."""
        out = self._feed_lines(b"".join(self._head))
        self._head.clear()
        tail = self._cutter.flush()
        if self._document is not None:
            return out + self._document.flush(self._cutter)
        if tail:
            out += decode_lines([tail], [len(self._cutter.starts)], [self._cutter.starts[-1]])
        return out

    def _feed_first(self, data: bytes) -> list[Record]:
        self._head.append(data)
        if not data.strip():
            return []
        self._head = [b"".join(self._head)]
        is_document = _is_array(self._head[0])
        if is_document is None:
            return []
        data = self._head.pop()
        self._feed = self._feed_document if is_document else self._feed_lines
        return self._feed(data)

    def _feed_lines(self, data: bytes) -> list[Record]:
        starts = self._cutter.starts
        number = len(starts) + 1
        lines = self._cutter.feed(data)
        envelopes = decode_envelopes(lines) if self._take is not None else None
        if self._take is None or envelopes is None:
            return decode_lines(lines, range(number, number + len(lines)), starts[number - 1 :])
        self._take(number, starts, lines, envelopes)
        return []

    def _feed_document(self, data: bytes) -> list[Record]:
        self._document = self._document or _ArrayDecoder()
        self._cutter.feed(data)
        return self._document.feed(data, self._cutter)


def _is_array(data: bytes) -> bool | None:
    """Whether a file is one JSON array; None while its first bytes do not tell."""
    start = data.removeprefix(_BOM).lstrip()
    if not start:
        return None
    if start[:1] != b"[":
        return None if _BOM.startswith(data) else False
    inner = start[1:].lstrip()
    return None if not inner else inner[:1] in _VALUE


class _ArrayDecoder:
    """A JSON array whose objects are records, read element by element; no byte is looked at twice."""

    def __init__(self) -> None:
        self._base = 0
        """Where the next bytes stand in the file."""
        self._opened = False
        self._begin = 0
        """Where the element that has not ended yet begins."""
        self._pieces: list[str] = []
        """What there is of it, as Latin-1, so that positions are offsets."""
        self._find_end: Callable[[str, int], int] | None = None
        """Where it ends, from a place in the next text on, or -1; None between elements."""

    def feed(self, data: bytes, cutter: LineSplitter) -> list[Record]:
        """The records of the elements that `data` completes."""
        bodies: list[bytes] = []
        begins: list[int] = []
        text, at = data.decode("latin-1"), 0
        if not self._opened:
            at, self._opened = text.index("[") + 1, True
        while at < len(text):
            if self._find_end is None:
                at = self._open(text, at)
                continue
            end = self._find_end(text, at)
            self._pieces.append(text[at:end] if end >= 0 else text[at:])
            if end < 0:
                break
            bodies.append(self._body())
            begins.append(self._begin)
            at = end
        self._base += len(text)
        return decode_lines(bodies, map(cutter.line_at, begins), begins)

    def flush(self, cutter: LineSplitter) -> list[Record]:
        """What the element holds that has been read so far."""
        body = self._body()
        return decode_lines([body], [cutter.line_at(self._begin)], [self._begin]) if body else []

    def _body(self) -> bytes:
        body = "".join(self._pieces).encode("latin-1")
        self._pieces.clear()
        self._find_end = None
        return body

    def _open(self, text: str, at: int) -> int:
        """Go to the next element; gives where to read on."""
        element = _ELEMENT.search(text, at)
        if element is None:
            return len(text)
        at = element.start()
        if text[at] == "]":
            return at + 1
        self._begin = self._base + at
        if text[at] in '{["':
            self._find_end = jsontext.ValueScanner().find_end
            return at
        self._find_end = _scalar_end
        self._pieces.append(text[at])
        return at + 1


def _scalar_end(text: str, at: int) -> int:
    end = _DELIMITER.search(text, at)
    return end.start() if end else -1


class _TypeFields(msgspec.Struct, gc=False):
    """The least that tells what type a record has, whatever its other fields are."""

    sessionId: str | None = None
    type: str = ""


_decode_type = msgspec.json.Decoder(_TypeFields).decode


def decode_lines(lines: Iterable[bytes], numbers: Iterable[int], starts: Iterable[int]) -> list[Record]:
    """The records of whole lines, with their numbers and offsets."""
    out: list[Record] = []
    add, glance, native, sessionless = out.append, _decode_type, NATIVE_TYPES, dialects.SESSIONLESS
    for body, number, start in zip(lines, numbers, starts, strict=True):
        try:
            seen = glance(body)
            if (kind := seen.type) in (sessionless if seen.sessionId is None else native):
                add(Record(number, start, body, kind))
            else:
                add(Record(number, start, body))
        except jsontext.DECODE_ERRORS:
            if _NOT_BLANK.search(body):
                out += slow_records(body, number, start)
    return out


def decode_envelopes(lines: list[bytes]) -> list[RecordEnvelope] | None:
    """The head of each line; None where one of them is not exactly one record."""
    try:
        envelopes = list(map(decode_envelope, lines))
    except jsontext.DECODE_ERRORS:
        return None
    for n, envelope in enumerate(envelopes):
        if envelope.type not in (dialects.SESSIONLESS if envelope.sessionId is None else NATIVE_TYPES):
            envelopes[n] = decode_body(lines[n])[0]
    return envelopes


def decode_body(body: bytes) -> tuple[RecordEnvelope, str, str | None]:
    """The head, the dialect and the fault of the record that stands in exactly these bytes."""
    try:
        envelope = decode_envelope(body)
        if envelope.type in (dialects.SESSIONLESS if envelope.sessionId is None else NATIVE_TYPES):
            return envelope, dialects.NATIVE, None
    except jsontext.DECODE_ERRORS:
        pass
    try:
        value = jsontext.loads_clean(body)
    except ValueError as error:
        return RecordEnvelope(type="malformed"), dialects.NATIVE, f"not JSON: {error}"
    if not isinstance(value, dict):
        return RecordEnvelope(type="malformed"), dialects.NATIVE, "not a JSON object"
    dialect, native = dialects.translate(cast(dict[str, Any], value))
    return to_envelope(native), dialect, None


def slow_records(raw: bytes, line: int, offset: int) -> list[Record]:
    """Return every record of a line that the fast path refused: spliced, torn, padded, foreign or broken."""
    text = raw.decode("latin-1")  # one character a byte, so that positions are offsets
    out: list[Record] = []
    at = _skip_padding(text, 0)
    while at < len(text):
        start, end = _next_object(text, raw, at)
        if at < start:
            out.append(Record(line, offset + at, raw[at:start].rstrip(b" \t\r\n\x00")))
        if start < end:
            out.append(Record(line, offset + start, raw[start:end]))
        at = _skip_padding(text, end)
    return out or [Record(line, offset, raw)]


def _skip_padding(text: str, at: int) -> int:
    found = _PADDING.match(text, at)
    return found.end() if found else at


def _next_object(text: str, raw: bytes, at: int) -> tuple[int, int]:
    """Return the extent of the next whole object; an empty one at the end of the line if there is none.

    An object that begins at `at` needs to be JSON. Before any other there is a torn piece, whose nested objects are
    JSON too, so it needs to be a record with nothing but another object behind it.

    Takes linear time on any input. The scan never goes back: the text of a torn string hides the next record until
    the scan meets the first quote of that record, where it takes it for the end of the string and stops. It also
    decodes no byte twice: whatever encloses an object that another one follows directly is not JSON.
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
        here = found.end() + 1 if found else len(text)
        if here > len(text):
            break
        if text[here - 1] == "{":
            opened.append(here - 1)
        elif text[here - 1] == "}":
            start = opened.pop()
            if start == at:
                if jsontext.is_json(text[start:here]):
                    return start, here
            elif _OBJECT_OR_END.match(text, here):
                if _RECORD_START.match(text, start) and _is_record(raw[start:here]):
                    return start, here
                opened.clear()
        else:
            opened.clear()
    return len(text), len(text)


def _is_record(data: bytes) -> bool:
    if not _NAMES_TYPE.search(data):
        return False
    try:
        value = jsontext.loads_clean(data)
    except ValueError:
        return False
    kind = dialects.translate(value)[1].get("type")
    if not isinstance(kind, str) or kind not in RECORDS:
        return False
    return value.get("type") not in BLOCK_TYPES or "uuid" in value or "message" in value
