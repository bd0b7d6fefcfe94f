"""Index the sessions that changed, count the usage in what is new, and keep the places of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from reread.accounting.file_scan import DigestUpdate
from reread.disk.agent_files import main_file
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet
from reread.disk.sources import FileSource
from reread.errors import NotFound, Unreadable, naming_file
from reread.index.document import ParseState
from reread.index.file_pass import FilePass
from reread.index.hit_locations import forget_places
from reread.index.stale_files import Progress, changed_files, continued
from reread.index.store import Cursor, IndexUpdate, file_id, take_request
from reread.session.saved_fold import forget_folds
from reread.session.session_pass import PLACES, SessionPass

COMMIT_BYTES = 32 << 20
"""A long update is committed after this many bytes, so that little is lost if it is interrupted."""

TURN_BYTES = 8 << 20
"""Others get their turn after at least so many bytes: to begin again takes a while."""


def index_changes(
    update: IndexUpdate, files: FileSet, progress: Progress | None = None, parts: Sequence[str] = ()
) -> bool:
    """Index what changed since the last commit, whoever made it; False if another process asked for its turn before.

    The sessions that changed are opened once for the places of their texts and other `parts` that the catalogue keeps.
    """
    changed, gone = changed_files(update.cursors, files)
    for path in gone:
        update.delete(file_id(path))
        del update.cursors[path]
    forget_folds(gone)
    forget_places(gone)
    unsaved = 0
    with closing(DigestUpdate()) as digests, SessionPass(tuple(dict.fromkeys((PLACES, *parts)))) as sessions:
        for main, paths in _by_session(changed).items():
            for count in _index_session(update, digests, paths, files.failures):
                unsaved += count
                if progress is not None:
                    progress(count)
                is_wanted = unsaved >= TURN_BYTES and take_request(update.folder)
                if unsaved >= COMMIT_BYTES or is_wanted:
                    sessions.fill(main)  # nobody returns to a session that this commit completes
                    update.commit()
                    digests.save()
                    unsaved = 0
                if is_wanted:
                    return False
            sessions.fill(main)
        if changed or gone:
            update.commit()
            digests.save()
    return True


def _by_session(changed: Iterable[str]) -> dict[str, list[str]]:
    """Return files by the session's file that they belong to, in the order of the first of each session."""
    sessions: dict[str, list[str]] = {}
    for path in changed:
        sessions.setdefault(main_file(path), []).append(path)
    return sessions


def _index_session(
    update: IndexUpdate, digests: DigestUpdate, paths: Sequence[str], failures: list[str]
) -> Iterator[int]:
    for path in paths:
        yield from index_file(update, digests, path, failures)


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
    cursor = continued(update.cursors.get(path), path, state, source)
    update.delete(file_id(path), tail_only=cursor is not None)
    cursor = cursor or Cursor(state, 0, b"", ParseState())
    update.cursors[path] = cursor
    id = file_id(path)
    scan = digests.scan(path, state, source.read, cursor.offset)
    feed = scan.feed if scan is not None else None
    for count in FilePass(
        source, cursor, lambda document, position: update.add(id, document, position), feed=feed
    ).run():
        cursor.state = FileState(state.device, state.inode, cursor.offset, 0)  # not yet all of it
        yield count
    cursor.state = state
    if scan is not None:
        digests.add(scan)
