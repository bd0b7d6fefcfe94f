"""Which files changed since they were indexed, and how far those that grew are still as they were."""

from __future__ import annotations

from collections.abc import Callable

from reread.disk.cache import FileState
from reread.disk.derived import Derived
from reread.disk.file_set import FileSet
from reread.disk.kept import is_readable
from reread.disk.sources import Source
from reread.index.store import Cursor

Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""


def changed_files(cursors: dict[str, Cursor], files: FileSet) -> tuple[list[str], list[str]]:
    """Return the files that are new or changed, the newest first, and those that are gone."""
    changed = [path for path, state in files.states.items() if not has_file(cursors, path, state)]
    changed = [path for path in changed if is_readable(path)]
    changed.sort(key=lambda path: files.states[path].modified, reverse=True)
    return changed, files.gone(cursors)


def has_file(cursors: dict[str, Cursor], path: str, state: FileState) -> bool:
    """True if a file is indexed as it is now."""
    return path in cursors and cursors[path].state == state


def continued(cursor: Cursor | None, path: str, state: FileState, source: Source) -> Cursor | None:
    """Return the cursor of a file that was only appended to since."""
    if cursor is None or not Derived(path, cursor.state, cursor.offset, cursor.proof).is_continued(state, source.read):
        return None
    return cursor
