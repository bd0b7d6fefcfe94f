"""Bring the search index up to date: one sweep finds what changed, and only new bytes are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from reread.base.gc_pause import gc_paused
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.derived import Derived, gone_files, sweep
from reread.disk.sources import FileSource, Source
from reread.errors import NotFound, Unreadable, naming_file
from reread.index.file_pass import FilePass
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

CHUNK = 1 << 20
COMMIT_BYTES = 192 << 20
"""A long update is committed after this many bytes, so that little is lost if it is interrupted."""

Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""


class FileSet(NamedTuple):
    """The files to search."""

    states: dict[str, FileState]
    folders: list[str]
    """Folders of which all transcripts are among the files."""
    failures: list[str]
    """Filled while files are read: what is wrong with those whose content makes reading fail."""


def find_files(roots: Sequence[str | Path] | None = None, paths: Iterable[Path] = ()) -> FileSet:
    """Find all transcripts below some folders, by default of this machine, and some files."""
    states: dict[str, FileState] = {}
    folders: list[str] = []
    for path in paths:
        with suppress(OSError):
            states[str(path.absolute())] = FileState.at(path)
    for folder in layout.session_folders(roots) if roots or not states else ():
        folders.append(str(folder.absolute()))
        states |= dict(sweep(folders[-1]))
    return FileSet(states, folders, [])


def changed_files(cursors: dict[str, Cursor], files: FileSet) -> tuple[list[str], list[str]]:
    """Return the files that are new or changed, the newest first, and those that are gone."""
    changed = [path for path, state in files.states.items() if path not in cursors or cursors[path].state != state]
    changed = [path for path in changed if os.access(path, os.R_OK)]
    changed.sort(key=lambda path: files.states[path].modified, reverse=True)
    return changed, gone_files(cursors, files.states, files.folders)


def pending_bytes(cursors: dict[str, Cursor], files: FileSet) -> int:
    """Return about how many bytes are to be read."""
    sizes = ((state.size, cursors.get(path)) for path, state in files.states.items())
    return sum(max(0, size - (cursor.offset if cursor is not None else 0)) for size, cursor in sizes)


def refresh(
    files: FileSet, *, wait: float = 0.0, progress: Progress | None = None, most: int | None = None
) -> tuple[IndexReader | None, bool]:
    """Index what changed in some files; return the index, and whether it is up to date.

    It is not if another process is updating it, which is waited for, or if there are more than `most` bytes to read.
    """
    reader = open_reader()
    cursors = reader.cursors if reader is not None else {}
    changed, gone = changed_files(cursors, files)
    if reader is not None and not changed and not gone:
        return reader, True
    if most is not None and pending_bytes(cursors, files) > most:
        return reader, False
    with open_update(wait) as update:
        if update is None:
            return reader, False
        with gc_paused():
            _update(update, files, progress)
    return open_reader(), True


def _update(update: IndexUpdate, files: FileSet, progress: Progress | None) -> None:
    """Index what changed since the last commit, whoever made it."""
    changed, gone = changed_files(update.cursors, files)
    for path in gone:
        update.delete(file_id(path))
        del update.cursors[path]
    forget_folds(gone)
    unsaved = 0
    for path in changed:
        for count in index_file(update, path, files.failures):
            unsaved += count
            if progress is not None:
                progress(count)
            if unsaved >= COMMIT_BYTES:
                update.commit()
                unsaved = 0
    if changed or gone:
        update.commit()


def index_file(update: IndexUpdate, path: str, failures: list[str]) -> Iterator[int]:
    """Index the new lines of a file; yield how many bytes were read, each time the file's cursor has moved on.

    A file whose content makes that fail is left out, and added to the failures.
    """
    try:
        with naming_file(path):
            yield from _index_lines(update, path)
    except (OSError, NotFound):  # deleted in the meantime
        pass
    except Unreadable as error:
        failures.append(str(error))
        update.delete(file_id(path))
        update.cursors.pop(path, None)


def _index_lines(update: IndexUpdate, path: str) -> Iterator[int]:
    source = FileSource(Path(path))
    state = FileState.at(path)
    cursor = _continued(update.cursors.get(path), path, state, source)
    update.delete(file_id(path), tail_only=cursor is not None)
    cursor = cursor or Cursor(state, 0, b"", Carry())
    update.cursors[path] = cursor
    id = file_id(path)
    for count in FilePass(source, cursor, lambda unit, position: update.add(id, unit, position)).run():
        cursor.state = FileState(state.device, state.inode, cursor.offset, 0)  # not yet all of it
        yield count
    cursor.state = state


def _continued(cursor: Cursor | None, path: str, state: FileState, source: Source) -> Cursor | None:
    """Return the cursor of a file that was only appended to since."""
    if cursor is None or not Derived(path, cursor.state, cursor.offset, cursor.proof).is_continued(state, source.read):
        return None
    return cursor
