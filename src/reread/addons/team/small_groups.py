"""What of a team's figures is shown: blocks of three people or more, and what those did who agreed to be shown alone.

All figures of a kind are divided once, whatever is asked for: by week, and each week by one column after the other.
Parts with fewer than three people are merged into one, the others, and if that has too few itself, the smallest part
joins it. Weeks with too few people are joined with the next ones of their quarter. What is left of quarters with too
few is one period together; if that has too few, the earliest period joins it. What nothing can be joined with is in no
report. So no report divides a block, nor does the difference of two: whatever they are grouped by, and whatever time
they are of, they differ by whole blocks. Who agreed is apart from all that: each of their figures is a block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from reread.reports.tally import Figures, total_of

LEAST = 3
OTHERS = "(others)"

Group = tuple[str | None, ...]
Period = tuple[str | None, ...]
"""Weeks that are shown together, by their Mondays; None for what has no time."""
Span = tuple[date | None, date | None]
"""The first day of the first week, and the last day of the last one; None if there is no bound."""


class Atom(NamedTuple):
    """What a machine did in a week, alike in all that a report can group by."""

    week: str | None
    person: str
    machine: str
    values: Group
    figures: Figures


class FigureBlock(NamedTuple):
    """The smallest part of a team's figures that is shown."""

    period: Period
    group: Group
    """What it is called in each column."""
    people: frozenset[str]
    machines: frozenset[str]
    figures: Figures
    merged: frozenset[Group]
    """What its parts would be called, if that is something else."""


class FigureBlocks:
    """The blocks of all figures of a kind, made as far as reports ask for them."""

    def __init__(
        self, quarters: Sequence[str], atoms_of: Callable[[str], Sequence[Atom]], alone: Collection[str]
    ) -> None:
        """Take the quarters that may have figures, in order, what gives those of one, and who agreed."""
        self._quarters = quarters
        self._read = atoms_of
        self._alone = alone
        self._atoms: dict[str, Sequence[Atom]] = {}
        self._blocks: dict[Period, list[FigureBlock]] = {}

    def within(self, span: Span) -> tuple[list[FigureBlock], int]:
        """Return the blocks whose weeks are all within a time, and how many weeks of it have figures in no block."""
        asked = [one for one in self._quarters if _may_have(one, span)]
        periods = join_periods(self._quarters, self._people, asked)
        atoms = [atom for quarter in asked for atom in self._of(quarter) if _has_week(span, atom.week)]
        own = [(week,) for week in {atom.week for atom in atoms}.difference(*periods)]
        blocks: list[FigureBlock] = []
        for period in (*periods, *own):
            if all(_has_week(span, week) for week in period):
                if period not in self._blocks:
                    self._blocks[period] = self._divided(period, shown=period not in own)
                blocks += self._blocks[period]
        shown = {week for block in blocks if not block.people.issubset(self._alone) for week in block.period}
        return blocks, len({atom.week for atom in atoms if atom.person not in self._alone} - shown)

    def _of(self, quarter: str) -> Sequence[Atom]:
        if quarter not in self._atoms:
            self._atoms[quarter] = self._read(quarter)
        return self._atoms[quarter]

    def _people(self, quarter: str) -> dict[str | None, set[str]]:
        """Return who was active in each week of a quarter, but for those who agreed."""
        found: dict[str | None, set[str]] = {}
        for atom in self._of(quarter):
            if atom.person not in self._alone:
                found.setdefault(atom.week, set()).add(atom.person)
        return found

    def _divided(self, period: Period, *, shown: bool) -> list[FigureBlock]:
        """Return the blocks of a period: if it has too few people to be shown, those of people who agreed."""
        quarters = dict.fromkeys(quarter_of(week) for week in period)
        atoms = [atom for quarter in quarters for atom in self._of(quarter) if atom.week in period]
        others = [atom for atom in atoms if atom.person not in self._alone]
        blocks = [make_block(period, atom.values, [atom]) for atom in atoms if atom.person in self._alone]
        return [*blocks, *(divide(period, others) if others and shown else ())]


def make_block(period: Period, group: Group, atoms: Collection[Atom]) -> FigureBlock:
    """Return atoms as one block."""
    people, machines = (
        frozenset(found) for found in zip(*((atom.person, atom.machine) for atom in atoms), strict=True)
    )
    merged = frozenset(atom.values for atom in atoms) - {group}
    return FigureBlock(period, group, people, machines, total_of(atom.figures for atom in atoms), merged)


