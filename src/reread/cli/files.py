"""`reread files`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._option_types import FILE
from reread.cli._options import listing_options, open_session, session_argument
from reread.cli._output import print_json, print_lines, print_notice, terminal_width
from reread.cli._unmatched import exit_unmatched, unknown_files
from reread.errors import NotFound


@click.command()
@session_argument
@click.option(
    "--file", "paths", multiple=True, type=FILE, metavar="PATH", help="List each version of this file. Repeatable."
)
@listing_options
@click.pass_context
def files(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    paths: tuple[str, ...],
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """List the files that a session changed, its agents included; of a turn, a call or an agent, those it changed.

    Shows how many lines were added and removed, and in which turns. With --file, lists every version of a file: what
    made it, whether that was outside the session, and how its text is known.

    \b
    reread files
    reread files 8c1f:2
    reread files 8c1f --file backoff.py
    reread files --project harbor --json
    """
    from reread.render.file_listing import history_lines, turns_text, version_lines
    from reread.reports.file_report import find_file, history_value, made_at

    session = open_session(ctx, name, root, project)
    try:
        found = made_at(session)
        known = {history.path: history for history in found}
        found = [find_file(known, path, session.project) for path in paths] if paths else found
    except NotFound as error:
        if as_json:
            print_json([])
        exit_unmatched(ctx, unknown_files(paths, session.files), str(error))
    if as_json:
        print_json([history_value(history, versions=bool(paths)) for history in found])
    elif not found:
        print_notice(f"{session.at.place.capitalize() or 'This session'} changed no files.")
    elif paths:
        print_lines(line for history in found for line in version_lines(history, session.project))
    else:
        print_lines(history_lines(found, session.project, width=terminal_width()))
    if session.unchecked_turns and not session.at.is_place:
        turns = turns_text(session.unchecked_turns)
        print_notice(f"Files may be missing: in {turns}, some changed that Claude Code made no copies of.")
