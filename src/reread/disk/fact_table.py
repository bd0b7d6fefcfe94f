"""What the tables of facts are made of, and the table of the files that facts are of."""

from __future__ import annotations

from typing import NamedTuple

from reread.disk.cache import CacheTable, FileState

FORMAT = 4
"""Change it when facts would be derived differently now: all of them are then derived again."""
INTEGER, REAL, TEXT, BLOB = "INTEGER", "REAL", "TEXT", "BLOB"


class FactColumn(NamedTuple):
    """One column of a table."""

    name: str
    type: str
    doc: str = ""
    constraint: str = ""

    @property
    def sql(self) -> str:
        """Its definition in SQL."""
        return f"{self.name} {self.type} {self.constraint}".rstrip()


class FactTable(NamedTuple):
    """One table."""

    name: str
    doc: str
    columns: tuple[FactColumn, ...]
    indexed: tuple[str, ...] = ()
    """Columns with an index of their own."""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]

    @property
    def in_cache(self) -> CacheTable:
        """The table as the cache creates it."""
        columns = ", ".join(column.sql for column in self.columns)
        return CacheTable(self.name, columns, FORMAT, indexed=self.indexed, group="facts")

    def called(self, name: str) -> FactTable:
        """Return the same table under another name, without indexes."""
        return self._replace(name=name, indexed=())

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        return f"INSERT INTO {self.name} VALUES ({', '.join('?' * len(self.columns))})"


ID = FactColumn("id", INTEGER, constraint="PRIMARY KEY")
OF_FILE = "REFERENCES file (id) ON DELETE CASCADE"
FILE = FactTable("file", "A transcript.", (ID, FactColumn("path", TEXT, "Its absolute path.", "UNIQUE")))
STATE = tuple(FactColumn(name, INTEGER) for name in FileState._fields)
"""The state of a file when facts were derived of it."""
