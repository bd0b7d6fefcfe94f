"""`reread diff`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._option_types import SESSION
from reread.cli._options import ADDRESS, listing_options, merged_roots
from reread.cli._output import print_json, print_lines, print_notice, terminal_width
from reread.cli._unmatched import exit_unmatched


@click.command()
@click.argument("first", type=SESSION, metavar=ADDRESS)
@click.argument("second", type=SESSION, required=False, metavar=f"[{ADDRESS}]")
@click.option("--stat", is_flag=True, help="Print only how many lines differ in each file.")
@listing_options
@click.pass_context
def diff(ctx: click.Context, first: str, second: str | None, stat: bool, as_json: bool, root: tuple[Path, ...]) -> None:
    """Show what a session or a turn changed, or compare two.

    With one session, print its changes to files; with a turn, a call or an agent, those of that. With two turns of a
    session, print what changed from the end of the one to the end of the other; turn 0 is before the first. With two
    sessions, or paths through one (SESSION@N), show turns, calls, cost and answers side by side, and how the files that
    they left differ. With two API requests (SESSION:reqN), show what the second one added, dropped and edited; with
    one, since the request before it. Claude Code records its requests from 2.1.325 on.

    \b
    reread diff latest
    reread diff 8c1f:2
    reread diff 8c1f:0 8c1f:2 --stat
    reread diff d2a9@0 d2a9@1
    reread diff latest:req4 latest:req5
    reread diff d2a9:ac60:req2
    reread diff 8c1f b90c --json
    """
    from reread.render.diff_table import difference_lines
    from reread.reports.diff_report import diff as compare
    from reread.session.places import NoSuchRequest

    try:
        found = compare(first, second, root=merged_roots(ctx, root) or None)
    except NoSuchRequest as error:
        exit_unmatched(ctx, (), str(error))
    if as_json:
        return print_json(found)
    if found.requests is not None:
        from reread.render.request_listing import request_change_lines

        return print_lines(request_change_lines(found.requests, stat=stat))
    if not found.files and found.sides is None:
        return print_notice("No file changed there.")
    return print_lines(difference_lines(found, stat=stat, width=terminal_width()))
