"""Reports on a team as a table and as CSV, and its digest as Markdown, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reread.base.format import money_text
from reread.base.sanitize import safe_line
from reread.base.text import plural
from reread.dataset.team_report import TeamDigest, TeamReport
from reread.render.budget_table import budget_name
from reread.render.markdown_text import inline
from reread.render.report_table import CAUSE, column_value, figure_text, label, note_values
from reread.render.text_table import LOUD, PLAIN, Styled, table_csv, table_lines, wrapped_notes
from reread.reports.budget_report import budget_value
from reread.reports.report import MONEY, SECONDS, TOKENS, ReportColumn
from reread.reports.usage_report import COLUMNS as USED
from reread.reports.usage_report import COST

PEOPLE = ReportColumn("people", "People", short="people")
COLUMNS: dict[str, tuple[ReportColumn, ...]] = {
    "responses": (*(column for column in USED if column.short), COST),
    "breaks": (
        ReportColumn("breaks", "Breaks", short="breaks"),
        ReportColumn("cache_rewritten_tokens", "Rewritten", TOKENS, "rewritten"),
        ReportColumn("cache_rewritten_usd", "Cost", MONEY, "cost"),
    ),
    "calls": (
        ReportColumn("calls", "Calls", short="calls"),
        ReportColumn("failed", "Failed", short="failed"),
        ReportColumn("denied", "Denied", short="denied"),
        ReportColumn("interrupted", "Interrupted", short="interrupted"),
        ReportColumn("seconds", "Time", SECONDS, "time"),
    ),
    "sessions": (
        ReportColumn("sessions", "Sessions", short="sessions"),
        ReportColumn("turns", "Turns", short="turns"),
        ReportColumn("compactions", "Compactions", short="compactions"),
    ),
}
"""The columns of a report, by its first figure."""
WITHHELD = (
    "Fewer than three people are in these figures, so none are shown. People who agree to be shown alone set "
    "`shown_alone` of `team` to true in their configuration."
)


def people_text(count: int) -> str:
    """Return how many people there are, in words."""
    return "1 person" if count == 1 else f"{count:,} people"


def columns_of(report: TeamReport) -> tuple[ReportColumn, ...]:
    """Return the columns that fit a report: how many people there are, and its figures."""
    return PEOPLE, *COLUMNS[next(iter(report.totals), "responses")]


def team_lines(report: TeamReport, *, width: int | None = None) -> Iterator[Styled]:
    """Yield the table, its totals and notes about them."""
    if report.withheld:
        yield from wrapped_notes([(LOUD, WITHHELD)], width)
        return
    columns = columns_of(report)
    cells = [_cells(columns, one.people, one.figures) for one in report.rows]
    labels = ([_label(row.group[name], partial=row.partial) for name in report.by] for row in report.rows)
    rows = [(*row, 0.0) for row in zip(labels, cells, strict=True)]
    totals = _cells(columns, report.people, report.totals)
    yield from table_lines(report.by, [column.short for column in columns], rows, totals, width)
    yield from wrapped_notes(team_notes(report), width)


def _cells(columns: Sequence[ReportColumn], people: int, figures: Mapping[str, float]) -> list[str]:
    values = {PEOPLE.name: people, **figures}
    return [figure_text(column, values) for column in columns]


def _label(value: str | None, *, partial: bool) -> str:
    return f"{safe_line(value) if value is not None else '-'}{' +' if partial else ''}"


def team_notes(report: TeamReport) -> Iterator[Styled]:
    """Yield what there is to say of a report."""
    when = f", {report.since} to {report.until} (UTC)" if report.since else ""
    yield PLAIN, f"{people_text(report.people)}, {plural(report.machines, 'machine')}{when}."
    if any(row.partial for row in report.rows):
        yield PLAIN, "+: some of it is among the others, because in some weeks fewer than three people had it."
    if report.weeks_left_out:
        weeks = plural(report.weeks_left_out, "week")
        yield (
            PLAIN,
            f"Without {weeks} that are shown only with others, because fewer than three people did something in them.",
        )
    if report.totals.get("disputed"):
        count = plural(int(report.totals["disputed"]), "response")
        yield (
            LOUD,
            f"Machines disagree about the tokens of {count}; the most are counted. `--by machine --json` has whose.",
        )
    for machine, reasons in sorted(report.refused.items()):
        yield LOUD, safe_line(f"Left out of {machine}: {'; '.join(reasons[:3])}.")


def team_csv(report: TeamReport) -> str:
    """Return the rows as CSV, with a header line."""
    header = [*report.by, "people", *report.totals]
    return table_csv(header, ((row.group, (row.people, *row.figures.values())) for row in report.rows))


def team_value(report: TeamReport) -> dict[str, Any]:
    """Return a report as JSON values, as `report_value` returns others."""
    rows = [{**row.group, "people": row.people, "partial": row.partial, **row.figures} for row in report.rows]
    totals = {"people": report.people, "machines": report.machines, **report.totals}
    about = {name: getattr(report, name) for name in ("since", "until", "withheld", "weeks_left_out", "refused")}
    return {
        "by": list(report.by),
        "columns": [column_value(column) for column in columns_of(report)],
        "rows": rows,
        "totals": totals,
        **about,
        "labels": {row.group[CAUSE]: label(CAUSE, row.group[CAUSE]) for row in report.rows if CAUSE in report.by},
        "notes": note_values(team_notes(report)),
    }


def team_digest_value(digest: TeamDigest) -> dict[str, Any]:
    """Return the digest of a team as JSON values: its usage, that of the week before, each table, and the budgets."""
    return {
        "since": digest.since,
        "until": digest.until,
        "usage": team_value(digest.usage),
        "before": team_value(digest.before),
        "tables": {title: team_value(report) for title, report in digest.tables.items()},
        "budgets": [budget_value(one) for one in digest.budgets],
    }


def team_digest_markdown(digest: TeamDigest) -> str:
    """Return the digest of a team as Markdown."""
    lines = [f"# The team from {digest.since} to {digest.until}", ""]
    if digest.usage.withheld or not digest.usage.totals:
        lines += [WITHHELD if digest.usage.withheld else "Nothing was written in this time.", ""]
        return "\n".join(lines)
    usage, before = digest.usage.totals, digest.before.totals
    change = _change(usage["cost_usd"], before.get("cost_usd", 0.0))
    lines += [
        f"- {people_text(digest.usage.people)} on {plural(digest.usage.machines, 'machine')}: "
        f"{money_text(usage['cost_usd'])}{change}, {int(usage['responses']):,} responses",
        *(
            f"- Budget {inline(budget_name(one))}: {money_text(one.spent_usd)} of {money_text(one.amount_usd)}, "
            f"{money_text(abs(one.left_usd))} {'over' if one.left_usd < 0 else 'left'}"
            for one in digest.budgets
        ),
        "",
    ]
    for title, report in digest.tables.items():
        if report.rows:
            columns = columns_of(report)
            heads = " | ".join(column.short for column in columns)
            lines += [f"## {title}", "", f"| {report.by[0]} | {heads} |", f"|---|{'---:|' * len(columns)}"]
            for row in report.rows:
                name = inline(_label(row.group[report.by[0]], partial=row.partial))
                lines.append(f"| {name} | {' | '.join(_cells(columns, row.people, row.figures))} |")
            lines.append("")
    for machine, reasons in sorted(digest.usage.refused.items()):
        lines.append(inline(safe_line(f"Left out of {machine}: {'; '.join(reasons[:3])}.")))
    return "\n".join(lines).rstrip() + "\n"


def _change(now: float, before: float) -> str:
    return f" ({now / before - 1:+.0%} on the week before)".replace("%", " %") if before > 0 else ""
