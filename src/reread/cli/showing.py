"""`reread show`, and `reread export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli.options import (
    SESSION,
    asked_roots,
    format_option,
    open_session,
    root_option,
    selection_of,
    selection_options,
    sessions_below,
)
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.views.parts import Selection


@click.command()
@click.argument("session", type=SESSION)
@format_option("terminal", "markdown", "json", default="terminal", help="How to print it.")
@selection_options
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
    selection = selection_of(options)
    if raw:
        sys.stdout.buffer.writelines(line.raw for line in opened.lines)
    elif form == "json":
        from reread.views.safety import safe_json
        from reread.views.values import session_json

        pieces = session_json(opened, selection)
        if sys.stdout.isatty():
            pieces = (safe_json(piece.decode()).encode() for piece in pieces)
        sys.stdout.buffer.writelines(pieces)
    elif form == "markdown":
        from reread.views.markdown import session_markdown

        for line in session_markdown(opened, selection):
            click.echo(line)
    else:
        from reread.views.pictures import protocol
        from reread.views.terminal import TerminalView

        pictures = protocol() if no_pager and sys.stdout.isatty() else None
        _print_drawn(TerminalView(selection, pictures=pictures).session(opened), pager=not no_pager)


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
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION|DIR...")
@format_option(
    "html", "markdown", "json", help="What to write; by the name of the output where that tells, else markdown."
)
@click.option("-o", "--output", default="-", metavar="FILE|DIR", help="Where to; - for standard output, the default.")
@click.option("--no-images", is_flag=True, help="Leave pictures out of a page.")
@selection_options
@root_option
@click.pass_context
def export(
    ctx: click.Context,
    sessions: tuple[str, ...],
    form: str | None,
    output: str,
    root: tuple[Path, ...],
    **options: Any,
) -> None:
    """Write a session to a file, or several to a folder of pages.

    A page (html) holds the reader and its data, and needs no network. Of several sessions, or a folder of them, there
    is an index too, and what did not change is not written again.

    \b
    reread export latest -o session.html
    reread export 3f2a --turns 3-9 --no-thinking -o session.md
    reread export 3f2a -f json -o session.json
    reread export ~/.claude -f html -o ./sessions
    """
    form = form or FORMS.get(Path(output).suffix, "markdown")
    first, *others = sessions
    if others or os.path.isdir(os.path.expanduser(first)):
        _export_site(ctx, sessions, form, output, root, selection_of(options))
        return
    from reread.garbage import no_collection
    from reread.views.exports import FORMATS, write_document

    if form == "html" and output == "-" and sys.stdout.isatty():
        raise Misuse("a page is not for a terminal: say where it goes, as in -o session.html")
    session = open_session(ctx, first, root)
    pieces = FORMATS[form](session, selection_of(options))
    if output == "-":
        sys.stdout.buffer.writelines(pieces)
        return
    with no_collection():
        write_document(session, pieces, Path(output))


FORMS = {".html": "html", ".htm": "html", ".json": "json"}
"""What the end of a file's name says of its format."""


def _export_site(
    ctx: click.Context, sessions: tuple[str, ...], form: str, output: str, root: tuple[Path, ...], selection: Selection
) -> None:
    from reread.cli.output import progress
    from reread.places import named
    from reread.session import find
    from reread.views.safety import safe
    from reread.views.sites import write_site

    if form != "html" or output == "-":
        raise Misuse("several sessions can be exported as a site only: -f html -o DIR")
    paths: list[Path] = []
    for name in sessions:
        folder = named(name)
        found = sessions_below(folder) if os.path.isdir(folder) else [find(name, root=asked_roots(ctx, root) or None)]
        paths += [path for path in found if path not in paths]
    if not paths:
        raise Misuse(f"no sessions in {', '.join(sessions)}")
    with progress("writing", len(paths)) as step:
        site = write_site(paths, Path(output), selection, progress=step)
    for fault in site.faults:
        click.echo(safe(f"reread: {fault}"), err=True)
    click.echo(f"{safe(site.index)}: {site.written} written, {site.unchanged} unchanged", err=True)
    ctx.exit(1 if site.faults else 0)
