"""A query: a table, its columns, and filters that tasks apply before rows go to Spark."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reread.base.optional_dependencies import require
from reread.catalog.headers import read_header
from reread.dataset.arrow import RecordBatch, batches, pyarrow
from reread.dataset.schema import TABLES, Row, TableSchema
from reread.disk.cache import FileState
from reread.disk.fact_table import BOOLEAN, INTEGER, REAL, TEXT, TIME
from reread.errors import Misuse

datasource: Any = importlib.import_module("pyspark.sql.datasource")
types: Any = importlib.import_module("pyspark.sql.types")
compute: Any = require("pyarrow.compute")

LATEST = timedelta(days=1)
"""A record's time is at most so much later than that of the last record of its file."""

_TYPES = {
    TEXT: types.StringType,
    INTEGER: types.LongType,
    REAL: types.DoubleType,
    BOOLEAN: types.BooleanType,
    TIME: types.TimestampType,
}
_COMPARED = {
    datasource.EqualTo: "equal",
    datasource.GreaterThan: "greater",
    datasource.GreaterThanOrEqual: "greater_equal",
    datasource.LessThan: "less",
    datasource.LessThanOrEqual: "less_equal",
}
"""Filters that a task applies before it hands rows over, and the function that does."""
_FROM = (datasource.EqualTo, datasource.GreaterThan, datasource.GreaterThanOrEqual)
"""Filters after which no earlier time is wanted."""


class TableQuery:
    """One table, the columns that are wanted of it, and the filters that were pushed down."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self.table: TableSchema = chosen_table(options)
        self.names: list[str] = list(names)
        columns = {column.name: column for column in self.table.columns}
        self.text: bool = is_set(options, "text") or any(columns[name].text for name in names if name in columns)
        """True if rows have the values of the columns with text."""
        self._filters: list[tuple[str, str, Any]] = []
        self._since: datetime | None = None

    @property
    def used(self) -> list[str]:
        """The names of the columns that are wanted or filtered."""
        return list(dict.fromkeys([*self.names, *(name for name, _, _ in self._filters)]))

    def push(self, filters: Iterable[Any]) -> None:
        """Note the filters that tasks can apply."""
        columns = {column.name: column.type for column in self.table.selected(text=self.text)}
        for one in filters:
            name = one.attribute[0] if len(getattr(one, "attribute", ())) == 1 else None
            if type(one) not in _COMPARED or name not in columns or one.value is None:
                continue
            value = one.value
            if columns[name] == TIME:
                if not isinstance(value, datetime) or value.tzinfo is None:
                    continue
                if isinstance(one, _FROM):
                    self._since = max(value, self._since or value)
            self._filters.append((name, _COMPARED[type(one)], value))

    def may_match(self, path: str, state: FileState) -> bool:
        """True unless all times in a file are too early.

        A file that was modified since then may match. One that was not may have lost its time when it was copied: its
        header tells.
        """
        if self._since is None or datetime.fromtimestamp(state.modified / 1e9, UTC) + LATEST >= self._since:
            return True
        updated = read_header(path).updated
        return updated is None or updated + LATEST >= self._since

    def batches(self, rows: Iterable[Row]) -> Iterator[RecordBatch]:
        """Yield the rows that the filters keep, with the columns that are wanted."""
        for batch in batches(self.table, rows, text=self.text, names=self.used):
            for name, function, value in self._filters:
                column = batch.column(name)
                batch = batch.filter(compute.call_function(function, [column, pyarrow.scalar(value, column.type)]))
            if batch.num_rows:
                yield batch.select(self.names)


def spark_schema(options: Mapping[str, str]) -> Any:
    """Return the columns that options choose, as Spark knows them."""
    table = chosen_table(options)
    wanted = [name.strip() for name in options.get("columns", "").split(",") if name.strip()]
    columns = {column.name: column for column in table.selected(text=is_set(options, "text"))}
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise Misuse(f"No column {unknown[0]!r} in {table.name}; use some of {', '.join(columns)}.")
    chosen = [columns[name] for name in wanted] or list(columns.values())
    return types.StructType([types.StructField(column.name, _TYPES[column.type]()) for column in chosen])


def chosen_table(options: Mapping[str, str]) -> TableSchema:
    """Return the table that options choose."""
    name = options.get("table", "")
    if name not in TABLES:
        raise Misuse(f"No table {name!r}; set the option table to one of {', '.join(TABLES)}.")
    return TABLES[name]


def is_set(options: Mapping[str, str], name: str) -> bool:
    """True if an option is set to a word for yes."""
    return options.get(name, "false").lower() in ("true", "1", "yes")


def byte_count(options: Mapping[str, str], name: str, default: int) -> int:
    """Return an option that is a number of bytes, at least 1."""
    given = options.get(name.lower(), "").strip()
    if not given:
        return default
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise Misuse(f"Invalid {name} {given!r}; use a number of bytes, such as {default}.")
    return int(given)
