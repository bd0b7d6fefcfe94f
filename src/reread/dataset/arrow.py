"""Rows as Arrow: schemas, and batches of bounded size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from reread.base.jsontext import replace_surrogates
from reread.base.optional_dependencies import require
from reread.dataset.schema import VERSION, Row, TableSchema
from reread.disk.fact_table import BOOLEAN, INTEGER, REAL, TEXT, TIME, Column
from reread.errors import Misuse

pyarrow: Any = require("pyarrow")
Array = RecordBatch = RecordBatchReader = Schema = Any
"""The types of pyarrow, which has no type stubs."""

BATCH_ROWS = 1 << 14
BATCH_BYTES = 16 << 20
"""A batch ends with the row that reaches either of these; the bytes are those of its longer texts."""
LONG_TEXT = 256
LARGEST = (1 << 63) - 1
EARLIEST_MS = -62_135_596_800_000
"""The beginning of the year 1: a time zone can make a time that lies before it, which nobody can show."""

_TYPES = {
    TEXT: pyarrow.string(),
    INTEGER: pyarrow.int64(),
    REAL: pyarrow.float64(),
    BOOLEAN: pyarrow.bool_(),
    TIME: pyarrow.timestamp("us", "UTC"),
}


def arrow_schema(table: TableSchema, *, text: bool = False) -> Schema:
    """Return the Arrow schema of a table; its metadata has the version."""
    fields = [
        pyarrow.field(column.name, _TYPES[column.type], metadata={"comment": column.doc})
        for column in table.selected(text=text)
    ]
    return pyarrow.schema(fields, metadata={"reread.table": table.name, "reread.tables_version": str(VERSION)})


def batches(
    table: TableSchema, rows: Iterable[Row], *, text: bool = False, names: Collection[str] | None = None
) -> Iterator[RecordBatch]:
    """Yield rows of a table as batches with all columns or some, reading no more rows than the next batch takes."""
    pending = RowBuffer(table, text=text, names=names)
    for row in rows:
        pending.add(row)
        if pending.is_full:
            yield pending.take()
    if pending.rows:
        yield pending.take()


class RowBuffer:
    """Rows of one table that wait to become a batch."""

    def __init__(
        self, table: TableSchema, *, text: bool = False, skip: int = 0, names: Collection[str] | None = None
    ) -> None:
        """Buffer rows, of which the first `skip` values are left out, and all columns that are not among `names`."""
        every = arrow_schema(table, text=text)
        self.rows: list[Row] = []
        self._columns = [
            (place, column)
            for place, column in enumerate(table.selected(text=text))
            if place >= skip and (names is None or column.name in names)
        ]
        self.schema: Schema = pyarrow.schema([every.field(place) for place, _ in self._columns], every.metadata)
        self._bytes = 0

    def add(self, row: Row) -> None:
        """Add one row."""
        self.rows.append(row)
        self._bytes += sum(len(value) for value in row if type(value) is str and len(value) > LONG_TEXT)

    @property
    def is_full(self) -> bool:
        """True if the rows should be taken before more are added."""
        return len(self.rows) >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def take(self) -> RecordBatch:
        """Return the rows as a batch, and forget them."""
        arrays = [_array(column, [row[place] for row in self.rows]) for place, column in self._columns]
        self.rows, self._bytes = [], 0
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)


def _array(column: Column, values: Iterable[Any]) -> Array:
    if column.type == TIME:
        values = [None if value is None or value < EARLIEST_MS else value * 1000 for value in values]
    try:
        return pyarrow.array(values, _TYPES[column.type])
    except (OverflowError, UnicodeError, pyarrow.ArrowInvalid):
        return pyarrow.array(map(_storable, values), _TYPES[column.type])


def _storable(value: Any) -> Any:
    """Return a value that Arrow can hold: text without lone surrogates, an integer of 64 bits."""
    if isinstance(value, str):
        return replace_surrogates(value)
    return max(-LARGEST, min(value, LARGEST)) if isinstance(value, int) and not isinstance(value, bool) else value


DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""The time 24:00:00, which SQL has and which Python would read as midnight, by the unit of a column."""


def python_values(column: Any) -> list[Any]:
    """Return the values of a column; raise Misuse if Python has no such date or time."""
    compute: Any = require("pyarrow.compute")
    try:
        for part in _parts(column):
            if pyarrow.types.is_time(part.type):
                last = compute.max(part.cast(pyarrow.int64() if part.type.bit_width == 64 else pyarrow.int32())).as_py()
                if last is not None and last >= DAY[part.type.unit]:
                    raise ValueError("24:00:00")
        return column.to_pylist()
    except (ValueError, OverflowError):
        has = "the result has a date or time outside the years 1 to 9999, at 24:00:00, or finer than a microsecond"
        raise Misuse(f"Cannot show a column: {has}; make it text with `::varchar`.") from None


def _parts(column: Any) -> Iterator[Any]:
    """Yield the columns that a column of lists, structs, maps or unions is made of, or the column itself."""
    kind = column.type
    if not pyarrow.types.is_nested(kind):
        yield column
    elif pyarrow.types.is_map(kind):
        yield from _parts(column.keys)
        yield from _parts(column.items)
    elif pyarrow.types.is_struct(kind) or pyarrow.types.is_union(kind):
        for number in range(kind.num_fields):
            yield from _parts(column.field(number))
    else:
        yield from _parts(column.flatten())
