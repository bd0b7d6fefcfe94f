"""Groups of too few people are merged, so that a report on a team tells nothing of one person.

A cell is a group in a period. It is shown if it has three people or more who did not agree to be shown alone, or none:
then the figures of those who agreed tell nothing of the others. All other cells of a period are merged into one, and if
that has too few people itself, the smallest of the others join it; else it would be the total less what is shown.
Periods are weeks; one with too few people is joined with its neighbours in the same quarter, whatever weeks are asked
for, and a report has it whole or not at all. Every figure of a report is a sum of such cells, whatever its groups: two
reports on one grouping differ by cells, never by a person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

LEAST = 3
OTHERS = "(others)"

Group = tuple[str | None, ...]
Sums = tuple[float, ...]


class Cell(NamedTuple):
    """A group in a period, as it is shown."""

    period: int
    """The index of the period."""
    group: Group | None
    """None for those that were merged."""
    people: frozenset[str]
    figures: Sums


def are_enough(people: Collection[str], shown_alone: Collection[str]) -> bool:
    """True if figures of these people together tell nothing of one who did not agree."""
    others = sum(person not in shown_alone for person in people)
    return bool(people) and (others == 0 or others >= LEAST)


def join_periods(
    people: Mapping[str | None, Collection[str]], shown_alone: Collection[str], *, bounded: bool = False
) -> list[tuple[str | None, ...]]:
    """Return the weeks in order, those with too few people together with the next ones of their quarter.

    A quarter with too few people is left out if the weeks are bounded, else it is joined with the one before or after.
    """
    quarters: dict[str, dict[str | None, Collection[str]]] = {}
    for week in sorted(people, key=lambda week: week or ""):
        quarters.setdefault(quarter_of(week) if week is not None else "", {})[week] = people[week]
    joined: list[tuple[str | None, ...]] = []
    pending: dict[str | None, Collection[str]] = {}
    for weeks in quarters.values():
        found = _join(pending | weeks, shown_alone)
        pending = {} if found or bounded else pending | weeks
        joined += found
    if pending and joined:
        joined[-1] = (*joined[-1], *pending)
    return joined


def _join(people: Mapping[str | None, Collection[str]], shown_alone: Collection[str]) -> list[tuple[str | None, ...]]:
    joined: list[tuple[str | None, ...]] = []
    pending: tuple[str | None, ...] = ()
    for week in people:
        pending = (*pending, week)
        if are_enough({person for one in pending for person in people[one]}, shown_alone):
            joined.append(pending)
            pending = ()
    if pending and joined:
        joined[-1] = (*joined[-1], *pending)
    return joined


def quarter_of(week: str) -> str:
    """Return the quarter to which a week belongs, such as `2026-Q4`: that of its first day."""
    return f"{week[:4]}-Q{(int(week[5:7]) + 2) // 3}"


def quarter_days(quarter: str) -> tuple[date, date]:
    """Return the first Monday of a quarter, and the Sunday before that of the next one; raise ValueError if none is."""
    year, number = int(quarter[:4]), int(quarter[-1])
    after = date(year + number // 4, 1 if number == 4 else 3 * number + 1, 1)
    return _monday(date(year, 3 * number - 2, 1)), _monday(after) - timedelta(days=1)


def is_quarter(name: str) -> bool:
    """True if there is such a quarter: a hostile machine may have written of any month."""
    try:
        return bool(quarter_days(name))
    except (ValueError, OverflowError):
        return False


def _monday(day: date) -> date:
    """Return the first Monday from a day on."""
    return day + timedelta(days=-day.weekday() % 7)


def merge_groups(period: int, groups: Mapping[Group, Mapping[str, Sums]], shown_alone: Collection[str]) -> list[Cell]:
    """Return the cells of a period, from the figures of each person in each group."""
    cells = [Cell(period, group, frozenset(found), add(found.values())) for group, found in groups.items()]
    shown = [cell for cell in cells if are_enough(cell.people, shown_alone)]
    merged = [cell for cell in cells if cell not in shown]
    shown.sort(key=lambda cell: (-len(cell.people), [value or "" for value in cell.group or ()]))
    people = frozenset[str]().union(*(cell.people for cell in merged))
    while merged and shown and not are_enough(people, shown_alone):
        merged.append(shown.pop())
        people |= merged[-1].people
    if not merged:
        return shown
    return [*shown, Cell(period, None, people, add(cell.figures for cell in merged))]


def add(figures: Collection[Sums] | Sequence[Sums] | object) -> Sums:
    """Return the sum of figures, one by one."""
    return tuple(map(sum, zip(*figures, strict=True)))  # type: ignore[call-overload]
