"""`reread tail`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reread.cli._options import (
    Format,
    full_option,
    limit_option,
    open_session,
    refuse_with,
    root_options,
    session_argument,
)
from reread.cli._output import echo_json
from reread.errors import Misuse


@click.command()
@session_argument
@click.option(
    "--format",  # without -f, which means something else in `tail`
    "form",
    type=Format(["terminal", "json"]),
    default="terminal",
    show_default=True,
    help="Print in this format.",
)
@limit_option("Show the last N turns first.", least=0, default=1)
@full_option
@root_options
@click.pass_context
def tail(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    form: str,
    limit: int,
    full: bool,
    root: tuple[Path, ...],
) -> None:
    """Follow a session live, including its agents.

    Of SESSION:3, shows what there is from turn 3 on, and of SESSION:AGENT an agent alone. Press Ctrl-C to stop.

    With --format json, prints one change per line: the fate of a record, and the message or call that it changed.

    \b
    reread tail
    reread tail --project . -n 3
    reread tail latest:3
    reread tail ./session.jsonl --format json
    """
    from reread.catalog.resolve import missing_path
    from reread.session.follow import follow
    from reread.session.session import threads_of

    session = open_session(ctx, name, root, project) if missing_path(name) is None else None
    if session is not None:
        threads_of(session).load_lines()  # a last line without an end is still being written
        if session.at.call is not None or session.at.request is not None or session.at.path is not None:
            raise Misuse(f"Cannot follow {session.at.place}; name a turn to begin with, or an agent.")
    if form == "json":
        refuse_with(ctx, "--format", ("--limit", "--full"), "JSON has every change from now on, in full")
        from reread.base import jsontext
        from reread.render.json import change_value

        for change in follow(session or name, fresh=session is None):
            echo_json(jsontext.dumps(change_value(change)))
            sys.stdout.flush()
        return
    from reread.render.selection import Selection
    from reread.render.sequence import conversation_sequence
    from reread.render.terminal import ChangePrinter, TerminalView, make_console
    from reread.render.terminal_nodes import picture_protocol

    pictures = picture_protocol() if sys.stdout.isatty() else None
    console, view = make_console(), TerminalView(Selection(full=full), pictures=pictures)
    first = -limit if session is None or session.at.turn is None else max(session.at.turn, 1)
    if session is not None and first != 0:
        for part in conversation_sequence(session.conversation, Selection(turns=(first, None), full=full)):
            for item in view.item(part):
                console.print(item)
    printer = ChangePrinter(console, view)
    for change in follow(session or name, fresh=session is None):
        printer.print(change)
