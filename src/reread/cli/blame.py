"""`reread blame`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from reread.cli._option_types import FILE
from reread.cli._options import have_no_sessions, listing_options, merged_roots, no_sessions_text
from reread.cli._output import print_json, print_lines, print_notice, progress, terminal_width
from reread.cli._unmatched import exit_unmatched

UNWRITTEN = "No session wrote any of these lines. If the file was elsewhere, name its path there: --as."
_LINES = re.compile(r"(.+):(\d{1,9}(?:-\d{0,9})?)", re.DOTALL | re.ASCII)


@click.command()
@click.argument("path", type=FILE, metavar="PATH[:LINES]")
@click.option(
    "--as", "recorded_as", type=FILE, metavar="PATH", help="The path of the file in sessions, or the end of it."
)
@listing_options
@click.pass_context
def blame(ctx: click.Context, path: str, recorded_as: str | None, as_json: bool, root: tuple[Path, ...]) -> None:
    """Show which session, turn and prompt wrote each line of a file.

    PATH is a file on this machine; add lines to see only those. All sessions and their agents are searched; the first
    run reads all of them. Lines that no session wrote name none, and a bar means the same as above. `--as` finds
    the sessions of a file that was written in another folder or on another machine.

    \b
    reread blame src/app.py
    reread blame src/app.py:40-60
    reread blame src/app.py --as harbor/backoff.py
    reread blame src/app.py --json
    """
    from reread.render.file_listing import blame_lines
    from reread.reports.blame_report import blame as find

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
        print_json(blamed)
    if not any(line.session for line in blamed):
        no_sessions = [no_sessions_text(roots or [], "blame")] if have_no_sessions(roots or []) else []
        exit_unmatched(ctx, no_sessions, UNWRITTEN)
    return None if as_json else print_lines(blame_lines(blamed, width=terminal_width()))
