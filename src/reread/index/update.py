"""Bring the search index up to date: one sweep finds what changed, and only new bytes are read."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from reread.base.gc_pause import gc_paused
from reread.disk.file_set import FileSet
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable, Unwritable
from reread.index.changed import Progress, changed_files, continued, has_file
from reread.index.store import (
    Cursor,
    IndexReader,
    open_reader,
    open_update,
)
from reread.index.unit import Carry

LEAST = 64 << 10
"""Fewer new bytes are searched as they are: a commit waits for the disk, some 100 ms."""
CURRENT, NEARLY, BEHIND, UNWRITABLE = "current", "nearly", "behind", "unwritable"


def pending_bytes(reader: IndexReader | None, files: FileSet) -> int:
    """Return about how many bytes are to be read."""
    cursors = reader.cursors if reader is not None else {}
    changed = [
        (state.size, cursors.get(path)) for path, state in files.states.items() if not has_file(cursors, path, state)
    ]
    return sum(max(0, size - (cursor.offset if cursor is not None else 0)) for size, cursor in changed)


def unindexed(reader: IndexReader | None, files: FileSet) -> dict[str, Cursor]:
    """Return the files that the index does not have as they are now, with copies of where it ends in each."""
    cursors = reader.cursors if reader is not None else {}
    rest: dict[str, Cursor] = {}
    for path in changed_files(cursors, files)[0]:
        state = files.states[path]
        with suppress(OSError, NotFound, Unreadable):
            known = continued(cursors.get(path), path, state, FileSource(Path(path)))
            rest[path] = deepcopy(known) if known is not None else Cursor(state, 0, b"", Carry())
    return rest


class Refreshed(NamedTuple):
    """The index, as far as it could be brought up to date."""

    reader: IndexReader | None
    """None if there is no index."""
    state: str = CURRENT
    """CURRENT; NEARLY if it lacks so little that a commit would take longer than reading that; BEHIND if another
    process updates the index, or should; UNWRITABLE if nobody can."""


def refresh(
    files: FileSet, *, wait: float = 0.0, progress: Progress | None = None, least: int = 0, most: int | None = None
) -> Refreshed:
    """Index what changed in some files, if at least `least` and at most `most` bytes are to be read.

    If another process is updating the index, it is waited for.
    """
    reader = open_reader()
    cursors = reader.cursors if reader is not None else {}
    changed, gone = changed_files(cursors, files)
    if reader is not None and not changed and not gone:
        return Refreshed(reader)
    pending = pending_bytes(reader, files)
    if reader is not None and not gone and pending < least:
        return Refreshed(reader, NEARLY)
    if most is not None and pending > most:
        return Refreshed(reader, BEHIND)
    from reread.index.index_files import index_changes  # most searches find nothing new

    try:
        with open_update(wait) as update:
            if update is None:
                return Refreshed(reader, BEHIND)
            with gc_paused():
                index_changes(update, files, progress)
    except Unwritable:
        return Refreshed(open_reader(), UNWRITABLE)
    return Refreshed(open_reader())
