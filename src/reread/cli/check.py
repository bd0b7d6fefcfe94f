"""`reread check`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._options import SESSION, asked_roots, json_option, root_options
from reread.cli._output import print_json, progress
from reread.errors import Misuse

OK, FOUND_ERRORS = 0, 1


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@json_option
@click.option("--drift", is_flag=True, help="Only what the types do not know yet: new types, subtypes and fields.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of all records and stop.")
@click.option("-v", "--verbose", is_flag=True, help="Also what is merely worth knowing.")
@root_options
@click.pass_context
def check(
    ctx: click.Context,
    sessions: tuple[str, ...],
    as_json: bool,
    drift: bool,
    schema: bool,
    verbose: bool,
    root: tuple[Path, ...],
) -> None:
    """Validate sessions, files or folders.

    Exits with 1 where there are errors. A folder stands for every .jsonl file below it. Without arguments, all your
    sessions.

    \b
    reread check
    reread check latest
    reread check ~/.claude/projects --json
    reread check ~/.claude --drift
    """
    if schema:
        from reread.records.types import json_schema

        return print_json(json_schema())
    from reread.disk.layout import session_folders
    from reread.reports.check_report import check_report

    roots = asked_roots(ctx, root) or None
    named = sessions or [str(folder) for folder in session_folders(roots)]
    if not named:
        raise Misuse("there are no sessions to check: name a file or a folder, or see `reread --demo check`")
    with progress("checking", None) as step:
        checked = check_report(named, root=roots, progress=lambda _: step(1))
    if as_json:
        print_json(checked)
    else:
        from reread.render.listings import drift_lines, report_lines

        for line in drift_lines(checked) if drift else report_lines(checked, verbose=verbose):
            click.echo(line)
    return ctx.exit(FOUND_ERRORS if checked.totals.errors else OK)
