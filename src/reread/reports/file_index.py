"""Which sessions changed which files, and which lines of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.base.paths import comparable_path, path_ends_with
from reread.disk.derived_cache import known_path
from reread.disk.layout import expand_path
from reread.errors import RereadError
from reread.facts.schema import FILE, FILE_CHANGE
from reread.facts.sessions import Progress, open_sessions
from reread.facts.store import FactStore, answered
from reread.history.line_trace import TracedVersion

_decode: Callable[[bytes], list[TracedVersion]] = msgspec.msgpack.Decoder(list[TracedVersion]).decode


class FileIndex:
    """The changes that sessions made to files."""

    def __init__(self, store: FactStore, files: Iterable[int]) -> None:
        """Read what opened sessions did, by the ids of their files."""
        self._store = store
        self._files: dict[str, int] = {}
        self.paths: dict[str, list[str]] = {}
        """The paths of files that each session changed, by the session's path."""
        opened = set(files)
        for file, session, path in store.rows(
            f"SELECT c.file, f.path, c.path FROM {FILE_CHANGE.name} c JOIN {FILE.name} f ON f.id = c.file"
            " ORDER BY f.path, c.rowid"
        ):
            if file in opened:
                self._files[known_path(session)] = file
                self.paths.setdefault(known_path(session), []).append(path)

    def sessions_of(self, test: Callable[[str], bool]) -> Iterator[str]:
        """Yield the sessions that changed a file whose path passes a test."""
        yield from (session for session, paths in self.paths.items() if any(map(test, paths)))

    def has(self, path: str) -> bool:
        """True if a session changed this file."""
        wanted = comparable_path(path)
        return any(self.sessions_of(lambda other: comparable_path(other) == wanted))

    def versions(self, session: str, path: str) -> Sequence[TracedVersion]:
        """Return the versions of a file of a session, which is opened if they are not known."""
        file = self._files[session]
        query = f"SELECT versions FROM {FILE_CHANGE.name} WHERE file = ? AND path = ?"
        data = next((data for (data,) in self._store.rows(query, (file, path))), None)
        if data is None:
            from reread.facts.file_changes import trace_files  # loaded late: it opens sessions

            with suppress(RereadError, OSError):  # it was deleted, or replaced, meanwhile
                data = trace_files(self._store, file, session).get(path)
        try:
            return _decode(data) if data is not None else []
        except jsontext.DECODE_ERRORS as error:
            raise sqlite3.DatabaseError(f"damaged versions of {path}") from error

    def traces_of(self, path: str) -> list[tuple[str, Sequence[TracedVersion]]]:
        """Return the versions of a file in each session that changed it."""
        wanted = comparable_path(path)
        known = ((session, own) for session, paths in self.paths.items() for own in paths)
        return [(session, self.versions(session, own)) for session, own in known if comparable_path(own) == wanted]


def sessions_that_changed(file: str, sessions: Iterable[str], *, progress: Progress | None = None) -> list[str]:
    """Return those of some sessions that changed a file."""
    paths, test = list(map(Path, sessions)), names_file(file)
    return answered(
        lambda store: list(FileIndex(store, open_sessions(store, paths, progress=progress)).sessions_of(test))
    )


def names_file(typed: str) -> Callable[[str], bool]:
    """Return a test for paths of sessions: that of a file on this machine, or one that ends like this."""
    here = os.path.normpath(expand_path(typed).absolute())
    wanted = {comparable_path(path) for path in (here, os.path.realpath(here))}
    return lambda path: comparable_path(path) in wanted or path_ends_with(comparable_path(path), comparable_path(typed))
