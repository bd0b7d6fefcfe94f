"""The store of facts: SQLite tables in the cache, or in memory where the cache cannot be used.

Whoever asks a store gets a right answer or `sqlite3.Error`; `answered` then asks one in memory, which is slower. So no
damaged file, full disk or process that keeps the cache locked makes a figure wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

from reread.accounting.digest import DIGESTS
from reread.disk.cache import LARGEST_INTEGER, LARGEST_VALUE, CacheFile, FileState
from reread.disk.derived_cache import FORGOTTEN, stored_path
from reread.facts.schema import (
    FILE,
    ORIGIN,
    PER_SESSION,
    SESSION,
    SETTLED,
    TABLES,
    FactTable,
)

T = TypeVar("T")
Row = tuple[Any, ...]
IN_CACHE = (*(table.in_cache for table in TABLES), DIGESTS, FORGOTTEN)
"""The tables of the store, and those that it is filled by."""


class FactStore:
    """The tables of facts, open to be filled and asked."""

    def __init__(self, *, cache: bool = True) -> None:
        """Open the tables in the cache; those in memory if that cannot be used, or is not to be."""
        self.file: CacheFile | None = CacheFile(*IN_CACHE) if cache else None
        """The cache with the tables."""
        database = self.file.database if self.file is not None else None
        self.is_lasting: bool = database is not None
        """True if the tables are in the cache."""
        self._database = database or _in_memory()
        self._database.execute("PRAGMA temp_store = MEMORY")
        self._forgotten = self._times_forgotten()

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Return the rows that a query selects."""
        return self._database.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""
        self._database.execute(sql, values)

    def define(self, name: str, function: Callable[..., Any], *, arguments: int = 1) -> None:
        """Let queries use a function, which returns the same for the same values: it is asked once for each.

        One that takes any number of them, if `arguments` is -1, is asked each time.
        """
        known: dict[Any, Any] = {}

        def remembered(*values: Any) -> Any:
            if values not in known:
                known[values] = function(*values)
            return known[values]

        called = function if arguments < 0 else remembered
        self._database.create_function(name, arguments, called, deterministic=True)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Write during the block, all or nothing."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")

    def add(self, table: FactTable, rows: Iterable[Row]) -> None:
        """Add rows to a table."""
        rows, before = list(rows), self._database.total_changes
        try:
            self._database.executemany(table.insert, rows)
        except (UnicodeEncodeError, OverflowError):  # half a character, or what has more than 64 bits
            added = self._database.total_changes - before
            self._database.executemany(table.insert, [tuple(map(_storable, row)) for row in rows[added:]])

    def add_one(self, table: FactTable, *values: Any) -> int:
        """Add a row that gets the next id, and return that."""
        clean = (None, *map(_storable, values))
        found = self._database.execute(table.insert, clean).lastrowid
        assert found is not None
        return found

    def file_id(self, path: str) -> int:
        """Return the id of a file; one that is not known gets one."""
        stored = stored_path(path)
        found = self.rows(f"SELECT id FROM {FILE.name} WHERE path = ?", (stored,))
        return found[0][0] if found else self.add_one(FILE, stored)

    def may_store(self, path: str, state: FileState) -> bool:
        """True if facts of a file in this state may be stored: nobody deleted it since the store was opened."""
        if self._times_forgotten() == self._forgotten:
            return True
        with suppress(OSError):
            return state.is_same_file(FileState.at(path))
        return False

    def forget_session(self, file: int) -> None:
        """Delete what was derived of a session."""
        self.run(f"DELETE FROM {ORIGIN.name} WHERE scope IS NULL AND file = ?", (file,))
        for table in (*PER_SESSION, SESSION):
            self.run(f"DELETE FROM {table.name} WHERE file = ?", (file,))

    def forget_responses(self, scope: int, file: int) -> None:
        """Delete the responses of a file in a scope."""
        for table in (ORIGIN, SETTLED):
            self.run(f"DELETE FROM {table.name} WHERE scope = ? AND file = ?", (scope, file))

    def _times_forgotten(self) -> int:
        found = self.rows(f"SELECT times FROM {FORGOTTEN.name}") if self.is_lasting else []
        return found[0][0] if found else 0

    def recover(self, error: sqlite3.Error) -> None:
        """Rebuild the cache if it is damaged."""
        if self.file is not None:
            self.file.recover(error)

    def close(self) -> None:
        """Close the tables; those in memory are gone."""
        self._database.close()
        if self.file is not None:
            self.file.close()


class SharedStore:
    """A store for several questions, which the first opens."""

    def __init__(self) -> None:
        self._store: FactStore | None = None

    def answer(self, ask: Callable[[FactStore], T]) -> T:
        """Return what the store says; if the cache fails, all is derived again in memory."""
        store = self._store = self._store or FactStore()
        try:
            return ask(store)
        except sqlite3.Error as error:
            store.recover(error)
            self.close()
        with closing(FactStore(cache=False)) as store:
            return ask(store)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()
            self._store = None


def answered(ask: Callable[[FactStore], T], *, cache: bool = True) -> T:
    """Return what the store says, or what is derived in memory if the cache fails or is not to be used."""
    with closing(SharedStore() if cache else FactStore(cache=False)) as one:
        return one.answer(ask) if isinstance(one, SharedStore) else ask(one)


def _storable(value: Any) -> Any:
    if isinstance(value, int):
        return max(-LARGEST_INTEGER, min(value, LARGEST_INTEGER))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _in_memory() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
    database.execute("PRAGMA foreign_keys = ON")
    for table in (table.in_cache._replace(strict=False) for table in TABLES):  # it answers, whatever was derived
        for sql in (table.sql, *table.indexes):
            database.execute(sql)
    return database
