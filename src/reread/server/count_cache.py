"""The counts of library rows in the catalogue."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from reread.disk.cache import FileState
from reread.disk.derived import Derived, DerivedValues
from reread.reader.row_counts import RowCounts

TABLE, FORMAT = "session_counts", 2
"""Where the catalogue keeps counts; change the format when they would be counted differently now."""


class CountCache:
    """The counts of each session file, valid as long as the file does not change."""

    def __init__(self) -> None:
        self._values = DerivedValues(TABLE, format=FORMAT)

    def get(self, path: Path, state: FileState) -> RowCounts | None:
        """Return the counts of a file in this state; None if it has not been counted since it changed."""
        value = self._values.current(str(path), state)
        with suppress(msgspec.DecodeError, UnicodeError):
            return None if value is None else msgspec.json.decode(value, type=RowCounts)
        return None

    def put(self, path: Path, state: FileState, counts: RowCounts) -> None:
        """Store the counts of a file in this state."""
        self._values.save([Derived(str(path), state, state.size, b"", msgspec.json.encode(counts))])

    def forget(self, paths: list[Path]) -> None:
        """Forget files that are gone."""
        if paths:
            self._values.save([], map(str, paths))

    def close(self) -> None:
        """Close the catalogue."""
        self._values.close()
