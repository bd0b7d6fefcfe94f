"""Options and output of verbs that report on a team."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import refuse_with
from reread.cli._output import print_json, print_lines, print_notice, terminal_width
from reread.cli._paths import PathName
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.dataset.team_tables import Team
    from reread.reports.report import Report

NOTHING = "Nobody of the team did anything in this time. Run it without --since and --until to count all."


def team_option(verb: str) -> Any:
    """Return the option that names the bucket of a team."""
    return click.option(
        "--team",
        "bucket",
        type=PathName(bucket=True),
        metavar="BUCKET",
        help=f"{verb} the figures that a team has written to this bucket.",
    )


def team_of(ctx: click.Context, bucket: str, others: tuple[str, ...], sessions: tuple[str, ...] = ()) -> Team:
    """Return the team of a bucket; raise Misuse if options or sessions are given that it has no use for.

    It refuses itself what would choose sessions by something that its figures do not have.
    """
    from reread.dataset.team_tables import team

    refuse_with(ctx, "--team", (*others, "--no-cache", "--root", "--demo"), "a team has its own figures")
    if sessions:
        raise Misuse(f"Cannot use --team with {sessions[0]}: the figures of a team name no session.")
    return team(bucket)


def team_report(
    ask: Callable[..., Report],
    *,
    by: str,
    limit: int | None,
    sort: Any = "group",
    min_cost: float | None = None,
    **options: Any,
) -> Report:
    """Return a report on a team, with its rows in the order that options ask for, and as many."""
    from reread.render.report_table import WEIGHTS
    from reread.render.team_table import team_notes
    from reread.reports.tally import limited
    from reread.reports.usage_report import arrange

    report = ask(by=["cause" if name == "cache" else name for name in by.split(",")], **options)
    report.notes = list(team_notes(report))
    if report.kind == "usage":
        return arrange(report, sort=sort, min_cost=min_cost, limit=limit)
    report.rows, report.hidden = limited(report.rows, limit, by=report.by, weight=WEIGHTS[report.kind])
    return report


def print_team(ctx: click.Context, report: Report, *, as_json: bool, as_csv: bool) -> None:
    """Print a report on a team, and exit with 1 if it is empty."""
    from reread.render.report_table import report_lines, report_value

    if as_json:
        print_json(report_value(report))
    elif as_csv:
        click.echo(report.to_csv(), nl=False)
    elif report.totals:
        print_lines([line] for line in report_lines(report, width=terminal_width()))
    for _, note in (report.notes or ()) if as_csv or not report.totals else ():
        print_notice(note)
    if not report.totals:
        if not report.withheld:
            print_notice(NOTHING)
        ctx.exit(NOTHING_FOUND)
