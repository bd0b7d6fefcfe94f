"""`reread show`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    SELECTION_OPTIONS,
    format_option,
    open_session,
    refuse_with,
    root_options,
    selection_from,
    selection_options,
    session_argument,
)
from reread.cli._output import print_json, print_notice, write_bytes

if TYPE_CHECKING:
    from reread.model.conversation import Call
    from reread.session.session import Session


@click.command()
@session_argument
@format_option("terminal", "markdown", "json", default="terminal", help="Print in this format.")
@selection_options
@click.option("--raw", is_flag=True, help="Print the bytes of the file unchanged.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of --format json and exit.")
@click.option("--no-pager", is_flag=True, help="Print directly to the terminal.")
@root_options
@click.pass_context
def show(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    form: str,
    raw: bool,
    schema: bool,
    no_pager: bool,
    root: tuple[Path, ...],
    **options: Any,
) -> None:
    """Read a session in the terminal, by default the newest.

    \b
    reread show
    reread show --project harbor --only answers
    reread show latest --turns -3 --full
    reread show latest --errors
    reread show latest --tool edit --file src/app.py
    reread show latest --format markdown > session.md
    reread show latest --format json | jq '.turns[].prompt.text'
    """
    if schema:
        refuse_with(ctx, "--schema", ("--raw", "--format", *SELECTION_OPTIONS), "it reads no session")
        from reread.render.json_values import session_schema

        print_json(session_schema())
        return
    refuse_with(ctx, "--raw", ("--format", *SELECTION_OPTIONS), "it prints the whole file as it is")
    selection = selection_from(ctx, options)
    session = open_session(ctx, name, root, project)
    if selection.chooses_calls and not selection.has_call(_all_calls(session)):
        print_notice("No such calls. Run `reread show` without --tool, --file and --errors to see all.")
    if raw:
        write_bytes(line.raw for line in session.lines)
    elif form == "json":
        from reread.render.json import session_json
        from reread.render.sanitize import safe_json

        pieces = session_json(session, selection)
        if sys.stdout.isatty():
            pieces = (safe_json(piece.decode()).encode() for piece in pieces)
        sys.stdout.buffer.writelines(pieces)
    elif form == "markdown":
        from reread.render.markdown import session_markdown

        for line in session_markdown(session, selection):
            click.echo(line)
    else:
        from reread.render.terminal import TerminalView
        from reread.render.terminal_images import picture_protocol

        pictures = picture_protocol() if no_pager and sys.stdout.isatty() else None
        _print_items(TerminalView(selection, pictures=pictures).session(session), pager=not no_pager)


def _all_calls(session: Session) -> Iterator[Call]:
    yield from session.calls
    for agent in session.agents.values():
        yield from agent.calls


def _print_items(items: Iterator[Any], *, pager: bool) -> None:
    """Print rendered items, on a terminal through a pager."""
    from reread.render.sanitize import terminal_text
    from reread.render.terminal import make_console

    console = make_console()

    def pages() -> Iterator[str]:
        for item in items:
            with console.capture() as captured:
                console.print(item)
            yield terminal_text("\n".join(line.rstrip() for line in captured.get().split("\n")))

    if pager and sys.stdout.isatty():
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(pages(), color=True)
    else:
        for page in pages():
            click.echo(page, nl=False, color=True)
