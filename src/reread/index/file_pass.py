"""One pass over the new bytes of a file: every unit in them, with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.base.times import timestamp_ms
from reread.disk.derived import proof_at
from reread.disk.sources import Source
from reread.index.store import Cursor, UnitPosition
from reread.index.unit import CALL_ID, Carry, Unit
from reread.index.units import add_stream_event, is_stream_start, partial_units, record_units
from reread.records import dialects
from reread.records.arrays import is_array
from reread.records.decode import NATIVE_TYPES, Decoder, Record, slow_records
from reread.records.lines import LineSplitter

CHUNK = 1 << 20

SNAPSHOT = b'{"type":"file-history-snapshot"'
PROGRESS, AGENT_PROGRESS = b'"type":"progress"', b'"agent_progress"'


class _ProgressHead(msgspec.Struct, gc=False):
    """The fields that tell whether a progress record belongs to a call."""

    type: str = ""
    sessionId: str | None = None
    toolUseID: str | None = None
    parentToolUseID: str | None = None


_decode_head = msgspec.json.Decoder(_ProgressHead).decode

AddUnit = Callable[[Unit, UnitPosition], None]
Feed = Callable[[int, bytes], None]
"""Takes the bytes at an offset."""


def _is_silent(line: bytes) -> bool:
    """True if a line is plainly a snapshot, or what a running call reports: a quarter of all lines, not decoded."""
    if line.startswith(SNAPSHOT):
        return True
    if PROGRESS not in line or AGENT_PROGRESS in line:
        return False
    try:
        head = _decode_head(line)
    except jsontext.DECODE_ERRORS:
        return False
    ids = (head.toolUseID, head.parentToolUseID)
    return (
        head.type == "progress"
        and head.sessionId is not None
        and any(isinstance(id, str) and id.startswith(CALL_ID) for id in ids)
    )


class FilePass:
    """One pass over the new bytes of a file."""

    def __init__(self, source: Source, cursor: Cursor, add: AddUnit, *, feed: Feed | None = None) -> None:
        """Read a source from a cursor on; `add` is called with each unit, and `feed` with all bytes."""
        self._source = source
        self._cursor = cursor
        self._add = add
        self._feed = feed
        self._in_tail = False

    def run(self) -> Iterator[int]:
        """Read everything that is new; yield how many bytes were read, each time the cursor has moved on."""
        cursor, read = self._cursor, self._source.read
        splitter = LineSplitter()
        if cursor.offset == 0 and is_array(read(0, 4096)):
            yield self._run_array()
            return
        for data in self._chunks(cursor.offset):
            for line in splitter.feed(data):
                self._add_line(line, cursor.offset)
                cursor.offset += len(line)
                cursor.carry.line += 1
            cursor.proof = proof_at(read, cursor.offset)
            yield len(data)
        self._add_tail(splitter.flush())
        yield 0

    def _run_array(self) -> int:
        """Index a file that is one JSON array, which is read as a whole each time."""
        decoder = Decoder()
        size = 0
        for data in self._chunks(0):
            size += len(data)
            for record in decoder.feed(data):
                self._add_record(record, record.native)
        for record in decoder.flush():
            self._add_record(record, record.native)
        self._cursor.offset, self._cursor.proof, self._cursor.carry = size, b"", Carry()
        return size

    def _chunks(self, at: int) -> Iterator[bytes]:
        while data := self._source.read(at, CHUNK):
            if self._feed is not None:
                self._feed(at, data)
            yield data
            at += len(data)

    def _add_tail(self, line: bytes) -> None:
        """Index what may still change: a last line without an end, and a response that is still streamed."""
        cursor = self._cursor
        before = msgspec.msgpack.decode(msgspec.msgpack.encode(cursor.carry), type=Carry)
        self._in_tail = True
        if line.strip():
            self._add_line(line, cursor.offset)
        self._add_partial()
        cursor.carry = before

    def _add_line(self, line: bytes, offset: int) -> None:
        if _is_silent(line):
            return
        number = self._cursor.carry.line + 1
        try:
            value = jsontext.decode_strict(line)
        except jsontext.DECODE_ERRORS:
            value = None
        if isinstance(value, dict):
            native = cast(dict[str, Any], value)
            types = dialects.SESSIONLESS if native.get("sessionId") is None else NATIVE_TYPES
            if as_str(native.get("type")) not in types:
                native = dialects.translate(native)[1]
            self._add_record(Record(number, offset, line), native)
        elif line.strip(b" \t\r\n\0"):
            for record in slow_records(line, number, offset):
                self._add_record(record, record.native)

    def _add_record(self, record: Record, native: dict[str, Any]) -> None:
        carry = self._cursor.carry
        stamp = native.get("timestamp")
        carry.time_ms = (timestamp_ms(stamp) if isinstance(stamp, str) else None) or carry.time_ms
        cwd = native.get("cwd")
        if not self._cursor.cwd and isinstance(cwd, str):
            self._cursor.cwd = cwd
        if native.get("type") == "stream_event":
            if is_stream_start(native):
                self._add_partial()
            add_stream_event(native, carry, record.offset, len(record.body), record.line, carry.time_ms)
            return
        if carry.partial and native.get("type") == "result":
            self._add_partial()
        model, branch = as_dict(native.get("message")).get("model"), native.get("gitBranch")
        for place, unit in enumerate(record_units(native, carry)):
            if unit.text or unit.files:
                position = UnitPosition(
                    record.offset,
                    len(record.body),
                    record.line,
                    place,
                    carry.time_ms,
                    model if isinstance(model, str) else "",
                    branch if isinstance(branch, str) else "",
                    self._in_tail,
                )
                self._add(unit, position)

    def _add_partial(self) -> None:
        """Index the pieces of a response of which no whole record came."""
        for place, (block, unit) in enumerate(partial_units(self._cursor.carry)):
            position = UnitPosition(block.offset, block.length, block.line, place, block.time_ms, in_tail=self._in_tail)
            self._add(unit, position)
        self._cursor.carry.partial = {}
