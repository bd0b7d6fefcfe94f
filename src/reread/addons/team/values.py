"""Who writes to the bucket of a team, and the digest of a week."""

from __future__ import annotations

from datetime import datetime

import msgspec

from reread.reports.budget_report import BudgetState
from reread.reports.report import Report


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
    usage: Report
    before: Report
    """The usage of the week before."""
    tables: dict[str, Report]
    """The reports of the week, by title."""
    budgets: list[BudgetState]
