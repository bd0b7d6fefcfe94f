"""The values of reports on a team."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict

import msgspec

from reread.base.times import TimeLike
from reread.reports.budget_report import BudgetState


class TeamPeriod(TypedDict, total=False):
    """The time that a report is about, as keywords: whole weeks of UTC, also those in which `since` and `until` lie."""

    since: TimeLike | None
    until: TimeLike | None


class TeamRow(msgspec.Struct, frozen=True):
    """One group and its figures. `row["person"]` and `row["cost_usd"]` work alike."""

    group: dict[str, str | None]
    figures: dict[str, float]
    people: int
    """How many people the figures are about."""
    partial: bool = False
    """True if in some weeks the group had too few people: that part is in the row of the others."""

    def __getitem__(self, name: str) -> Any:
        return self.group[name] if name in self.group else self.figures[name]


class TeamReport(msgspec.Struct, frozen=True):
    """Figures of a team by group, and in total."""

    by: tuple[str, ...]
    rows: list[TeamRow]
    totals: dict[str, float]
    people: int
    machines: int
    since: str | None
    """The first day of the first week that is counted; None if there is none."""
    until: str | None
    """The last day of the last week."""
    withheld: bool = False
    """True if too few people are in it: then there are no figures."""
    weeks_left_out: int = 0
    """How many weeks are left out, because too few people were active in them."""
    refused: dict[str, list[str]] = {}
    """What is left out of a machine, and why."""


class Writer(msgspec.Struct, frozen=True):
    """A machine that writes to the bucket of a team."""

    machine: str
    person: str | None
    """None if an earlier version of reread wrote its tables."""
    team: str | None
    written: datetime | None
    """When the bucket got the newest manifest, by the bucket's clock."""
    responses: int
    named_for_person: bool
    """True if the name of the machine begins with that of the person, as a policy of the bucket can demand."""
    words: bool
    """True if its tables have words: they are those of `reread tables -o`."""
    refused: tuple[str, ...] = ()
    """What is left out of it, and why."""


class TeamDigest(msgspec.Struct, frozen=True):
    """One week of a team."""

    since: str
    until: str
    usage: TeamReport
    before: TeamReport
    """The usage of the week before."""
    tables: dict[str, TeamReport]
    """The reports of the week, by title."""
    budgets: list[BudgetState]
