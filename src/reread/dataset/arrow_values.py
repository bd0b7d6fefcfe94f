"""The values of Arrow columns in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.optional_dependencies import require
from reread.errors import Misuse

pyarrow: Any = require("pyarrow")
compute: Any = require("pyarrow.compute")

DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""The time 24:00:00, which SQL has and which Python would read as midnight, by the unit of a column."""


def python_values(column: Any) -> list[Any]:
    """Return the values of a column; raise Misuse if Python has no such date or time."""
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
