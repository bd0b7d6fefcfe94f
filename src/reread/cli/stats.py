"""`reread stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reread.base.scope_options import ALL
from reread.cli._option_types import STATS_GROUPS
from reread.cli._options import (
    limit_option,
    merged_roots,
    scope_options,
)
from reread.cli._output import progress
from reread.cli._report import Form, end_of_report, form_options, print_report, refuse_two_forms, report_options

NO_CALLS = "No call or turn fits all of these options. Run `reread stats` without them to count all."


@click.command()
@click.option(
    "--by",
    default="tool",
    show_default=True,
    type=STATS_GROUPS,
    metavar="GROUP,...",
    help="Group by these, separated by commas.",
)
@limit_option()
@scope_options(*ALL)
@form_options("List the calls of each group, failed ones first.")
@report_options
@click.pass_context
def stats(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    as_list: bool,
    **options: Any,
) -> None:
    """Report what sessions did: calls, failures, time, cost.

    It also counts retries and changed lines, and shows how full the context was.

    Without arguments, report on all sessions. Groups are tool, failure (its kind), state, file, skill, mcp_server,
    agent, agent_type, thread (main or subagents), model, session, project, person, machine and team (of the machine
    that wrote a file), day, week, month, weekday and hour. A call's cost is its share of the response that made it; a
    retry is a call that follows a failed one of the same tool in the same turn. --list names the calls of each group,
    with their commands, errors and addresses; by failure, only those that failed.

    \b
    reread stats --since 30d
    reread stats --by failure --tool Bash
    reread stats --by failure --list --since 7d
    reread stats --tool Edit --state failed --list
    reread stats --by week --json
    reread stats latest --by file
    """
    from reread.reports.stats_report import stats as report_on
    from reread.storage.user_paths import reread_words

    refuse_two_forms(as_json=as_json, as_csv=as_csv, as_list=as_list)
    roots = merged_roots(ctx, root)
    limit = options.pop("limit") if as_list else None
    with progress("reading", None) as step:
        report = report_on(*sessions, root=roots or None, progress=step, **options)
    form = Form(as_json, as_csv, as_list, limit)
    print_report(report, options, form, roots, command=[*reread_words(roots), "usage", *sessions])
    end_of_report(ctx, report, options, roots=roots, of_all=not sessions, text=NO_CALLS)
