"""What the reader's page of a team shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from reread.addons.team.reports import TEAM, Team
from reread.addons.team.small_groups import OTHERS, quarter_days, quarter_of
from reread.addons.team.text import withheld_notes
from reread.errors import Misuse, NotFound
from reread.facts.scope import ScopeOptions
from reread.render.report_table import group_labels, report_value
from reread.reports.report import Report

GROUPS = ("team", "person", "machine", "model")
PROJECTS = ("project",)
SHORT_HASH = 8
_HASH = re.compile(r"[0-9a-f]{20}")


def team_page(given: Mapping[str, Any], query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page shows: the quarters that there are, and the reports on one of them, one by a group."""
    team: Team | None = given.get(TEAM)
    if team is None:
        raise NotFound("This server has no team; start it with `reread serve --team`.")
    by = query.get("by") or GROUPS[0]
    if by not in GROUPS:
        raise Misuse(f"Cannot group the team by {by!r}; use {', '.join(GROUPS)}.")
    quarters = team.quarters()
    current = quarter_of(datetime.now(UTC).date().isoformat())
    # A machine with a wrong clock may have written later ones.
    newest = next((one for one in quarters if one <= current), quarters[0] if quarters else "")
    quarter = query.get("quarter") or newest
    if quarter not in quarters:
        raise Misuse(f"No quarter {quarter!r}; use {', '.join(quarters)}.")
    first, last = quarter_days(quarter)
    span: ScopeOptions = {"since": first.isoformat(), "until": last.isoformat()}
    reports = {
        "weeks": team.usage(by="week", **span),
        "projects": team.usage(by="project", **span),
        "usage": team.usage(by=by, **span),
        "cache": team.cache_breaks(by="cause", **span),
        "tools": team.stats(by="tool", **span),
        "failures": team.stats(by="failure", **span),
        "sessions": team.sessions(by="week", **span),
    }
    values = {name: _team_value(report) for name, report in reports.items()}
    refused = {machine: reasons for value in values.values() for machine, reasons in value.pop("refused").items()}
    return {
        "by": by,
        "groups": list(GROUPS),
        "quarter": quarter,
        "quarters": quarters,
        "since": first.isoformat(),
        "until": last.isoformat(),
        "refused": refused,
        "budgets": team.budgets(),
        **values,
    }


def _team_value(report: Report) -> dict[str, Any]:
    report.notes = list(withheld_notes(report))
    labels = {**group_labels(report), OTHERS: "fewer than 3 people each"}
    if report.by == PROJECTS:
        names = (str(row["project"]) for row in report.rows)
        labels |= {name: f"project {name[:SHORT_HASH]}" for name in names if _HASH.fullmatch(name)}
    return {**report_value(report), "labels": labels}
