"""`reread stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reread.cli._option_types import SESSION, STATS_GROUPS
from reread.cli._options import (
    end_report,
    limit_option,
    listing_options,
    merged_roots,
    owner_options,
    project_option,
    since_option,
    tool_option,
    tz_option,
    until_option,
)
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._team import print_team, team_of, team_option
from reread.cli._unmatched import unknown_projects, unknown_tools
from reread.errors import Misuse

FILTERS = ("since", "until", "project", "person", "machine", "tool", "state")
NOT_OF_TEAMS = (
    *("--tool", "--state", "--limit", "--project", "--person", "--machine", "--list", "--no-cache", "--root", "--demo"),
)
NO_CALLS = "No call or turn fits all of these options. Run `reread stats` without them to count all."
STATES = ("running", "done", "failed", "denied", "interrupted")


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@click.option(
    "--by",
    default="tool",
    show_default=True,
    type=STATS_GROUPS,
    metavar="GROUP,...",
    help="Group by these, separated by commas.",
)
@tool_option("Count only calls of this tool. Repeatable.")
@click.option("--state", multiple=True, type=click.Choice(STATES), help="Count only calls in this state. Repeatable.")
@team_option("Report on")
@limit_option
@since_option
@until_option
@tz_option
@project_option
@owner_options
@click.option("--list", "as_list", is_flag=True, help="List the calls behind the figures, with their lines.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--no-cache", is_flag=True, help="Read all files again, and store nothing in the cache.")
@listing_options
@click.pass_context
def stats(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    as_list: bool,
    no_cache: bool,
    bucket: str | None,
    **options: Any,
) -> None:
    """Report what sessions did: calls, failures, time, cost.

    It also counts retries and changed lines, and shows how full the context was.

    Without arguments, report on all sessions. Groups are tool, failure (its kind), state, file, skill, mcp_server,
    agent, agent_type, thread (main or subagents), model, session, project, person, machine and team (of the machine
    that wrote a file), day, week, month, weekday and hour. A call's cost is its share of the response that made it; a
    retry is a call that follows a failed one of the same tool in the same turn. With --team, the groups are tool,
    failure, state, project, model, week, person, machine and team; groups of fewer than three people are merged.

    \b
    reread stats --since 30d
    reread stats --by failure --tool Bash
    reread stats --tool Edit --state failed --list
    reread stats --by week --json
    reread stats latest --by file
    reread stats --team s3://team/figures --by failure
    """
    from reread.render.stats_table import WIDTH, call_lines, stats_csv, stats_lines
    from reread.reports.stats_report import call_place_value, stats_value
    from reread.reports.stats_report import stats as report_on
    from reread.storage.user_paths import reread_words

    if as_csv and (as_json or as_list):
        raise Misuse("Cannot print both CSV and something else; use --csv, --json or --list.")
    if bucket is not None:
        found = team_of(ctx, bucket, NOT_OF_TEAMS, sessions)
        given = {name: options[name] for name in ("by", "since", "until", "tz")}
        print_team(ctx, found.stats(**given), as_json=as_json, as_csv=as_csv)
        return
    roots = merged_roots(ctx, root)
    with progress("reading", None) as step:
        report = report_on(*sessions, root=roots or None, cache=not no_cache, progress=step, **options)
    if as_json or as_csv:
        for path in report.unread:
            print_notice(f"Cannot read {path}: not included.")
    found_nothing = not report.rows and not report.hidden
    unmatched = found_nothing and any(options[name] for name in FILTERS)
    if as_json:
        print_json([call_place_value(place) for place in report.calls] if as_list else stats_value(report))
    elif as_csv:
        click.echo(stats_csv(report), nl=False)
    elif unmatched:
        pass
    elif as_list:
        print_lines([line] for line in call_lines(report.calls, width=terminal_width() or WIDTH))
    else:
        titles = {place.session: place.title for place in report.calls}
        usage = [*reread_words(roots), "usage", *sessions]
        print_lines([line] for line in stats_lines(report, width=terminal_width(), titles=titles, usage=usage))
    unknown = unknown_projects(options["project"], report.known.get("project", ()))
    notices = [*unknown, *unknown_tools(options["tool"], report.known.get("tool", ()))]
    filters = unmatched if found_nothing else None
    end_report(ctx, roots, of_all=not sessions, filters=filters, notices=notices, text=NO_CALLS)