def divide(period: Period, atoms: Sequence[Atom]) -> list[FigureBlock]:
    """Return the blocks of a period, from what people did in it who did not agree to be shown alone."""
    parts: list[tuple[Group, Sequence[Atom]]] = [((), atoms)]
    for column in range(len(atoms[0].values)):
        parts = [((*group, name), part) for group, whole in parts for name, part in _divide(whole, column)]
    return [make_block(period, group, part) for group, part in parts]


def _divide(atoms: Sequence[Atom], column: int) -> Iterator[tuple[str | None, Sequence[Atom]]]:
    """Yield the parts of a column with enough people, and the others."""
    parts: dict[str | None, list[Atom]] = {}
    for atom in atoms:
        parts.setdefault(atom.values[column], []).append(atom)
    people = {name: {atom.person for atom in part} for name, part in parts.items()}
    shown = sorted(parts, key=lambda name: (-len(people[name]), name or ""))
    others: list[Atom] = []
    few = set[str]()
    while shown and (len(people[shown[-1]]) < LEAST or 0 < len(few) < LEAST):
        name = shown.pop()
        others += parts[name]
        few |= people[name]
    yield from ((name, parts[name]) for name in shown)
    if others:
        yield OTHERS, others


def join_periods(
    quarters: Sequence[str], people: Callable[[str], Mapping[str | None, Collection[str]]], asked: Collection[str]
) -> list[Period]:
    """Return the periods of the quarters that are asked for, from who was active in each week of a quarter.

    Other quarters are looked at only if they matter: what is left of quarters is in the earliest period, if at all.
    """
    joined = {quarter: _join(people(quarter)) for quarter in quarters if quarter in asked}
    first = next((quarter for quarter in quarters if joined.get(quarter)), None)
    before = quarters[: quarters.index(first)] if first is not None else ()
    if any(_join(people(quarter)) for quarter in reversed(before)) and len(joined) < len(quarters):
        return [period for found in joined.values() for period in found]
    joined = {quarter: _join(people(quarter)) for quarter in quarters}
    periods = [period for found in joined.values() for period in found]
    left = {week: who for quarter in quarters if not joined[quarter] for week, who in people(quarter).items()}
    rest = tuple(left)
    if len({person for who in left.values() for person in who}) >= LEAST:
        periods.append(rest)
    elif periods:
        periods[0] = rest + periods[0]
    return periods


def _join(people: Mapping[str | None, Collection[str]]) -> list[Period]:
    """Return the weeks of a quarter in order, those with too few people together with the next ones."""
    joined: list[Period] = []
    pending: Period = ()
    for week in sorted(people, key=lambda week: week or ""):
        pending = (*pending, week)
        if len({person for one in pending for person in people[one]}) >= LEAST:
            joined.append(pending)
            pending = ()
    if pending and joined:
        joined[-1] = (*joined[-1], *pending)
    return joined


def quarter_of(week: str | None) -> str:
    """Return the quarter to which a week belongs, such as `2026-Q4`: that of its first day; empty without a time."""
    return f"{week[:4]}-Q{(int(week[5:7]) + 2) // 3}" if week is not None else ""


def quarter_days(quarter: str) -> tuple[date, date]:
    """Return the first Monday of a quarter, and the Sunday before that of the next one; raise ValueError if none is."""
    year, number = int(quarter[:4]), int(quarter[-1])
    after = date(year + number // 4, 1 if number == 4 else 3 * number + 1, 1)
    return first_monday(date(year, 3 * number - 2, 1)), first_monday(after) - timedelta(days=1)


def is_quarter(name: str) -> bool:
    """True if there is such a quarter: a hostile machine may have written of any month."""
    try:
        return bool(quarter_days(name))
    except (ValueError, OverflowError):
        return False


def first_monday(day: date) -> date:
    """Return the first Monday from a day on."""
    return day + timedelta(days=-day.weekday() % 7)


def _has_week(span: Span, week: str | None) -> bool:
    """True if a time has a week; what has no time is only in one without bounds."""
    first, last = span
    if week is None:
        return span == (None, None)
    return (first is None or week >= first.isoformat()) and (last is None or week <= last.isoformat())


def _may_have(quarter: str, span: Span) -> bool:
    """True if a quarter may have weeks of a time."""
    first, last = (quarter_of(day.isoformat() if day is not None else None) for day in span)
    return first <= quarter and (not last or quarter <= last)
