"""Cached counts of library rows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from reread.disk.cache import FileValues
from reread.reader.row_counts import RowCounts

FORMAT = 1
"""Change it when stored counts can no longer be read."""


class CountCache:
    """The counts of each session file, valid as long as the file does not change."""

    def __init__(self) -> None:
        self._values = FileValues("session_counts", format=FORMAT)

    def get(self, path: Path, state: object) -> RowCounts | None:
        """Return the counts of a file in this state; None if it has not been counted since it changed."""
        value = self._values.get(path, state)
        with suppress(msgspec.DecodeError, UnicodeError):
            return None if value is None else msgspec.json.decode(value, type=RowCounts)
        return None

    def put(self, path: Path, state: object, counts: RowCounts) -> None:
        """Store the counts of a file in this state."""
        self._values.put(path, state, msgspec.json.encode(counts))

    def close(self) -> None:
        """Close the cache."""
        self._values.close()
