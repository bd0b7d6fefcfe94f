"""`reread check`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._option_types import SESSION
from reread.cli._options import json_option, merged_roots, no_sessions_text, pager_option, refuse_with, root_options
from reread.cli._output import print_json, print_lines, progress
from reread.errors import Misuse

OK, FOUND_ERRORS = 0, 1


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@json_option
@click.option("--drift", is_flag=True, help="Show only types, tools and fields that reread does not know.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of all records and tools and exit.")
@click.option("--full", is_flag=True, help="Also show info-level findings.")
@pager_option
@root_options
@click.pass_context
def check(
    ctx: click.Context,
    sessions: tuple[str, ...],
    as_json: bool,
    drift: bool,
    schema: bool,
    full: bool,
    root: tuple[Path, ...],
) -> None:
    """Validate sessions, files or folders.

    Exits with 1 if there are errors. For a folder, checks every .jsonl file below it. Without arguments, checks all
    your sessions.

    \b
    reread check
    reread check latest
    reread check ~/.claude/projects --json
    reread check ~/.claude --drift
    """
    if schema:
        refuse_with(ctx, "--schema", ("--drift", "--full", "--json"), "it reads no sessions and is JSON always")
        from reread.records.types import json_schema
        from reread.tools import tool_types

        return print_json(json_schema(tool_types()))
    from reread.disk.layout import session_folders
    from reread.reports.check_report import check_report, drift_report

    roots = merged_roots(ctx, root) or None
    names = sessions or [str(folder) for folder in session_folders(roots)]
    if not names:
        raise Misuse(no_sessions_text(merged_roots(ctx, root), "check"))
    with progress("checking", None) as step:
        report = check_report(names, root=roots, progress=lambda _: step(1))
    if as_json:
        print_json(drift_report(report) if drift else report)
    else:
        from reread.render.listings import check_lines, drift_lines

        print_lines(drift_lines(report) if drift else check_lines(report, verbose=full))
    return ctx.exit(FOUND_ERRORS if report.totals.errors else OK)
