"""The counts of library rows in the catalogue."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, DerivedValues
from reread.reader.row_counts import RowCounts

TABLE, FORMAT = "session_counts", 4
"""Where the catalogue keeps counts; change the format when they would be counted differently now."""


class _StoredCounts(msgspec.Struct):
    states: tuple[FileState, ...]
    counts: RowCounts


class CountCache:
    """The counts of each session, valid as long as none of its files changes."""

    def __init__(self) -> None:
        self._values = DerivedValues(TABLE, format=FORMAT)

    def get(self, path: Path, states: tuple[FileState, ...]) -> RowCounts | None:
        """Return the counts of a session whose files have these states; None if they have changed since."""
        value = self._values.current(str(path), states[0])
        with suppress(*jsontext.DECODE_ERRORS):
            stored = None if value is None else msgspec.json.decode(value, type=_StoredCounts)
            return stored.counts if stored is not None and stored.states == states else None
        return None

    def put(self, path: Path, states: tuple[FileState, ...], counts: RowCounts) -> None:
        """Store the counts of a session whose files have these states, its own first."""
        value = msgspec.json.encode(_StoredCounts(states, counts))
        self._values.save([DerivedValue(str(path), states[0], states[0].size, b"", value)])

    def forget(self, paths: list[Path]) -> None:
        """Forget files that are gone."""
        if paths:
            self._values.save([], map(str, paths))

    def close(self) -> None:
        """Close the catalogue."""
        self._values.close()
