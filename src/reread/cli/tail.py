"""`reread tail`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from reread.cli._options import SESSION, full_option, open_session, root_options
from reread.cli._output import echo_json


@click.command()
@click.argument("session", type=SESSION)
@click.option(
    "--format",  # without -f, which `tail` has for something else
    "form",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    show_default=True,
    help="How to print it.",
)
@click.option(
    "-n",
    "--last",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    metavar="N",
    help="How many turns to show first.",
)
@full_option
@root_options
@click.pass_context
def tail(ctx: click.Context, session: str, form: str, last: int, full: bool, root: tuple[Path, ...]) -> None:
    """Follow a session while it is written, agents included.

    Ends with Ctrl-C.

    With --format json, each line is one change: the fate of a record, and the message or call it changed.

    \b
    reread tail latest
    reread tail ./session.jsonl --format json
    """
    from reread.session.follower import follow

    opened = open_session(ctx, session, root) if not _is_missing_path(session) else None
    if form == "json":
        from reread.base import jsontext
        from reread.render.json import change_value

        for change in follow(opened or session):
            echo_json(jsontext.dumps(change_value(change)))
            sys.stdout.flush()
        return
    from reread.render.selection import Selection
    from reread.render.sequence import conversation_sequence
    from reread.render.terminal import TerminalView, change_lines, make_console
    from reread.render.terminal_images import picture_protocol

    pictures = picture_protocol() if sys.stdout.isatty() else None
    console, view = make_console(), TerminalView(Selection(full=full), pictures=pictures)
    if opened is not None and last > 0:
        for part in conversation_sequence(opened.conversation, Selection(turns=(-last, None), full=full)):
            for item in view.item(part):
                console.print(item)
    for change in follow(opened or session):
        for item in change_lines(change, view):
            console.print(item, end=getattr(item, "end", "\n"))


def _is_missing_path(name: str) -> bool:
    """Whether this names a file that may still appear."""
    return ("/" in name or os.sep in name or name.endswith(".jsonl")) and not os.path.exists(os.path.expanduser(name))
