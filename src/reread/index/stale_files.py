"""Which files changed since they were indexed, and how far those that grew are still as they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue
from reread.disk.file_set import FileSet
from reread.disk.sources import Source
from reread.disk.spilled import UNSETTLED, large_texts_state
from reread.index.store import Cursor
from reread.storage.kept_file import is_readable

Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""


def changed_files(cursors: dict[str, Cursor], files: FileSet) -> tuple[list[str], list[str]]:
    """Return the files that are new or changed, the newest first, and those that are gone."""
    changed = [path for path, state in files.states.items() if not has_file(cursors, path, state)]
    changed = [path for path in changed if is_readable(path)]
    changed.sort(key=lambda path: files.states[path].modified, reverse=True)
    return changed, files.gone(cursors)


def has_file(cursors: dict[str, Cursor], path: str, state: FileState) -> bool:
    """True if a file is indexed as it is now, with the texts beside it that it names."""
    return path in cursors and cursors[path].state == state and not has_awaited(cursors[path], path)


def has_awaited(cursor: Cursor, path: str) -> bool:
    """True if a text that was missing when a file was indexed may have arrived beside it."""
    return cursor.awaited == UNSETTLED or (cursor.awaited != 0 and cursor.awaited != large_texts_state(Path(path)))


def continued(cursor: Cursor | None, path: str, state: FileState, source: Source) -> Cursor | None:
    """Return the cursor of a file that was only appended to since."""
    if cursor is None or has_awaited(cursor, path):
        return None
    if not DerivedValue(path, cursor.state, cursor.offset, cursor.proof).is_continued(state, source.read):
        return None
    return cursor
