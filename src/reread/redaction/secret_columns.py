"""Columns of tables whose head is the name of a secret: CSV, TSV, Markdown, and what databases print."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_ROWS = 200
_LONGEST_ROW = 1_000
_HEAD_CELL = re.compile(r"[ \t\"'`*]{0,40}[\w .#-]{0,40}[ \t\"'`*]{0,40}")
_RULE = re.compile(r"[ \t|+:=-]{3,}")
"""The line between the head of a table and its rows, or at its end."""
_END_OF_STRING = re.compile(r"[\x1e\x1f]")
_QUOTES = " \t\r\"'`*"


class TableColumn(NamedTuple):
    """A column of a table."""

    values: list[tuple[int, int]]
    """Where its values begin and end."""
    head_end: int
    end: int
    """Where the table ends."""


def read_column(text: str, start: int, end: int) -> TableColumn | None:
    """Return the column that a name heads; None if it does not stand in the head of a table."""
    first = max(text.rfind(sign, max(0, start - _LONGEST_ROW), start) for sign in "\n\x1e\x1f") + 1
    last = text.find("\n", end, end + _LONGEST_ROW)
    head = text[first:last].rstrip("\r")
    if last < 0 or len(head) > _LONGEST_ROW:
        return None
    separator = next((sign for sign in "|\t,;" if sign in head), "")
    cells = head.split(separator) if separator else []
    names = [cell for cell in cells if cell.strip(_QUOTES)]
    is_list = separator in ",;" and (len(names) < len(cells) or ", " in head)  # of strings, or of names in code
    if len(names) < 2 or is_list or any(_HEAD_CELL.fullmatch(cell) is None for cell in cells):
        return None
    found = TableColumn([], last, last)
    for _ in range(MOST_ROWS):
        at = found.end + 1
        stop = text.find("\n", at, at + _LONGEST_ROW)
        row = _END_OF_STRING.split(text[at : stop if stop >= 0 else at + _LONGEST_ROW], maxsplit=1)[0]
        values = row.split(separator)
        if _RULE.fullmatch(row.rstrip("\r")) is None:
            if len(values) != len(cells):
                break
            column = text.count(separator, first, start)
            cell = values[column]
            place = at + sum(len(value) + 1 for value in values[:column]) + len(cell) - len(cell.lstrip(_QUOTES))
            found.values.append((place, place + len(cell.strip(_QUOTES))))
        found = found._replace(end=at + len(row))
        if stop != found.end:
            break
    return found
