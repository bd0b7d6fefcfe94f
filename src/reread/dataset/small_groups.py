"""Groups of too few people are merged, so that a report on a team tells nothing of one person.

A cell is a group in a period. It is shown if it has three people or more who did not agree to be shown alone, or none:
then the figures of those who agreed tell nothing of the others. All other cells of a period are merged into one, and if
that has too few people itself, the smallest of the others join it; else it would be the total less what is shown.
Periods are weeks; one with too few people is joined with its neighbours. Every figure of a report is a sum of such
cells, whatever its groups: two reports on one grouping differ by cells, never by a person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    people: Mapping[str | None, Collection[str]], shown_alone: Collection[str]
) -> list[tuple[str | None, ...]]:
    """Return the weeks in order, those with too few people together with the next ones; none if all are too few."""
    joined: list[tuple[str | None, ...]] = []
    pending: tuple[str | None, ...] = ()
    for week in sorted(people, key=lambda week: (week is not None, week or "")):
        pending = (*pending, week)
        if are_enough({person for one in pending for person in people[one]}, shown_alone):
            joined.append(pending)
            pending = ()
    if pending and joined:
        joined[-1] = (*joined[-1], *pending)
    return joined


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
