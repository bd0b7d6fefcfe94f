"""`reread show`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from reread.cli._options import SESSION, format_option, open_session, root_options, selection_of, selection_options


@click.command()
@click.argument("session", type=SESSION)
@format_option("terminal", "markdown", "json", default="terminal", help="How to print it.")
@selection_options
@click.option("--raw", is_flag=True, help="Print the file's own bytes.")
@click.option("--no-pager", is_flag=True, help="Print straight to the terminal.")
@root_options
@click.pass_context
def show(
    ctx: click.Context, session: str, form: str, raw: bool, no_pager: bool, root: tuple[Path, ...], **options: Any
) -> None:
    """Read a session in the terminal.

    \b
    reread show latest
    reread show latest --turns -3 --full
    reread show latest --format markdown > session.md
    reread show latest --format json | jq '.turns[].prompt.text'
    """
    opened = open_session(ctx, session, root)
    selection = selection_of(options)
    if raw:
        sys.stdout.buffer.writelines(line.raw for line in opened.lines)
    elif form == "json":
        from reread.render.json import session_json
        from reread.render.sanitize import safe_json

        pieces = session_json(opened, selection)
        if sys.stdout.isatty():
            pieces = (safe_json(piece.decode()).encode() for piece in pieces)
        sys.stdout.buffer.writelines(pieces)
    elif form == "markdown":
        from reread.render.markdown import session_markdown

        for line in session_markdown(opened, selection):
            click.echo(line)
    else:
        from reread.render.terminal import TerminalView
        from reread.render.terminal_images import picture_protocol

        pictures = picture_protocol() if no_pager and sys.stdout.isatty() else None
        _print_drawn(TerminalView(selection, pictures=pictures).session(opened), pager=not no_pager)


def _print_drawn(drawn: Iterator[Any], *, pager: bool) -> None:
    """Print what a view drew: through a pager on a terminal, plainly in a pipe."""
    from reread.render.terminal import make_console

    console = make_console()

    def pages() -> Iterator[str]:
        for item in drawn:
            with console.capture() as captured:
                console.print(item)
            yield "\n".join(line.rstrip() for line in captured.get().split("\n"))

    if pager and sys.stdout.isatty():
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(pages(), color=True)
    else:
        for page in pages():
            click.echo(page, nl=False, color=True)
