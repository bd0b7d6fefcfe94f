"""`reread stats`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.scope_options import ALL
from reread.cli._option_types import STATS_GROUPS
from reread.cli._options import (
    is_filtered,
    limit_option,
    merged_roots,
    scope_options,
)
from reread.cli._output import ids_to_type, print_json, print_lines, progress, terminal_width
from reread.cli._report import (
    csv_option,
    end_of_report,
    is_empty,
    print_end_of_list,
    print_report,
    refuse_two_forms,
    report_options,
)

if TYPE_CHECKING:
    from reread.reports.report import Report

NO_CALLS = "No call or turn fits all of these options. Run `reread stats` without them to count all."
MOST_LISTED = 50
"""How many calls are listed in the terminal unless -n says so."""


@click.command()
@click.option(
    "--by",
    default="tool",
    show_default=True,
    type=STATS_GROUPS,
    metavar="GROUP,...",
    help="Group by these, separated by commas.",
)
@limit_option
@scope_options(*ALL)
@click.option("--list", "as_list", is_flag=True, help="List the calls of each group, failed ones first.")
@csv_option
@report_options
@click.pass_context
def stats(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    as_list: bool,
    no_cache: bool,
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
        report = report_on(*sessions, root=roots or None, cache=not no_cache, progress=step, **options)
    if as_list and (as_json or not is_empty(report) or not is_filtered(options)):
        _print_calls(report, limit, roots, as_json=as_json)
    else:
        usage = [*reread_words(roots), "usage", *sessions]
        print_report(report, options, as_json=as_json, as_csv=as_csv, command=usage)
    end_of_report(ctx, report, options, roots=roots, of_all=not sessions, text=NO_CALLS)


def _print_calls(report: Report, limit: int | None, roots: list[Path], *, as_json: bool) -> None:
    """Print the calls behind the figures of a report."""
    from reread.render.report_table import call_lines  # loaded late, as all below: most reports list no calls
    from reread.render.text_table import WIDTH
    from reread.reports.call_list import calls_to_list, listed_calls, listed_value

    calls = calls_to_list(report)
    if as_json:
        print_json([listed_value(one) for one in listed_calls(calls[:limit])])
        return
    listed = listed_calls(calls[: limit or MOST_LISTED])
    width = terminal_width() or WIDTH
    print_lines([line] for line in call_lines(report, listed, calls, ids=ids_to_type(roots), width=width))
    print_end_of_list(len(listed), len(calls), "call", listed[0].address if listed else None, roots)
