"""What tables are made of, and the table of the files that facts are of."""

from __future__ import annotations

from typing import NamedTuple

from reread.disk.cache import CacheTable, FileState

FORMAT = 15
"""Change it when facts would be derived differently now: all of them are then derived again."""
TEXT, INTEGER, REAL, BOOLEAN, TIME, BLOB, ANY = "string", "integer", "float", "boolean", "time", "blob", "any"
"""Types of columns. An integer has 64 bits; a time is in UTC, and in rows it is milliseconds since 1970."""
_SQL_TYPES = {TEXT: "TEXT", REAL: "REAL", BLOB: "BLOB", ANY: "ANY"}
KNOWN = frozenset(
    "cached_tokens cause compactions context_growth device evidence extent hash hour_tokens inode is_retry kind"
    " input_tokens output_tokens cache_write_5m_tokens cache_write_1h_tokens cache_read_tokens web_searches"
    " lines_added lines_removed mode model_seconds modified name path prompt read_tokens responses sha size state"
    " title tokens tool tool_seconds unconfirmed_responses unmeasured_compactions used waiting_seconds".split()
)
"""Columns that are never NULL, besides what refers to another table."""


class Column(NamedTuple):
    """One column of a table, of facts or of those that are written for others."""

    name: str
    type: str
    doc: str = ""
    constraint: str = ""
    team: str = "leave out"
    """The rule by which tables for a team have it: see `dataset.figures`."""
    text: bool = False
    """True if it holds what was said, and is left out of tables unless asked for."""
    stored: bool = True
    """False if only tables have it, which are written for others."""
    exported: bool = True
    """False if only the store has it."""
    earlier: str = ""
    """Its name in tables before version 4, if it was another one."""

    @property
    def sql(self) -> str:
        """Its definition in SQL."""
        known = " NOT NULL" if self.name in KNOWN else ""
        return f"{self.name} {_SQL_TYPES.get(self.type, 'INTEGER')}{known} {self.constraint}".rstrip()


class FactTable(NamedTuple):
    """One table."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    """Those with text come last."""
    indexed: tuple[str, ...] = ()
    """Columns with an index of their own."""

    @property
    def stored(self) -> list[Column]:
        """The columns that the store has."""
        return [column for column in self.columns if column.stored]

    @property
    def names(self) -> list[str]:
        """The names of the columns that the store has."""
        return [column.name for column in self.stored]

    @property
    def in_cache(self) -> CacheTable:
        """The table as the cache creates it."""
        columns = ", ".join(column.sql for column in self.stored)
        return CacheTable(self.name, columns, FORMAT, indexed=self.indexed, group="facts", strict=True)

    def called(self, name: str) -> FactTable:
        """Return the same table under another name, without indexes."""
        return self._replace(name=name, indexed=())

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        return f"INSERT INTO {self.name} VALUES ({', '.join('?' * len(self.names))})"


ID = Column("id", INTEGER, constraint="PRIMARY KEY", exported=False)
OF_FILE = "NOT NULL REFERENCES file (id) ON DELETE CASCADE"
_PATH = Column(
    "path", ANY, "Its absolute path; bytes if it is not Unicode.", "UNIQUE CHECK (typeof(path) IN ('text', 'blob'))"
)
FILE = FactTable("file", "A transcript.", (ID, _PATH))
STATE = tuple(Column(name, INTEGER) for name in FileState._fields)
"""The state of a file when facts were derived of it."""
