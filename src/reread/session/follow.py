"""Follow one session, or all of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from reread.catalog.resolve import missing_path, resolve_session
from reread.disk import layout
from reread.disk.agent_files import session_of
from reread.disk.sources import FileSource
from reread.errors import Misuse, NotFound, Unreadable
from reread.session.changes import Change, ChangeStream
from reread.session.follower import HEARTBEAT_MS, RESCAN_TICKS, RESCANS_AFTER_CHANGE, Follower, folder_ticks, ticks
from reread.session.session import Session, threads_of
from reread.storage.kept_file import file_exists, stat_file

MOST_OPEN = 32
"""Of all sessions, so many stay open; one that changed longest ago is closed, and read again if it changes."""


def follow(
    source: str | os.PathLike[str] | Session | None = None,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    fresh: bool = False,
    stop: threading.Event | None = None,
    heartbeat: int = HEARTBEAT_MS,
) -> ChangeStream:
    """Follow a session, or all sessions if none is named, until `stop` is set: each new record is a change.

    Iterate with `for` or `async for`. Agents' records are included, and `change.session` says which session changed.
    A session that is followed stays up to date: after a change it holds what loading the file would give. A path
    without a file is waited for. With `fresh`, records that are there already are changes, too. If a file was rewritten
    or replaced, a `rewritten` change names the first line that differs, and the records from there come again.
    `heartbeat` is the time in milliseconds after which `stop` is looked at.
    """
    halt, stream = stop or threading.Event(), ChangeStream()
    if source is None:
        everything = AllFollower([root] if isinstance(root, str | Path) else root, fresh=fresh)
        return stream.start(_all_changes(everything, stream, halt, heartbeat))
    follower, path = _start(source, root, fresh)
    return stream.start(_changes(follower, path, stream, halt, heartbeat))


def _start(
    source: str | os.PathLike[str] | Session, root: str | Path | Sequence[str | Path] | None, fresh: bool
) -> tuple[Follower | None, Path]:
    """Return what follows the session, None if its file does not exist yet, and its path."""
    if isinstance(source, Session):
        if source.path is None:
            raise Misuse("Only a session on disk can be followed; pass the path of its file.")
        return Follower(source, seen={} if fresh else None), source.path
    name = source if isinstance(source, str) else Path(source)
    missing = missing_path(name)
    if missing is not None:
        return None, missing
    path = resolve_session(name, root=root)
    session = Session(FileSource(path))
    threads_of(session).load_lines()  # a last line without an end is still being written
    return Follower(session, seen={} if fresh else None), path


def _changes(
    follower: Follower | None, path: Path, stream: ChangeStream, stop: threading.Event, heartbeat: int
) -> Iterator[Change]:
    for touched in ticks(path, stop, heartbeat):
        if stream.closed:
            return
        if follower is None:
            if not file_exists(path):
                continue
            follower = Follower(Session(FileSource(path)), seen={})
        yield from follower.changes(touched)
    if follower is not None:
        yield from follower.finish()


def _all_changes(
    followers: AllFollower, stream: ChangeStream, stop: threading.Event, heartbeat: int
) -> Iterator[Change]:
    for touched in folder_ticks(followers.folders, stop, heartbeat=heartbeat):
        if stream.closed:
            return
        yield from followers.changes(touched)


class AllFollower:
    """Keeps all sessions below some folders up to date, once they change."""

    def __init__(self, roots: Sequence[str | Path] | None = None, *, fresh: bool = False) -> None:
        self._roots = [layout.expand_path(root).absolute() for root in roots] if roots else None
        self._followers: dict[Path, Follower] = {}
        """The followers of open sessions, that of the session that changed last at the end."""
        self._sizes = {} if fresh else self._scan()
        """How many bytes of each file were seen."""
        self._ticks = 0
        self._rescans = 0

    def folders(self) -> list[str]:
        """Return the folders of sessions that exist now."""
        return [str(folder) for folder in layout.session_folders(self._roots)]

    def changes(self, touched: set[str]) -> Iterator[Change]:
        """Return what is new in any session, and in new ones."""
        files = touched & self._sizes.keys()
        if files != touched:  # a new file or folder
            self._rescans = RESCANS_AFTER_CHANGE
        if self._rescans or self._ticks % RESCAN_TICKS == 0:
            self._rescans = max(0, self._rescans - 1)
            files |= {path for path, size in self._scan().items() if self._sizes.get(path) != size}
        self._ticks += 1
        paths = {Path(file) for file in touched}
        for path in [*self._followers, *sorted(self._sessions_of(files) - self._followers.keys())]:
            follower = self._followers.get(path) or self._open(path)
            for change in follower.changes(paths) if follower is not None else ():
                self._followers[path] = self._followers.pop(path)
                yield change
            if len(self._followers) > MOST_OPEN:
                self._close(next(iter(self._followers)))

    def _sessions_of(self, files: set[str]) -> set[Path]:
        """Return the session that each file belongs to."""
        found: set[Path] = set()
        for folder in map(Path, self.folders()):
            for path in map(Path, files):
                session = session_of(path, folder) if path.is_relative_to(folder) else None
                if session is not None:
                    self._sizes.setdefault(str(path), 0)
                    found.add(session)
        return found

    def _open(self, path: Path) -> Follower | None:
        with suppress(Unreadable, NotFound, OSError):  # gone again, or not readable: the others continue
            session = Session(FileSource(path), roots=self._roots)
            if self._sizes.get(str(path), 0) > stat_file(path).st_size:  # it was cut
                self._sizes[str(path)] = 0
            return self._followers.setdefault(path, Follower(session, seen=self._sizes))
        return None

    def _close(self, path: Path) -> None:
        self._sizes |= self._followers.pop(path).sizes()

    def _scan(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for folder in layout.session_folders(self._roots):
            for path, _ in layout.jsonl_files(str(folder)):
                with suppress(OSError):  # gone again
                    found[path] = stat_file(path).st_size
        return found
