"""`reread blame`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from reread.cli._options import json_option, merged_roots, root_options
from reread.cli._output import echo_spans, print_json, print_notice, progress, terminal_width

_LINES = re.compile(r"(.+):(\d{1,9}(?:-\d{0,9})?)", re.DOTALL | re.ASCII)


@click.command()
@click.argument("path", metavar="PATH[:LINES]")
@click.option("--as", "recorded_as", metavar="PATH", help="The path, or its end, that the file has in sessions.")
@json_option
@root_options
@click.pass_context
def blame(ctx: click.Context, path: str, recorded_as: str | None, as_json: bool, root: tuple[Path, ...]) -> None:
    """Show which session, turn and prompt wrote each line of a file.

    PATH is a file on this machine, with lines if only some are of interest. All sessions are taken into account, their
    agents included. A line that none of them wrote has no session; a bar stands for the one above. The first run reads
    all sessions. `--as` finds the sessions of a file that was written in another folder or on another machine.

    \b
    reread blame src/app.py
    reread blame src/app.py:40-60
    reread blame src/app.py --as harbor/backoff.py
    reread blame src/app.py --json
    """
    from reread.render.blame_table import blame_lines
    from reread.reports.blame_report import blame as find
    from reread.reports.blame_report import line_value

    name, lines = path, None
    found = _LINES.fullmatch(path)
    if found is not None and not os.path.exists(path):
        name, lines = found[1], found[2]
    unread: list[str] = []
    try:
        with progress("reading", None) as step:
            roots = merged_roots(ctx, root) or None
            blamed = find(name, lines=lines, recorded_as=recorded_as, root=roots, progress=step, unread=unread)
    finally:
        for session in unread:
            print_notice(f"Cannot read {session}: not included.")
    if as_json:
        return print_json([line_value(line) for line in blamed])
    if not any(line.session for line in blamed):
        return print_notice(
            "No session wrote any of these lines. If the file was elsewhere, name its path there: --as."
        )
    for spans in blame_lines(blamed, width=terminal_width()):
        echo_spans(spans)
    return None
