"""The rows of a query as a table, as CSV and as JSON values."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, cast

from reread.base import jsontext
from reread.base.sanitize import csv_cell, safe_line
from reread.base.text import cell_width, pad, plural, truncate, wrapped

MEASURED_ROWS = 500
"""The first rows decide how wide columns are."""
LONGEST = 2000
"""Characters of a cell that are looked at."""
NARROWEST = 8
"""Columns are not made narrower than this to fit the terminal."""
ID = 36
"""The first column keeps as much as an id needs."""
GAP = "  "


def query_lines(names: Sequence[str], rows: Iterable[Sequence[Any]], width: int | None) -> Iterator[str]:
    """Yield a table with a header; cells are cut so that it fits the width, if there is one."""
    rows = iter(rows)
    first = [list(map(cell_text, row)) for row in itertools.islice(rows, MEASURED_ROWS)]
    numeric = [bool(first) and all(_is_number(row[n]) for row in first) for n in range(len(names))]
    header = [safe_line(name) for name in names]
    widths = [max(map(cell_width, column)) for column in zip(header, *first, strict=True)]
    widths = _fitted(widths, width) if width is not None and widths else widths

    def line(cells: Sequence[str]) -> str:
        padded = (
            pad(truncate(cell, size) if width is not None else cell, size, right=right)
            for cell, size, right in zip(cells, widths, numeric, strict=False)
        )
        return GAP.join(padded).rstrip()

    yield line(header)
    yield GAP.join("─" * size for size in widths)
    for cells in itertools.chain(first, (list(map(cell_text, row)) for row in rows)):
        yield line(cells)
    if len(widths) < len(header):
        left_out = plural(len(header) - len(widths), "column")
        yield from wrapped(f"Not shown in this width: {left_out}; select fewer, or use --json.", width)


def _fitted(widths: list[int], width: int) -> list[int]:
    """Return the widths of the first columns that fit, the widest made narrower; the first one, a key, at last."""
    least = [min(size, NARROWEST if n else ID) for n, size in enumerate(widths)]
    fitting = [n for n in range(1, len(widths)) if sum(least[: n + 1]) + n * len(GAP) <= width]
    widths = widths[: max(fitting, default=0) + 1]
    room = width - len(GAP) * (len(widths) - 1)
    key = min(widths[0], room - sum(least[1 : len(widths)]))
    return [key, *_narrowed(widths[1:], room - key)]


def _narrowed(widths: list[int], room: int) -> list[int]:
    """Return the widths, the widest made narrower until all fit."""
    while sum(widths) > room and max(widths) > NARROWEST:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=NARROWEST)
        many = widths.count(widest)
        step = max(1, min(widest - max(second, NARROWEST), (sum(widths) - room) // many))
        widths = [size - step if size == widest else size for size in widths]
    return widths


def cell_text(value: Any) -> str:
    """Return a value on one line."""
    value = json_value(value)
    if value is None:
        return ""
    text = value if isinstance(value, str) else jsontext.dumps(value).decode("utf-8", "replace")
    return safe_line(text[:LONGEST])


def _is_number(text: str) -> bool:
    try:
        float(text or 0)
    except ValueError:
        return False
    return True


def query_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a header and rows as lines of CSV."""
    yield _csv_line([csv_cell(name) for name in names])
    for row in rows:
        cells = (json_value(value) for value in row)
        yield _csv_line([csv_cell(cell) if isinstance(cell, str) else _csv_value(cell) for cell in cells])


def _csv_value(value: Any) -> Any:
    return jsontext.dumps(value).decode("utf-8", "replace") if isinstance(value, dict | list | bool) else value


def _csv_line(cells: Sequence[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def json_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each row as an object; of columns with the same name, later ones get a number."""
    keys: list[str] = []
    for name in names:
        numbered = (f"{name}_{n}" for n in itertools.count(2))
        keys.append(name if name not in keys else next(key for key in numbered if key not in keys))
    for row in rows:
        yield dict(zip(keys, map(json_value, row), strict=True))


def json_value(value: Any) -> Any:
    """Return a value of a query as JSON has it: times in ISO 8601, whole decimals as integers, intervals as text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in cast(dict[Any, Any], value).items()}
    if hasattr(value, "nanoseconds"):  # an interval of Arrow: months, days, nanoseconds
        return _interval_text(*cast(tuple[int, int, int], value))
    if isinstance(value, list | tuple):
        return [json_value(item) for item in cast(list[Any], value)]
    if isinstance(value, str | int | float | None):
        return value
    return str(value)


def _interval_text(months: int, days: int, nanos: int) -> str:
    """Return an interval as SQL writes it: `1 year 2 months 3 days 04:05:06.7`."""
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), 12)
    counts = {"year": sign * years, "month": sign * rest, "day": days}
    words = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for unit, count in counts.items() if count]
    if nanos or not words:
        seconds, micros = divmod(abs(nanos) // 1000, 1_000_000)
        part = f".{micros:06}".rstrip("0").rstrip(".")
        minutes, seconds = divmod(seconds, 60)
        words.append(f"{'-' if nanos < 0 else ''}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{part}")
    return " ".join(words)
