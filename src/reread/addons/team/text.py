"""What is said of a report on a team, and its digest as JSON values, as Markdown and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reread.addons.team.values import TeamDigest
from reread.base.format import money_text
from reread.base.sanitize import safe_line
from reread.base.text import plural, wrapped
from reread.render.markdown_text import inline
from reread.render.report_table import (
    budget_name,
    cost_text,
    figure_text,
    report_lines,
    report_value,
    row_labels,
)
from reread.render.text_table import LOUD, PLAIN, STRONG, Styled
from reread.reports.report import Report

WITHHELD = (
    "Fewer than three people are in these figures, so none are shown. People who agree to be shown alone set "
    "`shown_alone` of `team` to true in their configuration."
)


def people_text(count: int) -> str:
    """Return how many people there are, in words."""
    return "1 person" if count == 1 else f"{count:,} people"


def team_notes(report: Report) -> Iterator[Styled]:
    """Yield what there is to say of a report."""
    totals = report.totals
    if not totals:
        yield from [(LOUD, WITHHELD)] if report.withheld else ()
        return
    when = f", {report.since} to {report.until} (UTC)" if report.since else ""
    yield PLAIN, f"{people_text(totals.people)}, {plural(totals.machines, 'machine')}{when}."
    yield from withheld_notes(report)


def withheld_notes(report: Report) -> Iterator[Styled]:
    """Yield what is not in the figures of a report as they are, and why."""
    totals = report.totals
    if not totals:
        return
    if report.partial or any(row.partial for row in report.rows):
        mark = "" if report.partial else "+: "
        yield PLAIN, f"{mark}some of it is among the others, because in some weeks fewer than three people had it."
    if report.weeks_left_out:
        weeks = plural(report.weeks_left_out, "week")
        yield (
            PLAIN,
            f"Without {weeks} that are shown only with others, because fewer than three people did something in them.",
        )
    if totals.get("unpriced_models"):
        yield LOUD, safe_line(f"No price for {', '.join(totals.unpriced_models)}: tokens are counted, cost is not.")
    if totals.get("disputed"):
        count = plural(totals.disputed, "response")
        yield (
            LOUD,
            f"Machines disagree about the tokens of {count}; the most are counted. `--by machine --json` has whose.",
        )
    yield from ((LOUD, line) for line in _refused(report))


def _refused(report: Report) -> list[str]:
    return [
        safe_line(f"Left out of {machine}: {'; '.join(reasons[:3])}.")
        for machine, reasons in sorted(report.refused.items())
    ]


def team_digest_value(digest: TeamDigest) -> dict[str, Any]:
    """Return the digest of a team as JSON values: its usage, that of the week before, each table, and the budgets."""
    return {
        "since": digest.since,
        "until": digest.until,
        "usage": report_value(digest.usage),
        "before": report_value(digest.before),
        "tables": {title: report_value(report) for title, report in digest.tables.items()},
        "budgets": digest.budgets,
    }


def team_digest_markdown(digest: TeamDigest) -> str:
    """Return the digest of a team as Markdown."""
    lines = [f"# {_title(digest)}", ""]
    if not digest.usage.totals:
        return "\n".join([*lines, _nothing(digest), ""])
    lines += [*(f"- {fact}" for fact in _facts(digest, inline)), ""]
    for title, report in digest.tables.items():
        if report.rows:
            columns = [column for column in report.columns if column.short]
            heads = [*report.by, *(column.short for column in columns)]
            lines += [f"## {title}", "", f"| {' | '.join(heads)} |", f"|---|{'---:|' * len(columns)}"]
            for row in report.rows:
                cells = [*map(inline, row_labels(report, row)), *(figure_text(column, row) for column in columns)]
                lines.append(f"| {' | '.join(cells)} |")
            lines.append("")
    lines += map(inline, _refused(digest.usage))
    return "\n".join(lines).rstrip() + "\n"


def team_digest_lines(digest: TeamDigest, width: int | None) -> Iterator[list[Styled]]:
    """Yield the digest of a team as lines of text for a terminal."""
    yield from ([(STRONG, _title(digest))], [])
    if not digest.usage.totals:
        yield from ([(PLAIN, line)] for line in wrapped(_nothing(digest), width))
        return
    for fact in _facts(digest, safe_line):
        yield from ([(PLAIN, line)] for line in wrapped(fact, width))
    for title, report in digest.tables.items():
        if report.rows:
            yield from ([], [(STRONG, title)], *([line] for line in report_lines(report, width=width)))
    yield from ([(LOUD, line)] for refused in _refused(digest.usage) for line in ("", *wrapped(refused, width)))


def _title(digest: TeamDigest) -> str:
    return f"The team from {digest.since} to {digest.until}"


def _nothing(digest: TeamDigest) -> str:
    return WITHHELD if digest.usage.withheld else "Nothing was written in this time."


def _facts(digest: TeamDigest, safe: Callable[[str], str]) -> Iterator[str]:
    """Yield what the figures are in all, and the budgets; `safe` is how a name that somebody chose is written."""
    usage, before = digest.usage.totals, digest.before.totals
    change = _change(usage["cost_usd"] or 0.0, before.get("cost_usd") or 0.0)
    people = f"{people_text(usage.people)} on {plural(usage.machines, 'machine')}"
    yield f"{people}: {cost_text(usage)}{change}, {usage.responses:,} responses"
    for one in digest.budgets:
        left = f"{money_text(abs(one.left_usd))} {'over' if one.left_usd < 0 else 'left'}"
        spent = f"{money_text(one.spent_usd)} of {money_text(one.amount_usd)}"
        yield f"Budget {safe(budget_name(one))}: {spent}, {left}"


def _change(now: float, before: float) -> str:
    return f" ({now / before - 1:+.0%} on the week before)".replace("%", " %") if before > 0 else ""
