"""`reread show`, and `reread export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from reread.cli.options import SESSION, choice_options, chosen, open_session, root_option
from reread.errors import Misuse


@click.command()
@click.argument("session", type=SESSION)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "json"]),
    default="terminal",
    show_default=True,
    help="How to print it.",
)
@choice_options
@click.option("--raw", is_flag=True, help="Print the file's own bytes.")
@click.option("--no-pager", is_flag=True, help="Print straight to the terminal.")
@root_option
@click.pass_context
def show(
    ctx: click.Context, session: str, form: str, raw: bool, no_pager: bool, root: tuple[Path, ...], **options: Any
) -> None:
    """Read a session in the terminal.

    \b
    reread show latest
    reread show 3f2a --turns -3 --full
    reread show 3f2a --format markdown > session.md
    reread show 3f2a --format json | jq '.turns[].prompt.text'
    """
    opened = open_session(ctx, session, root)
    choice = chosen(options)
    if raw:
        sys.stdout.buffer.writelines(line.raw for line in opened.lines)
    elif form == "json":
        from reread.views.values import session_json

        sys.stdout.buffer.writelines(session_json(opened, choice))
    elif form == "markdown":
        from reread.views.markdown import session_markdown

        for line in session_markdown(opened, choice):
            click.echo(line)
    else:
        from reread.views.pictures import protocol
        from reread.views.terminal import TerminalView

        pictures = protocol() if no_pager and sys.stdout.isatty() else None
        _print_drawn(TerminalView(choice, pictures=pictures).session(opened), pager=not no_pager)


def _print_drawn(drawn: Iterator[Any], *, pager: bool) -> None:
    """Print what a view drew: through a pager on a terminal, plainly in a pipe."""
    from reread.views.terminal import make_console

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


@click.command()
@click.argument("session", type=SESSION)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="What to write.",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to; - for standard output, the default.")
@choice_options
@root_option
@click.pass_context
def export(ctx: click.Context, session: str, form: str, output: str, root: tuple[Path, ...], **options: Any) -> None:
    """Write a session to a file to keep or share.

    \b
    reread export latest -o session.md
    reread export 3f2a -f json -o session.json
    """
    from reread.views.exports import FORMATS

    pieces = FORMATS[form](open_session(ctx, session, root), chosen(options))
    if output == "-":
        sys.stdout.buffer.writelines(pieces)
        return
    try:
        with Path(output).open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise Misuse(f"{output}: cannot be written: {error.strerror or error}") from error
