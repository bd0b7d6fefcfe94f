"""The values of Arrow columns in Python."""

from __future__ import annotations

from typing import Any

from reread.errors import Misuse


def python_values(column: Any) -> list[Any]:
    """Return the values of a column; raise Misuse if Python has no such date or time."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):
        has = "the result has a date or time outside the years 1 to 9999"
        raise Misuse(f"Cannot show a column: {has}; make it text with `::varchar`.") from None
