"""Options and output of verbs that report on a team."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import click

from reread.base.times import parse_time_zone
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import refuse_with
from reread.cli._output import print_json, print_lines, print_notice, terminal_width
from reread.cli._paths import PathName
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.dataset.team_report import TeamReport
    from reread.dataset.team_tables import Team

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
    """Return the team of a bucket; raise Misuse if options or sessions are given that it has no use for."""
    from reread.dataset.team_tables import team

    refuse_with(ctx, "--team", others, "a team has its own figures")
    tz: str | None = ctx.params.get("tz")
    if tz is not None and parse_time_zone(tz) != UTC:
        raise Misuse(f"Cannot use --team with --tz {tz}: the days and weeks of a team are those of UTC.")
    if sessions:
        raise Misuse(f"Cannot use --team with {sessions[0]}: the figures of a team name no session.")
    return team(bucket)


def print_team(ctx: click.Context, report: TeamReport, *, as_json: bool, as_csv: bool) -> None:
    """Print a report on a team, and exit with 1 if it is empty."""
    from reread.render.team_table import WITHHELD, team_csv, team_lines, team_notes, team_value

    if as_json:
        print_json(team_value(report))
    elif as_csv:
        click.echo(team_csv(report), nl=False)
        for _, note in team_notes(report):
            print_notice(note)
    elif report.totals:
        print_lines([line] for line in team_lines(report, width=terminal_width()))
    if report.withheld:
        print_notice(WITHHELD)
    elif not report.totals:
        print_notice(NOTHING)
    if not report.totals:
        ctx.exit(NOTHING_FOUND)
