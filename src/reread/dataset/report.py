"""The outcome of an update of tables."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

Progress = Callable[[int], None]
"""Called with the number of transcripts that were read."""


class TablesReport(msgspec.Struct, frozen=True):
    """The outcome of an update of tables."""

    machine: str
    rows: dict[str, int]
    """The number of rows of this machine by table."""
    read: int
    """Transcripts that were read."""
    unchanged: int
    removed: int
    """Transcripts whose rows were removed because they are gone."""
    unread: tuple[str, ...] = ()
    """Transcripts that could not be read: they have no rows."""
    commits: int | None = None
    """Commits to an Iceberg catalogue; None if there was none to write to."""
