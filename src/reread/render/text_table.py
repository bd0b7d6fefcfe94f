"""Tables of labels and figures as plain text and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reread.base.sanitize import csv_cell
from reread.base.text import SHORT_ID, cell_width, pad, truncate, wrapped
from reread.facts.clock import BLOCK, PERIODS

WIDTH = 80
BAR = 8
EIGHTHS = " ▏▎▍▌▋▊▉█"
GAP, NARROW_GAP = "  ", " "
MIN_LABEL_WIDTH = 7
SESSION_WIDTH = 36
"""The width of a session's id and title for which columns give way: titles may have any length."""
WHOLE = (*PERIODS, BLOCK)
"""Groups whose labels are never cut."""

PLAIN, STRONG, LOUD = "plain", "strong", "loud"
Styled = tuple[str, str]
"""A style and a line."""


def table_lines(
    by: Sequence[str],
    headers: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Sequence[str], float]],
    totals: Sequence[str],
    width: int | None,
    optional: Sequence[str] = (),
) -> Iterator[Styled]:
    """Yield a header, a line for each row (its labels, its figures, and what its bar compares) and the totals."""
    names = list(by) or [""]
    total_labels = ["Total", *[""] * (len(names) - 1)]
    labels, cells = [row[0] for row in rows], [row[1] for row in rows]
    table = ColumnTable([names, *labels, total_labels], [headers, *cells, totals], width, optional)
    largest = max((weight for *_, weight in rows), default=0.0)
    yield STRONG, table.line(names, headers)
    for row_labels, numbers, weight in rows:
        yield PLAIN, table.line(row_labels, numbers, weight / largest if largest else 0.0)
    yield STRONG, table.line(total_labels, totals)
    yield from wrapped_notes(table.notes(), width)


def wrapped_notes(notes: Iterable[Styled], width: int | None) -> Iterator[Styled]:
    """Yield sentences in lines that fit."""
    yield from ((style, line) for style, note in notes for line in wrapped(note, width))


class ColumnTable:
    """The widths of the columns.

    If the longest texts do not fit, bars are left out, gaps narrowed, and the columns of `optional` left out, the first
    ones first; only then are labels cut, because a row that cannot be told from others says nothing. In a pipe, which
    has no width, all columns stay. A time is never cut, nor is the id of a session.
    """

    def __init__(
        self,
        labels: Sequence[Sequence[str]],
        cells: Sequence[Sequence[str]],
        width: int | None,
        optional: Sequence[str] = (),
    ) -> None:
        """Take the rows of labels and of figures; the first row of each has the names of the columns."""
        names, headers = labels[0], cells[0]
        self.labels: list[int] = [max(map(cell_width, column)) for column in zip(*labels, strict=True)]
        self.cells: list[int] = [max(map(len, column)) for column in zip(*cells, strict=True)]
        self.omitted: list[str] = []
        """The columns that are left out, in the order in which they gave way."""
        self._shown = list(range(len(headers)))
        least = [_least_width(name, longest) for name, longest in zip(names, self.labels, strict=True)]
        wanted = sum(
            min(longest, SESSION_WIDTH) if name == "session" else longest
            for name, longest in zip(names, self.labels, strict=True)
        )
        for name in optional:
            if width is not None and name in headers and wanted + self._cells_width(NARROW_GAP) > width:
                self._shown.remove(headers.index(name))
                self.omitted.append(name)
        whole = WIDTH if width is None else width
        self.gap = GAP if wanted + self._cells_width(GAP) <= whole else NARROW_GAP
        room = whole - self._cells_width(self.gap)
        self.bars: bool = sum(self.labels) + len(GAP) + BAR <= room
        while sum(self.labels) > room and self.labels != least:
            self.labels[_most_to_give(self.labels, least)] -= 1

    def _cells_width(self, gap: str) -> int:
        """Return the width of the figures, and of all gaps."""
        return sum(self.cells[n] for n in self._shown) + len(gap) * (len(self.labels) + len(self._shown) - 1)

    def line(self, labels: Sequence[str], cells: Sequence[str], share: float = 0.0) -> str:
        """Return one line, with a bar for its share of the largest row."""
        names = [pad(_cut(text, width), width) for text, width in zip(labels, self.labels, strict=True)]
        numbers = [f"{cells[n]:>{self.cells[n]}}" for n in self._shown]
        return self.gap.join([*names, *numbers, bar(share) if self.bars else ""]).rstrip()

    def notes(self) -> Iterator[Styled]:
        """Yield what is left out."""
        if self.omitted:
            yield PLAIN, f"Not shown in this width: {', '.join(self.omitted)}; --json has all."


def _least_width(name: str, longest: int) -> int:
    """Return to what a column of labels may be cut at most."""
    return min(longest, longest if name in WHOLE else SHORT_ID + len(" …") if name == "session" else MIN_LABEL_WIDTH)


def _most_to_give(widths: Sequence[int], least: Sequence[int]) -> int:
    """Return which of the columns that can still be cut is the widest."""
    return max((n for n, width in enumerate(widths) if width > least[n]), key=lambda n: widths[n])


def _cut(text: str, width: int) -> str:
    """Cut a text to the width of its column, keeping the end of a path."""
    return truncate(text, width, keep_end="/" in text or "\\" in text)


def bar(share: float, cells: int = BAR) -> str:
    """Return a bar for a share between 0 and 1, as long as so many cells at most."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def table_csv(header: Sequence[str], rows: Iterable[tuple[Mapping[str, str | None], Iterable[Any]]]) -> str:
    """Return rows, each of them a group and figures, as CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for group, values in rows:
        groups = ["" if name is None else csv_cell(name) for name in group.values()]
        writer.writerow([*groups, *("" if value is None else value for value in values)])
    return out.getvalue()
