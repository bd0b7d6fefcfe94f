"""The tables that are written for others: which columns of the facts each has. All that makes or reads rows asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reread.disk.fact_table import TEXT, Column
from reread.facts.schema import (
    CACHE_BREAK,
    CALL,
    CHANGED_FILE,
    EDIT,
    GIT_COMMIT,
    MESSAGE,
    ORIGIN,
    PROMPT,
    PULL_REQUEST,
    RECORD,
    RESPONSE,
    SESSION,
    TURN,
    FactTable,
)

VERSION = 4
"""Changes when a column is new or changes its name, type or meaning, and when rows would be made differently."""
RENAMED = 4
"""The first version in which columns are called as in the store of facts."""

Row = tuple[Any, ...]
"""The values of a row, in the order of the columns of its table."""


class TableSchema(NamedTuple):
    """One table."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    """Those with text come last."""
    facts: FactTable
    """The facts whose columns they are."""

    def selected(self, *, text: bool) -> tuple[Column, ...]:
        """Return the columns, without those that hold text unless asked for."""
        return self.columns if text else tuple(column for column in self.columns if not column.text)

    def names(self, *, text: bool) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.selected(text=text)]

    def names_in(self, version: int) -> dict[str, str]:
        """Return what the columns are called in files of some version, if they can be there."""
        if version >= RENAMED:
            return {column.name: column.name for column in self.columns}
        taken = {column.earlier for column in self.columns}
        return {
            column.name: column.earlier or column.name
            for column in self.columns
            if column.earlier or column.name not in taken
        }


def written_version(metadata: Mapping[bytes, bytes] | None) -> int:
    """Return the version of the tables that the metadata of a file say, or else this one."""
    said = (metadata or {}).get(b"reread.tables_version", b"")
    return int(said) if said.isdigit() and len(said) < 5 else VERSION


PARTITIONS = (
    Column("machine", TEXT, "The machine that the row comes from: `REREAD_MACHINE`, or a name made once."),
    Column("month", TEXT, "The month in which the file begins, such as `2026-11`; null if no record has a time."),
)
"""The first columns of every table. In Parquet they are the names of folders, and not in the files."""
_PATH = Column("path", TEXT, "The transcript, as a path on that machine.", team="path")
_OF_SESSION = tuple(column for column in ORIGIN.columns if column.name == "session")
_WHERE = tuple(column for column in ORIGIN.columns if column.exported)


def _table(name: str, table: FactTable, *where: Column, path: Column = _PATH) -> TableSchema:
    exported = (column for column in table.columns if column.exported)
    return TableSchema(name, table.doc, (*PARTITIONS, path, *where, *exported), table)


SESSIONS = _table("sessions", SESSION)
RECORDS = _table("records", RECORD)
MESSAGES = _table("messages", MESSAGE, *_WHERE)
CALLS = _table("calls", CALL, *_WHERE)
_ORIGINAL = _PATH._replace(doc="The transcript that the response belongs to: of several copies, the original.")
USAGE = _table("usage", RESPONSE, *_WHERE, path=_ORIGINAL)
EDITS = _table("edits", EDIT, *_OF_SESSION)
FILES = _table("files", CHANGED_FILE, *_OF_SESSION)

_ALL = (
    *(SESSIONS, RECORDS, MESSAGES, CALLS, USAGE),
    _table("turns", TURN, *_WHERE),
    _table("prompts", PROMPT, *_WHERE),
    _table("cache_breaks", CACHE_BREAK, *_WHERE),
    _table("commits", GIT_COMMIT, *_OF_SESSION),
    _table("pull_requests", PULL_REQUEST, *_OF_SESSION),
    *(EDITS, FILES),
)
TABLES = {table.name: table for table in _ALL}
"""All tables by name."""
PER_FILE = tuple(name for name in TABLES if name != USAGE.name)
"""The tables whose rows come from one file and what belongs to it; `usage` takes all files together."""
