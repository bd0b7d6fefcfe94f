"""Bring the search index up to date: one sweep finds what changed, and only new bytes are read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from reread.base.gc_pause import gc_paused
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable, Unwritable
from reread.index.document import ParseState
from reread.index.stale_files import Progress, changed_files, continued, has_file
from reread.index.store import (
    Cursor,
    IndexReader,
    open_reader,
    open_update,
)

LEAST = 64 << 10
"""Fewer new bytes are searched as they are: a commit waits for the disk, some 100 ms."""
SCANNED = 16 << 20
"""Up to this many bytes are searched as they are while another process updates the index, which may take minutes."""
BRIEFLY = 1.0
"""How long to wait for another process, in seconds, if so little is missing."""
TURN_SECONDS = 0.3
"""How long the lock is left to another process that asked for it, so that it notices."""
LONGEST_TURN = 600.0
"""How long to wait for the other process then, in seconds."""
CURRENT, NEARLY, BEHIND, UNWRITABLE = "current", "nearly", "behind", "unwritable"


def pending_bytes(reader: IndexReader | None, files: FileSet) -> int:
    """Return about how many bytes are to be read."""
    cursors = reader.cursors if reader is not None else {}
    changed = [(state, cursors.get(path)) for path, state in files.states.items() if not has_file(cursors, path, state)]
    return sum(state.size - _kept_bytes(state, cursor) for state, cursor in changed)


def _kept_bytes(state: FileState, cursor: Cursor | None) -> int:
    """Return how many bytes of a file need not be read again: none if it is another one, or did not grow."""
    if cursor is None or state.inode != cursor.state.inode or state.size <= cursor.state.size:
        return 0
    return cursor.offset


def unindexed(reader: IndexReader | None, files: FileSet) -> dict[str, Cursor]:
    """Return the files that the index does not have as they are now, with copies of where it ends in each."""
    cursors = reader.cursors if reader is not None else {}
    rest: dict[str, Cursor] = {}
    for path in changed_files(cursors, files)[0]:
        state = files.states[path]
        with suppress(OSError, NotFound, Unreadable):
            known = continued(cursors.get(path), path, state, FileSource(Path(path)))
            rest[path] = deepcopy(known) if known is not None else Cursor(state, 0, b"", ParseState())
    return rest


class RefreshResult(NamedTuple):
    """The index, as far as it could be brought up to date."""

    reader: IndexReader | None
    """None if there is no index."""
    state: str = CURRENT
    """CURRENT; NEARLY if it lacks so little that a commit would take longer than reading that; BEHIND if another
    process updates the index, or should; UNWRITABLE if nobody can."""


def refresh(
    files: FileSet,
    *,
    wait: float = 0.0,
    progress: Progress | None = None,
    least: int = 0,
    most: int | None = None,
    scanned: int = 0,
    parts: Sequence[str] = (),
) -> RefreshResult:
    """Index what changed in some files, if at least `least` and at most `most` bytes are to be read.

    If another process is updating the index, maybe for other files, it is waited for; only briefly if no more than
    `scanned` bytes are missing. Other `parts` of the sessions that changed are derived in the same pass.
    """
    reader = open_reader(files.name)
    cursors = reader.cursors if reader is not None else {}
    changed, gone = changed_files(cursors, files)
    if reader is not None and not changed and not gone:
        return RefreshResult(reader)
    pending = pending_bytes(reader, files)
    if reader is not None and not gone and pending < least:
        return RefreshResult(reader, NEARLY)
    if most is not None and pending > most:
        return RefreshResult(reader, BEHIND)
    from reread.index.index_files import index_changes  # most searches find nothing new

    try:
        is_done = False
        while not is_done:
            with open_update(files.name, min(wait, BRIEFLY) if pending <= scanned else wait) as update:
                if update is None:
                    return RefreshResult(open_reader(files.name), BEHIND)
                with gc_paused():
                    is_done = index_changes(update, files, progress, parts)
            if not is_done:
                time.sleep(TURN_SECONDS)
                wait = max(wait, LONGEST_TURN)
    except Unwritable:
        return RefreshResult(open_reader(files.name), UNWRITABLE)
    return RefreshResult(open_reader(files.name))
