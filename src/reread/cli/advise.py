"""`reread advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reread.base.scope_options import OF_SESSIONS
from reread.cli._options import (
    end_report,
    is_filtered,
    merged_roots,
    scope_options,
    unmatched_projects,
)
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._report import report_options


@click.command()
@scope_options(*OF_SESSIONS)
@click.option("--full", is_flag=True, help="Print all of it, not only the five pieces worth most.")
@report_options
@click.pass_context
def advise(
    ctx: click.Context,
    sessions: tuple[str, ...],
    root: tuple[Path, ...],
    as_json: bool,
    full: bool,
    **options: Any,
) -> None:
    """Say what to do differently, from what was recorded.

    No model is asked. It names MCP servers, tools and skills that are loaded and never used; commands that keep
    failing; calls that a rule or a hook denies again and again; and habits by which the cache is lost. Each piece says
    what that cost, what to do, what was seen, and the command that shows it, the dearest first. None repeats what the
    memory files (CLAUDE.md) of these sessions mention, or is about less than a cent a day.

    \b
    reread advise
    reread advise --since 30d --project shop
    reread advise --full
    """
    from reread.render.report_table import advice_lines, unread_note
    from reread.reports.advice_report import advice_value
    from reread.reports.advice_report import advise as look

    roots = merged_roots(ctx, root)
    with progress("reading", None) as step:
        report = look(*sessions, root=roots or None, progress=step, **options)
    if report.unread:
        print_notice(unread_note(report.unread))
    if as_json:
        print_json(advice_value(report))
    elif report.items:
        print_lines([line] for line in advice_lines(report, all=full, width=terminal_width()))
    filters = is_filtered(options) if not report.sessions else None
    notices = unmatched_projects(roots, options["project"]) if filters else []
    end_report(ctx, roots, of_all=not sessions, filters=filters, notices=notices, text="No session fits these options.")
    if report.sessions and not report.items and not as_json:
        print_notice("No advice: nothing costs a cent a day that is loaded in vain, fails, is denied or expires often.")
