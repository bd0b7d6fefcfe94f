"""One SQLite file for everything that can be computed again, with a table for each purpose.

The cache never raises. A file that is broken, foreign, too large or of another layout is rebuilt; one that cannot be
opened, or that another process keeps locked, is done without, and so is a folder of another user. Several processes may
use it at the same time.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from reread.disk.states import single_state_test
from reread.disk.transcript_file import stat_transcript
from reread.storage.safe_open import NotRegular, make_own_folder, open_own
from reread.storage.user_paths import cache_folder

NAME = "cache.sqlite"
APPLICATION_ID = 0x72657264
"""Marks a SQLite file as ours."""
LAYOUT = 1
"""Format of the file as a whole; each table has a format of its own."""
LARGEST = 1 << 30
"""Bytes that the file may have: one with more is rebuilt."""
LARGEST_VALUE = 1 << 27
"""Bytes that a value may have."""
LARGEST_INTEGER = (1 << 63) - 1
STRICT_VERSION = (3, 37)
"""The first SQLite with strict tables; with an older one, values of any type may be in any column."""
BUSY_SECONDS = 5.0
"""How long to wait for another process before giving up."""

Row = tuple[Any, ...]
P = TypeVar("P", str, Path, str | Path)
_INDEX = re.compile(r"CREATE INDEX \w+ ON \w+ \(\w+\)")


class FileState(NamedTuple):
    """Identity, size and modification time of a file: it changes when the file does."""

    device: int
    inode: int
    size: int
    modified: int
    """Nanoseconds since 1970."""

    @classmethod
    def of(cls, stat: os.stat_result) -> FileState:
        """Return the state in a stat result; of a number beyond 64 bits, as some inodes are, the end counts."""
        found = cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        return found if max(found) <= LARGEST_INTEGER else cls(*(number & LARGEST_INTEGER for number in found))

    @classmethod
    def at(cls, path: str | Path) -> FileState:
        """Return the state of the file at a path now; raise OSError if there is none."""
        return cls.of(stat_transcript(path))

    def is_same_file(self, other: FileState) -> bool:
        """True if both are states of the same file, whatever its content."""
        return (self.device, self.inode) == (other.device, other.inode)


def states_at(paths: Iterable[P]) -> Iterator[tuple[P, FileState | OSError]]:
    """Yield the states of many files as they are now, or why one cannot be told; each folder is looked at once."""
    tests: dict[str, Callable[[str], bool]] = {}
    around: dict[str, list[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        test = tests.get(folder) or tests.setdefault(folder, single_state_test(folder, around))
        try:
            found = FileState.of(os.stat(path)) if test(name) else FileState.at(path)  # noqa: PTH116
        except OSError:
            found = _state_at(path)
        yield path, found


def _state_at(path: str | Path) -> FileState | OSError:
    try:
        return FileState.at(path)  # the file is not there: it may be kept
    except OSError as error:
        return error


def is_stale(known: object | None, state: object) -> bool:
    """True if what was derived of a file in some state, None if nothing was, does not hold for the state it is in."""
    return known is None or known != state


class CacheTable(NamedTuple):
    """A table of the cache."""

    name: str
    columns: str
    """Column definitions in SQL."""
    format: int
    """Change it when rows written before can no longer be read: the table is then emptied."""
    renewals: Mapping[int, str] = MappingProxyType({})
    """For earlier formats, a statement in SQL that makes their rows readable; then the table is not emptied."""
    indexed: tuple[str, ...] = ()
    """Columns with an index of their own."""
    group: str = ""
    """If one table of a group has to be emptied, all of them are: their rows refer to each other."""
    strict: bool = False
    """True if no column takes values of another type than its own, whoever writes them."""

    @property
    def indexes(self) -> list[str]:
        """The statements that create its indexes."""
        return [f"CREATE INDEX {self.name}_by_{column} ON {self.name} ({column})" for column in self.indexed]

    @property
    def sql(self) -> str:
        """The statement that creates it."""
        strict = " STRICT" if self.strict and sqlite3.sqlite_version_info >= STRICT_VERSION else ""
        return f"CREATE TABLE {self.name} ({self.columns}){strict}"


class Statement(NamedTuple):
    """A SQL statement to run once for each row of values."""

    sql: str
    rows: Sequence[Row] = ((),)


FORMATS = CacheTable("formats", "name TEXT PRIMARY KEY, format INTEGER", LAYOUT)
"""The table with the formats of the others."""

GONE = (
    *("file_paths", "file_traces", "headers", "named_passwords"),
    *("session_counts", "session_facts", "session_trails", "usage_results"),
)
"""Tables of earlier versions: what nobody reads any more does not stay."""


class CacheFile:
    """The cache, open for the tables of one purpose."""

    def __init__(self, *tables: CacheTable) -> None:
        self.path: Path = cache_folder() / NAME
        self._tables = tables
        self.was_busy: bool = False
        """True if another process has kept it locked for too long, so that something was not read or written."""
        self._database = self._open()

    @property
    def database(self) -> sqlite3.Connection | None:
        """The open file; None if it cannot be used."""
        return self._database

    def read(self, query: str, *values: object) -> list[Row]:
        """Return the rows that a query selects; none if the cache cannot be used."""
        if self._database is None:
            return []
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self.recover(error)
        except (OverflowError, UnicodeError):  # a value that SQLite cannot hold is in no row
            pass
        return []

    def write(self, *statements: Statement, unless: str = "") -> bool:
        """Run statements in one transaction, and return True.

        Do nothing if another process is writing for long, or if the query `unless` finds a row.
        """
        try:
            return self._transact(statements, unless)
        except (OverflowError, UnicodeError):
            return self._transact(
                [Statement(sql, list(filter(_is_storable, rows))) for sql, rows in statements], unless
            )

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _transact(self, statements: Iterable[Statement], unless: str) -> bool:
        database = self._database
        if database is None:
            return False
        try:
            database.execute("BEGIN IMMEDIATE")
            if unless and database.execute(unless).fetchone() is not None:
                return False
            for sql, rows in statements:
                database.executemany(sql, rows)
            database.execute("COMMIT")
        except sqlite3.Error as error:
            self.recover(error)
            return False
        finally:
            if self._database is database and database.in_transaction:
                with suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
        return True

    def recover(self, error: sqlite3.Error) -> None:
        """Rebuild the file unless the error says only that another process has locked it."""
        if self._is_busy(error):
            return
        self.close()
        self._database = self._rebuild()

    def _is_busy(self, error: sqlite3.Error) -> bool:
        """True if another process has locked the database."""
        is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        self.was_busy |= is_busy
        return is_busy

    def _open(self) -> sqlite3.Connection | None:
        try:
            make_own_folder(self.path.parent)
            return self._connect() or self._rebuild()
        except NotRegular:
            return self._rebuild()
        except OSError:
            return None
        except sqlite3.Error as error:
            return None if self._is_busy(error) else self._rebuild()

    def _rebuild(self) -> sqlite3.Connection | None:
        """Replace whatever is there by an empty cache."""
        try:
            for suffix in ("", "-journal", "-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            return self._connect()
        except (OSError, sqlite3.Error):
            return None

    def _connect(self) -> sqlite3.Connection | None:
        """Open the file and prepare the tables; None if the file is not a cache of this layout."""
        descriptor = open_own(self.path, os.O_RDWR | os.O_CREAT)
        size = os.fstat(descriptor).st_size
        os.close(descriptor)
        if size > LARGEST:
            return None
        database = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        try:
            (page,) = database.execute("PRAGMA page_size").fetchone()
            database.execute(f"PRAGMA max_page_count = {LARGEST // page}")
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            database.execute("PRAGMA synchronous = OFF")  # a cache that a crash breaks is rebuilt
            database.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            if _is_ours(database):
                self._create_tables(database)
                database.execute("PRAGMA foreign_keys = ON")
                return database
        except sqlite3.Error:
            database.close()
            raise
        database.close()
        return None

    def _create_tables(self, database: sqlite3.Connection) -> None:
        """Create the tables that are missing or of another format."""
        if not self._outdated(database):
            return
        database.execute("BEGIN IMMEDIATE")
        for name in GONE:
            database.execute(f"DROP TABLE IF EXISTS {name}")
            database.execute("DELETE FROM formats WHERE name = ?", (name,))
        for table, renewal in self._outdated(database):  # another process may have created them meanwhile
            if renewal is None:
                database.execute(f"DROP TABLE IF EXISTS {table.name}")
                for sql in (table.sql, *table.indexes):
                    database.execute(sql)
            else:
                database.execute(renewal)
            database.execute("REPLACE INTO formats VALUES (?, ?)", (table.name, table.format))
        database.execute("COMMIT")

    def _outdated(self, database: sqlite3.Connection) -> list[tuple[CacheTable, str | None]]:
        """Return the tables that are missing or of another format, with what renews their rows."""
        formats = dict(database.execute("SELECT name, format FROM formats"))
        found = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        outdated = {
            table.name: table.renewals.get(formats.get(table.name, 0)) if found.get(table.name) == table.sql else None
            for table in self._tables
            if formats.get(table.name) != table.format or found.get(table.name) != table.sql
        }
        known = formats.keys() | found.keys()
        groups = {table.group for table in self._tables if table.name in outdated and table.name in known} - {""}
        outdated |= {table.name: None for table in self._tables if table.group in groups}
        return [(table, outdated[table.name]) for table in self._tables if table.name in outdated]


def _is_ours(database: sqlite3.Connection) -> bool:
    """True if the file is a cache of this layout, or was empty and has been made one."""
    if _marks(database) == (0, 0):
        database.execute("BEGIN IMMEDIATE")
        if _marks(database) == (0, 0) and not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            database.execute(FORMATS.sql)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {LAYOUT}")
        database.execute("COMMIT")
    return _marks(database) == (APPLICATION_ID, LAYOUT) and _has_only_tables(database)


def _has_only_tables(database: sqlite3.Connection) -> bool:
    """False if the file has views, triggers or virtual tables, which could do anything when a table is read."""
    found = database.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    plain = all(
        (kind == "index" and (sql is None or _INDEX.fullmatch(sql)))
        or (kind == "table" and str(sql).startswith(f"CREATE TABLE {name} ("))
        for kind, name, sql in found
    )
    return plain and ("table", FORMATS.name, FORMATS.sql) in found


def _marks(database: sqlite3.Connection) -> tuple[int, int]:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (layout,) = database.execute("PRAGMA user_version").fetchone()
    return application, layout


def _is_storable(row: Row) -> bool:
    """False if a value is an integer beyond 64 bits, or text that is not Unicode, as some file names are."""
    try:
        for value in row:
            if isinstance(value, int):
                value.to_bytes(8, signed=True)
            elif isinstance(value, str):
                value.encode()
    except (OverflowError, UnicodeError):
        return False
    return True
