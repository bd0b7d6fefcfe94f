"""The catalogue of files: what was derived from each of them, and from which state of it.

A value is kept with the identity of its file, how far the file was read, and the bytes before that place. They tell
whether the file is unchanged, was appended to, or was rewritten since. Values can always be derived again.

Whoever deletes a session has its values forgotten. Another process may have read the files before, and store what it
derived of them afterwards: so after files were forgotten, values are stored only of files that are still there.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

import msgspec

from reread.disk.cache import CacheFile, CacheTable, FileState, Statement
from reread.disk.fact_table import FILE, FactTable

PROOF = 64
"""How many bytes before the offset are compared to see that a file was only appended to."""
FEW_PATHS = 200
"""Up to this many values are fetched one by one, more with one query for all."""
COLUMNS = (
    "path TEXT PRIMARY KEY, device INTEGER, inode INTEGER, size INTEGER, modified INTEGER,"
    " offset INTEGER, proof BLOB, value BLOB"
)
IS_TYPED = " AND ".join(
    f"typeof({name}) = '{kind.lower()}'" for name, kind, *_ in (column.split() for column in COLUMNS.split(","))
)
"""The condition that values have the types of their columns: SQLite stores any others, too."""
FORGOTTEN = CacheTable("forgotten", "id INTEGER PRIMARY KEY, times INTEGER", 1)
"""How often files were forgotten, in one row."""
_FORGET_AGAIN = f"REPLACE INTO {FORGOTTEN.name} SELECT 1, coalesce(max(times), 0) + 1 FROM {FORGOTTEN.name}"

LINKS = "link"
"""The table of what files have in common."""
FORGET_LINKED = (
    f"DELETE FROM settled WHERE file IN (SELECT b.file FROM {FILE.name} f JOIN {LINKS} a ON a.file = f.id"
    f" JOIN {LINKS} b ON b.hash = a.hash WHERE f.path = ?)"
)
"""Has what others have in common with a file counted again."""

ReadAt = Callable[[int, int], bytes]
"""Reads `length` bytes at `offset`."""


class FileValue(msgspec.Struct, frozen=True):
    """Something that is kept of a file, with the state of the file when it was read."""

    path: str
    state: FileState

    def has_file(self) -> bool:
        """True if the file is still there, whatever was appended to it."""
        try:
            return self.state.is_same_file(FileState.at(self.path))
        except OSError:
            return False


class DerivedValue(FileValue, frozen=True):
    """A value derived from the beginning of a file."""

    offset: int
    """Number of bytes that the value covers: whole lines."""
    proof: bytes
    """The last bytes before the offset: if they are still there, the file was only appended to."""
    value: bytes = b""
    """The encoded value; empty in the result of `DerivedValues.files`."""

    @property
    def is_complete(self) -> bool:
        """True if the value covers the whole file."""
        return self.offset == self.state.size and bool(self.value)

    def is_continued(self, state: FileState, read: ReadAt) -> bool:
        """True if a file in this state begins with the bytes that the value covers."""
        same_file = self.state == state or (self.state.is_same_file(state) and state.size > self.state.size)
        return same_file and bool(self.proof) and proof_at(read, self.offset) == self.proof


def proof_at(read: ReadAt, offset: int) -> bytes:
    """Return the bytes that prove the content of a file before an offset."""
    start = max(0, offset - PROOF)
    return read(start, offset - start) if offset else b""


def encoded(value: object) -> bytes | None:
    """Encode a value as MessagePack; None if it has a number beyond 64 bits or text that is not Unicode."""
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeError):
        return None


def compressed(data: bytes) -> bytes:
    """Compress what is stored."""
    return zlib.compress(data, 1)


def decompressed(data: bytes, most: int) -> bytes:
    """Return bytes as they were before `compressed`; raise ValueError if it is damaged, or more than so many bytes."""
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(data, most)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacking.eof:
        raise ValueError(f"cut off, or more than {most} bytes")
    return raw


def row_statements(table: FactTable, rows: Iterable[Sequence[Any]]) -> list[Statement]:
    """Return the statements that store one row for each of some files: its path, its state, and the other values."""
    rows = [(stored_path(path), *values) for path, *values in rows]
    known = Statement(f"INSERT OR IGNORE INTO {FILE.name} (path) VALUES (?)", [(path,) for path, *_ in rows])
    marks = ", ".join("?" * (len(table.columns) - 1))
    save = f"REPLACE INTO {table.name} SELECT id, {marks} FROM {FILE.name} WHERE path = ?"
    return [known, Statement(save, [(*values, path) for path, *values in rows])]


V = TypeVar("V", bound=FileValue)


class Catalogue(ABC, Generic[V]):
    """Some tables of the catalogue, of which each row is of a file."""

    def __init__(self, *tables: CacheTable, file: CacheFile | None = None) -> None:
        """Open tables; with `file`, they are open there already."""
        self.cache: CacheFile = file or CacheFile(*tables, FORGOTTEN)
        self._is_own = file is None
        self._forgotten = _times(self.cache)

    @abstractmethod
    def statements(self, values: Sequence[V]) -> list[Statement]:
        """Return the statements that store values."""

    def save(self, values: Iterable[V], gone: Iterable[str] = (), *more: Statement) -> None:
        """Store values, and forget files that are gone in all tables, in one transaction with other statements."""
        values, rest = list(values), [*self._deletions(gone), *more]
        while not self._store(values, rest) and (times := _times(self.cache)) != self._forgotten:
            self._forgotten = times
            values = [one for one in values if one.has_file()]

    def _store(self, values: list[V], rest: list[Statement]) -> bool:
        return self.cache.write(*self.statements(values), *rest, unless=self.since_forgotten())

    def _deletions(self, paths: Iterable[str]) -> list[Statement]:
        rows = [(stored_path(path),) for path in paths]
        names = self._tables() if rows else {}
        deletions = [f"DELETE FROM {name} WHERE path = ?" for name, is_of_paths in names.items() if is_of_paths]
        return [Statement(sql, rows) for sql in ([FORGET_LINKED] if LINKS in names else []) + deletions]

    def forget(self, is_meant: Callable[[str], bool], *more: Statement) -> bool:
        """Forget files that were deleted, in all tables; False if another process prevents it for long.

        What others have derived of them so far is not stored any more.
        """
        self.cache.write(Statement(_FORGET_AGAIN))
        self.cache.write(*self._deletions(filter(is_meant, self.known_paths())), *more)
        return not self.cache.was_busy

    def since_forgotten(self) -> str:
        """Return the query that finds a row if files were forgotten since the last time that values were stored."""
        return f"SELECT 1 FROM {FORGOTTEN.name} WHERE times != {self._forgotten}"

    def known_paths(self) -> set[str]:
        """Return the paths of all files in all tables."""
        names = [name for name, is_of_paths in self._tables().items() if is_of_paths]
        return {
            known_path(path)
            for name in names
            for (path,) in self.cache.read(f"SELECT path FROM {name} WHERE typeof(path) IN ('text', 'blob')")
        }

    def _tables(self) -> dict[str, bool]:
        """Return the names of all tables of the catalogue, with whether they have paths."""
        found = self.cache.read("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return {name: name == FILE.name or sql == CacheTable(name, COLUMNS, 0).sql for name, sql in found}

    def close(self) -> None:
        """Close the catalogue."""
        if self._is_own:
            self.cache.close()


def values_table(name: str, *, format: int, readable: Collection[int] = ()) -> CacheTable:
    """Return a table of values.

    Those of earlier formats that are `readable` stay, for files that are gone; all others are derived again.
    """
    renewals = dict.fromkeys(readable, f"UPDATE {name} SET inode = -1, modified = -1, proof = x''")
    return CacheTable(name, COLUMNS, format, renewals)


class DerivedValues(Catalogue[DerivedValue]):
    """The values derived from files for one purpose."""

    def __init__(self, table: CacheTable, file: CacheFile | None = None) -> None:
        """Open a table of `values_table`; with `file`, it is open there already."""
        self._name = table.name
        super().__init__(table, file=file)

    def files(self) -> dict[str, DerivedValue]:
        """Return all files by path, without their values."""
        columns = "path, device, inode, size, modified, offset, proof"
        rows = self.cache.read(f"SELECT {columns} FROM {self._name} WHERE {IS_TYPED}")
        return {path: DerivedValue(path, FileState(*state), offset, proof) for path, *state, offset, proof in rows}

    def derived(self, paths: Collection[str] | None = None) -> dict[str, DerivedValue]:
        """Return some files by path, by default all, with their values."""
        query = f"SELECT * FROM {self._name} WHERE {IS_TYPED}"
        if paths is None or len(paths) > FEW_PATHS:
            rows = self.cache.read(query)
        else:
            rows = [row for path in paths for row in self.cache.read(f"{query} AND path = ?", path)]
        return {
            path: DerivedValue(path, FileState(*state), offset, proof, value)
            for path, *state, offset, proof, value in rows
        }

    def values(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the values of some files by path, whatever the state of the files is now."""
        query = f"SELECT path, value FROM {self._name} WHERE {IS_TYPED}"
        if len(paths) <= FEW_PATHS:
            return dict(row for path in paths for row in self.cache.read(f"{query} AND path = ?", path))
        asked = set(paths)
        return {path: value for path, value in self.cache.read(query) if path in asked}

    def statements(self, values: Sequence[DerivedValue]) -> list[Statement]:
        """Return the statement that stores values."""
        rows = [(one.path, *one.state, one.offset, one.proof, one.value) for one in values]
        return [Statement(f"REPLACE INTO {self._name} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)]


def times_forgotten() -> int:
    """Return how often files were forgotten because they were deleted."""
    with closing(CacheFile(FORGOTTEN)) as cache:
        return _times(cache)


def _times(cache: CacheFile) -> int:
    rows = cache.read(f"SELECT times FROM {FORGOTTEN.name} WHERE typeof(times) = 'integer'")
    return rows[0][0] if rows else 0


def stored_path(path: str) -> str | bytes:
    """Return a path as tables have it: as bytes if it is not Unicode."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def known_path(stored: str | bytes) -> str:
    """Return the path that a table has."""
    return os.fsdecode(stored)
