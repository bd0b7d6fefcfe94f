"""One SQL query over all sessions.

DuckDB is imported when a query is asked: this module has public names, which must be there without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reread.base.optional_dependencies import require
from reread.dataset.report import Progress
from reread.dataset.table_files import table_files
from reread.errors import Misuse


class QueryRows(Sequence[dict[str, Any]]):
    """The rows that a query gives, each a dictionary by the names of the columns."""

    def __init__(self, table: Any) -> None:
        self.arrow: Any = table
        """The rows as a `pyarrow.Table`."""
        self.names: list[str] = table.schema.names
        """The names of the columns."""

    def __len__(self) -> int:
        return self.arrow.num_rows

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._rows(self.arrow.slice(index % len(self), 1))[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.arrow.to_batches():
            yield from self._rows(batch)

    def _rows(self, rows: Any) -> list[dict[str, Any]]:
        from reread.dataset.arrow import python_values  # loaded late: it needs pyarrow

        columns = map(python_values, rows.columns)
        return [dict(zip(self.names, values, strict=True)) for values in zip(*columns, strict=True)]


def sql(
    query: str,
    *,
    tables: str | Path | None = None,
    text: bool = False,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
) -> QueryRows:
    """Ask all sessions of this machine, or those below `root`, with SQL, and return the rows.

    `reread tables` lists the tables and their columns. They are brought up to date first, and only read. `text` adds
    the columns with what was said. With `tables`, ask the Parquet files in that folder or bucket. Needs
    `reread[tables]`.
    """
    require("pyarrow")
    require("duckdb")
    from reread.dataset.sql import open_database

    if tables is not None and root is not None:
        raise Misuse("Cannot ask the tables of a folder and of a root together; use one of them.")
    place = table_files(tables) if tables is not None else None
    roots = [root] if isinstance(root, str | Path) else root
    with open_database(place, roots, text=text or None, progress=progress) as database:
        return QueryRows(database.read_all(query))
