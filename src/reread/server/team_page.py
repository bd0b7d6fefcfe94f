"""The page of a team: a quarter of its figures, by one group.

A quarter has whole weeks, and no two quarters share one: whoever compares what the page shows for several periods finds
nothing that one of them does not show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from reread.dataset.team_tables import Team
from reread.errors import Misuse
from reread.render.team_table import team_value
from reread.reports.budget_report import budget_value

GROUPS = ("project", "team", "person", "machine", "model")
_QUARTER = re.compile(r"(\d{4})-Q([1-4])", re.ASCII)


def team_page(team: Team, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page shows: the quarters that there are, and the reports on one of them by one group."""
    by = query.get("by") or GROUPS[0]
    if by not in GROUPS:
        raise Misuse(f"Cannot group the team by {by!r}; use {', '.join(GROUPS)}.")
    quarters = team.quarters()
    now = datetime.now(UTC).date()
    current = f"{now.year:04}-Q{(now.month + 2) // 3}"  # a machine with a wrong clock may have written later ones
    newest = next((one for one in quarters if one <= current), quarters[0] if quarters else "")
    quarter = query.get("quarter") or newest
    if quarter not in quarters:
        raise Misuse(f"No quarter {quarter!r}; use {', '.join(quarters)}.")
    first, last = quarter_days(quarter)
    span: dict[str, Any] = {"since": first.isoformat(), "until": last.isoformat()}
    reports = {
        "weeks": team.usage(by="week", **span),
        "usage": team.usage(by=by, **span),
        "cache": team.cache_breaks(by="cause", **span),
        "tools": team.stats(by="tool", **span),
        "failures": team.stats(by="failure", **span),
        "sessions": team.sessions(by="week", **span),
    }
    values = {name: team_value(report) for name, report in reports.items()}
    refused = {machine: reasons for value in values.values() for machine, reasons in value.pop("refused").items()}
    return {
        "by": by,
        "groups": list(GROUPS),
        "quarter": quarter,
        "quarters": quarters,
        "since": first.isoformat(),
        "until": last.isoformat(),
        "refused": refused,
        "budgets": [budget_value(one) for one in team.budgets()],
        **values,
    }


def quarter_days(quarter: str) -> tuple[date, date]:
    """Return the first Monday of a quarter, and the Sunday before that of the next one."""
    found = _QUARTER.fullmatch(quarter)
    if found is None:
        raise Misuse(f"Invalid quarter {quarter!r}; use one such as 2026-Q4.")
    year, number = int(found[1]), int(found[2])
    try:
        return _monday(date(year, 3 * number - 2, 1)), _monday(
            date(year + number // 4, 1 if number == 4 else 3 * number + 1, 1)
        ) - timedelta(days=1)
    except (ValueError, OverflowError):
        raise Misuse(f"Invalid quarter {quarter!r}; use one such as 2026-Q4.") from None


def _monday(day: date) -> date:
    """Return the first Monday from a day on."""
    return day + timedelta(days=-day.weekday() % 7)
