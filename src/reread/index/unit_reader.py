"""Read units again from their files: the index has only their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reread.disk.sources import FileSource
from reread.errors import RereadError
from reread.index.store import IndexReader, UnitPlace
from reread.index.unit import INPUT, KINDS, RESULT, TEXT, THINKING, Carry, Unit
from reread.index.units import add_stream_event, partial_units, record_units
from reread.records.decode import Record

LONGEST_STREAM = 8 << 20
"""How far the pieces of a streamed response are read."""
OPEN_FILES = 64
"""How many files stay open while units are read."""
VERBATIM = frozenset(KINDS.index(kind) for kind in (TEXT, THINKING, INPUT, RESULT))
"""The kinds of unit whose text is written in the record as it is, apart from JSON's escapes."""
ESCAPED, STREAMED = b"\\u00", b'"stream_event"'
"""What a line contains that may hide literal text: escaped ASCII, or a piece of a response."""


class FoundUnit(NamedTuple):
    """A unit that matches, and its record."""

    path: str
    offset: int
    length: int
    line: int
    unit: Unit
    time_ms: int


class UnitReader:
    """Reads the units at places of an index; files stay open for a while."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._sources: dict[str, FileSource] = {}

    def units(self, places: Iterable[UnitPlace], literals: Collection[bytes] = ()) -> Iterator[FoundUnit]:
        """Yield the units at some places; those of files that have changed meanwhile are left out.

        Units that plainly lack one of the literals are left out, too.
        """
        for place in places:
            path = self._index.path_of(place.file)
            unit = self._unit(path, place, literals) if path is not None else None
            if path is not None and unit is not None:
                yield FoundUnit(path, place.offset, place.length, place.line, unit, place.time_ms)

    def _unit(self, path: str, place: UnitPlace, literals: Collection[bytes]) -> Unit | None:
        try:
            source = self._source(path)
            line = source.read(place.offset, place.length)
            if literals and place.kind in VERBATIM and _lacks(line, literals):
                return None
            native = Record(place.line, place.offset, line).native
            if native.get("type") == "stream_event":
                return _streamed_unit(source, place.offset)
        except (OSError, RereadError):
            return None
        units = record_units(native, Carry())
        return units[place.place] if place.place < len(units) else None

    def _source(self, path: str) -> FileSource:
        source = self._sources.get(path)
        if source is None:
            if len(self._sources) >= OPEN_FILES:
                del self._sources[next(iter(self._sources))]
            source = self._sources[path] = FileSource(Path(path))
        return source


def _lacks(line: bytes, literals: Collection[bytes]) -> bool:
    """True if a line plainly does not say one of some literals."""
    return any(literal not in line for literal in literals) and ESCAPED not in line and STREAMED not in line


def _streamed_unit(source: FileSource, offset: int) -> Unit | None:
    """Read the pieces of a response that begin at an offset."""
    carry = Carry()
    at = offset
    for line in source.read(offset, LONGEST_STREAM).splitlines(keepends=True):
        native = Record(0, at, line).native
        if native.get("type") == "stream_event":
            add_stream_event(native, carry, at, len(line), 0, 0)
        at += len(line)
    return next((unit for block, unit in partial_units(carry) if block.offset == offset), None)
