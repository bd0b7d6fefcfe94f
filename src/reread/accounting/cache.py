"""A cache of digests: files that have not changed are not read again, and of grown ones only what is new."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from reread.accounting.digest import FORMAT
from reread.disk.layout import expand_path

VARIABLE = "REREAD_CACHE"
NAME = "usage.sqlite"
APPLICATION = 0x72657264
"""Marks the database as ours."""
PROOF = 64
"""How many bytes before the place where reading stopped are compared, to see that a file was only appended to."""
WAIT_SECONDS = 5.0
FEW = 200

_SCHEMA = """
CREATE TABLE files (
    path TEXT PRIMARY KEY, device INTEGER, inode INTEGER, size INTEGER, changed INTEGER,
    read INTEGER, proof BLOB, digest BLOB
);
CREATE TABLE settled (key BLOB PRIMARY KEY, spends BLOB);
"""


LAST = 16
_FORGET_OLD = f"""
DELETE FROM settled WHERE rowid NOT IN (SELECT rowid FROM settled ORDER BY rowid DESC LIMIT {LAST})
"""


class CachedDigest(msgspec.Struct, frozen=True):
    """What is kept of one file."""

    path: str
    device: int
    inode: int
    size: int
    changed: int
    """When it was last written to, in nanoseconds."""
    read: int
    """How many bytes the digest stands for: whole lines."""
    proof: bytes
    digest: bytes = b""
    """Left out of what `entries` gives; see `digests`."""

    @property
    def is_whole(self) -> bool:
        """Whether the digest stands for the whole file."""
        return self.read == self.size and bool(self.digest)

    def is_of(self, stat: os.stat_result) -> bool:
        """Whether the file is as it was."""
        same = (self.device, self.inode, self.size, self.changed)
        return same == (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def may_have_grown(self, stat: os.stat_result) -> bool:
        """Whether the file may be the same and only longer; the proof must show it."""
        return (self.device, self.inode) == (stat.st_dev, stat.st_ino) and stat.st_size > self.size


def folder() -> Path:
    """Where caches are kept on this machine."""
    told = os.environ.get(VARIABLE)
    if told:
        return expand_path(told)
    if sys.platform == "linux":  # what platformdirs says, without the 30 ms of loading it
        return expand_path(os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache") / "reread"
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("reread", appauthor=False))


class Cache:
    """Digests by path, in one SQLite file. It never raises: without it, files are read again."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or folder() / NAME
        self._database = _open(self.path)

    def entries(self) -> dict[str, CachedDigest]:
        """All files that are known, by path."""
        columns = "path, device, inode, size, changed, read, proof"
        return {row[0]: CachedDigest(*row) for row in self._rows(f"SELECT {columns} FROM files")}

    def digests(self, paths: Collection[str]) -> dict[str, bytes]:
        """What is kept of some files, by path."""
        if len(paths) < FEW:
            rows = [row for path in paths for row in self._rows("SELECT path, digest FROM files WHERE path = ?", path)]
        else:
            rows = self._rows("SELECT path, digest FROM files")
        wanted = set(paths)
        return {path: digest for path, digest in rows if path in wanted}

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        if self._database is None:
            return []
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            if not _is_busy(error):
                self._rebuild()
            return []

    def settled(self, key: bytes) -> bytes | None:
        """What was settled for just these files, if that is among the last that was asked for."""
        if self._database is None:
            return None
        with suppress(sqlite3.Error):
            row = self._database.execute("SELECT spends FROM settled WHERE key = ?", (key,)).fetchone()
            return row[0] if row else None
        return None

    def save(
        self, entries: Iterable[CachedDigest], gone: Iterable[str], key: bytes | None = None, settled: bytes = b""
    ) -> None:
        """Keep digests, forget files, and keep what was settled; where another run is writing, nothing."""
        rows = [msgspec.structs.astuple(entry) for entry in entries if _is_text(entry.path)]
        if self._database is None:
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])
            if key is not None:
                self._database.execute("REPLACE INTO settled VALUES (?, ?)", (key, settled))
                self._database.execute(_FORGET_OLD)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            if not _is_busy(error):
                self._rebuild()

    def close(self) -> None:
        """Let go of the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _rebuild(self) -> None:
        self.close()
        self._database = _fresh(self.path)


@contextmanager
def opened(wanted: bool) -> Generator[Cache | None]:
    """The cache while it is needed, where it is wanted."""
    cache = Cache() if wanted else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


def _open(path: Path) -> sqlite3.Connection | None:
    """The database, made anew where it is not ours, not of this format, or broken; None where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    except (OSError, sqlite3.Error):
        return None
    try:
        database.execute("PRAGMA synchronous = OFF")  # a cache that a crash breaks is made again
        marks = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if marks == [APPLICATION, FORMAT]:
            return database
        if marks == [0, 0] and _is_empty(database):
            return _made(database)
    except sqlite3.DatabaseError as error:
        if _is_busy(error):
            database.close()
            return None
    database.close()
    return _fresh(path)


def _is_text(path: str) -> bool:
    """Whether a path can be kept: a name that is no UTF-8 cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_busy(error: sqlite3.Error) -> bool:
    """Whether another run holds the database, which is no fault of it."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_empty(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0


def _made(database: sqlite3.Connection) -> sqlite3.Connection | None:
    """A new database with its tables; another run may be making it at the same time."""
    try:
        database.execute("BEGIN IMMEDIATE")
        if _is_empty(database):
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("COMMIT")
    except sqlite3.Error:
        database.close()
        return None
    return database


def _fresh(path: Path) -> sqlite3.Connection | None:
    """A new database in place of whatever is there."""
    try:
        for name in (path, *(Path(f"{path}{end}") for end in ("-journal", "-wal", "-shm"))):
            name.unlink(missing_ok=True)
        return _made(sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None))
    except (OSError, sqlite3.Error):
        return None
