"""Bring the search index up to date: one sweep finds what changed, and only new bytes are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from reread.accounting.file_scan import DigestUpdate
from reread.base.gc_pause import gc_paused
from reread.disk.cache import FileState
from reread.disk.derived import Derived
from reread.disk.file_set import FileSet
from reread.disk.kept import is_readable
from reread.disk.sources import FileSource, Source
from reread.errors import NotFound, Unreadable, Unwritable, naming_file
from reread.index.file_pass import FilePass
from reread.index.places import forget_places
from reread.index.store import (
    Cursor,
    IndexReader,
    IndexUpdate,
    file_id,
    open_reader,
    open_update,
)
from reread.index.units import Carry
from reread.session.saved_fold import forget_folds

COMMIT_BYTES = 192 << 20
"""A long update is committed after this many bytes, so that little is lost if it is interrupted."""

LEAST = 64 << 10
"""Fewer new bytes are searched as they are: a commit waits for the disk, some 100 ms."""
CURRENT, NEARLY, BEHIND, UNWRITABLE = "current", "nearly", "behind", "unwritable"

Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""


def changed_files(cursors: dict[str, Cursor], files: FileSet) -> tuple[list[str], list[str]]:
    """Return the files that are new or changed, the newest first, and those that are gone."""
    changed = [path for path, state in files.states.items() if not _has(cursors, path, state)]
    changed = [path for path in changed if is_readable(path)]
    changed.sort(key=lambda path: files.states[path].modified, reverse=True)
    return changed, files.gone(cursors)


def _has(cursors: dict[str, Cursor], path: str, state: FileState) -> bool:
    return path in cursors and cursors[path].state == state


def pending_bytes(reader: IndexReader | None, files: FileSet) -> int:
    """Return about how many bytes are to be read."""
    cursors = reader.cursors if reader is not None else {}
    changed = [
        (state.size, cursors.get(path)) for path, state in files.states.items() if not _has(cursors, path, state)
    ]
    return sum(max(0, size - (cursor.offset if cursor is not None else 0)) for size, cursor in changed)


def unindexed(reader: IndexReader | None, files: FileSet) -> dict[str, Cursor]:
    """Return the files that the index does not have as they are now, with copies of where it ends in each."""
    cursors = reader.cursors if reader is not None else {}
    rest: dict[str, Cursor] = {}
    for path in changed_files(cursors, files)[0]:
        state = files.states[path]
        with suppress(OSError, NotFound, Unreadable):
            continued = _continued(cursors.get(path), path, state, FileSource(Path(path)))
            rest[path] = deepcopy(continued) if continued is not None else Cursor(state, 0, b"", Carry())
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
    try:
        with open_update(wait) as update:
            if update is None:
                return Refreshed(reader, BEHIND)
            with gc_paused():
                _update(update, files, progress)
    except Unwritable:
        return Refreshed(open_reader(), UNWRITABLE)
    return Refreshed(open_reader())


def _update(update: IndexUpdate, files: FileSet, progress: Progress | None) -> None:
    """Index what changed since the last commit, whoever made it."""
    changed, gone = changed_files(update.cursors, files)
    for path in gone:
        update.delete(file_id(path))
        del update.cursors[path]
    forget_folds(gone)
    forget_places(gone)
    unsaved = 0
    with closing(DigestUpdate()) as digests:
        for path in changed:
            for count in index_file(update, digests, path, files.failures):
                unsaved += count
                if progress is not None:
                    progress(count)
                if unsaved >= COMMIT_BYTES:
                    update.commit()
                    digests.save()
                    unsaved = 0
        if changed or gone:
            update.commit()
            digests.save()


def index_file(update: IndexUpdate, digests: DigestUpdate, path: str, failures: list[str]) -> Iterator[int]:
    """Index the new lines of a file, and count the usage in them.

    Yields how many bytes were read, each time the file's cursor has moved on. A file whose content makes that fail is
    left out, and added to the failures.
    """
    try:
        with naming_file(path):
            yield from _index_lines(update, digests, path)
    except (OSError, NotFound):  # deleted in the meantime
        pass
    except Unreadable as error:
        failures.append(str(error))
        update.delete(file_id(path))
        update.cursors.pop(path, None)


def _index_lines(update: IndexUpdate, digests: DigestUpdate, path: str) -> Iterator[int]:
    source = FileSource(Path(path))
    state = FileState.at(path)
    cursor = _continued(update.cursors.get(path), path, state, source)
    update.delete(file_id(path), tail_only=cursor is not None)
    cursor = cursor or Cursor(state, 0, b"", Carry())
    update.cursors[path] = cursor
    id = file_id(path)
    scan = digests.scan(path, state, source.read, cursor.offset)
    feed = scan.feed if scan is not None else None
    for count in FilePass(source, cursor, lambda unit, position: update.add(id, unit, position), feed=feed).run():
        cursor.state = FileState(state.device, state.inode, cursor.offset, 0)  # not yet all of it
        yield count
    cursor.state = state
    if scan is not None:
        digests.add(scan)


def _continued(cursor: Cursor | None, path: str, state: FileState, source: Source) -> Cursor | None:
    """Return the cursor of a file that was only appended to since."""
    if cursor is None or not Derived(path, cursor.state, cursor.offset, cursor.proof).is_continued(state, source.read):
        return None
    return cursor
