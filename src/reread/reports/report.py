"""A report: rows with their groups and figures, the totals, how these are shown, and what they leave out."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec

from reread.base.sanitize import csv_cell

COUNT, TOKENS, MONEY, SHARE, SECONDS, CHANGE = "count", "tokens", "money", "share", "seconds", "change"
USAGE, STATS, CACHE_BREAKS = "usage", "stats", "cache_breaks"
"""Reports that list what their figures count."""
ITEMS = {USAGE: "response", STATS: "call", CACHE_BREAKS: "cache break"}
"""What that is."""
PROJECT, TIME, CALL = "project", "time", "call"
"""What the values of a column are: numbers, or a folder, a time in milliseconds and a call."""


class ReportColumn(msgspec.Struct, frozen=True):
    """A column of a report: terminals, pages and JSON draw it by what its values are."""

    name: str
    """The name of the figure in rows, or of what several are added up to."""
    title: str
    kind: str = COUNT
    """count, tokens, money, share, seconds or change."""
    short: str = ""
    """Its title in a terminal, which does not show it if there is none."""
    of: tuple[str, ...] = ()
    """The figures that it adds up, or that changed by: added and removed; the one of its name if there are none."""
    state: str | None = None
    """The state of the calls that it counts; empty if it counts calls of any state."""

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of its figures in rows."""
        return self.of or (self.name,)


class Row(Mapping[str, Any]):
    """The values of one row by name: `row["day"]`, `row["cost_usd"]`, or `row.cost_usd`."""

    __slots__ = ("group", "values_by_name")

    def __init__(self, group: Mapping[str, str | None], values: Mapping[str, Any]) -> None:
        self.group: Mapping[str, str | None] = group
        """The values of the groups."""
        self.values_by_name: dict[str, Any] = {**group, **values}

    def __getitem__(self, name: str) -> Any:
        return self.values_by_name[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values_by_name[name]
        except KeyError:
            raise AttributeError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        return f"Row({self.values_by_name!r})"


class Report(Sequence[Row]):
    """Rows by group, largest or oldest first, and their totals."""

    def __init__(
        self,
        kind: str,
        by: tuple[str, ...],
        rows: Sequence[Row],
        totals: Row,
        *,
        hidden: Sequence[Row] = (),
        unread: Iterable[str] = (),
        known: Mapping[str, set[str]] | None = None,
        about: Mapping[str, Any] | None = None,
        titles: Mapping[str, str] | None = None,
        columns: Sequence[ReportColumn] = (),
        optional: Sequence[str] = (),
    ) -> None:
        self.kind: str = kind
        """usage, stats, cache_breaks or cost."""
        self.by: tuple[str, ...] = by
        """The groups."""
        self.rows: list[Row] = list(rows)
        self.totals: Row = totals
        """The figures of all rows, the hidden ones included."""
        self.hidden: list[Row] = list(hidden)
        """Rows that cost too little, or are more than were asked for."""
        self.unread: tuple[str, ...] = tuple(sorted(unread))
        """Files that could not be read and are not included."""
        self.known: Mapping[str, set[str]] = known or {}
        """All values that there are of what was filtered, by the name of the filter."""
        self.about: dict[str, Any] = dict(about or {})
        """What the report says besides, by name: `report.about["prices"]`, or `report.prices`."""
        self.titles: Mapping[str, str] = titles or {}
        """The titles of sessions by their ids, as far as they are known."""
        self.columns: list[ReportColumn] = list(columns)
        """The figures that are shown, in their order."""
        self.optional: tuple[str, ...] = tuple(optional)
        """The columns that give way first where there is little room."""
        self.notes: Sequence[tuple[str, str]] | None = None
        """What it says of itself, as styles and sentences, if not what all reports of its kind say."""
        self.list_items: Callable[[], list[Row]] = list
        """Lists what the figures count."""

    @property
    def items(self) -> list[Row]:
        """What the figures count: calls, responses or cache breaks, each with its session and line."""
        return self.list_items()

    def items_of(self, row: Row) -> list[Row]:
        """Return what a row counts."""
        return [item for item in self.items if item.group == row.group]

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    @overload
    def __getitem__(self, index: str) -> Any: ...
    def __getitem__(self, index: int | slice | str) -> Any:
        return getattr(self, index) if isinstance(index, str) else self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        names = ("kind", "by", "rows", "totals", "hidden", "unread", "about")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["about"][name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(row) for row in self.rows]

    def to_csv(self) -> str:
        """Return the rows as CSV, with a header line."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = [name for name, value in self.totals.items() if not isinstance(value, list | tuple | bool)]
        writer.writerow([*self.by, *names])
        for row in self.rows:
            writer.writerow([_cell(row[name]) for name in (*self.by, *names)])
        return out.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else csv_cell(value) if isinstance(value, str) else value
