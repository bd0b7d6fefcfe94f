"""`reread show`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.base.address import Address
from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._options import (
    SELECTION_OPTIONS,
    format_option,
    listing_options,
    open_whole_session,
    refuse_with,
    schema_option,
    selection_from,
    selection_options,
    session_argument,
)
from reread.cli._output import pages_output, print_json, print_lines, print_pages, write_bytes
from reread.cli._unmatched import exit_unmatched, lacks_calls
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.session.session import Session


@click.command()
@session_argument
@format_option("terminal", "markdown", "json", "raw", default="terminal", help="Print in this format.")
@selection_options
@schema_option
@listing_options
@click.pass_context
def show(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    form: str,
    schema: bool,
    as_json: bool,
    root: tuple[Path, ...],
    **options: Any,
) -> None:
    """Read a session in the terminal, by default the newest.

    SESSION:3 is its third turn, SESSION:3.2 the second call there, SESSION:AGENT an agent, by the beginning of its id,
    SESSION@1 another path of a session that was rewound, and SESSION:req4 an API request as it was sent: Claude Code
    records its requests from 2.1.325 on. The format `raw` is the bytes of the file as they are.

    \b
    reread show
    reread show 8c1f:2
    reread show d2a9:ac60
    reread show --project harbor --only answers
    reread show latest --turns -3 --full
    reread show latest --errors
    reread show latest --tool edit --file src/app.py
    reread show latest --format markdown > session.md
    reread show latest:req4 --full
    reread show latest --json | jq '.turns[].prompt.text'
    """
    refuse_with(ctx, "--json", ("--format",), "both are formats")
    form = "json" if as_json else form
    if schema:
        refuse_with(ctx, "--schema", ("--format", "--json", *SELECTION_OPTIONS), "it reads no session")
        from reread.render.json_values import session_schema
        from reread.render.request_listing import request_schema

        print_json(session_schema() if Address.parse(name).request is None else request_schema())
        return
    raw = form == "raw"
    if raw:
        refuse_with(ctx, "--format", SELECTION_OPTIONS, "`raw` prints the whole file as it is")
    from reread.catalog.resolve import require_whole
    from reread.render.selection import Selection, selection_at
    from reread.session.session import at_place

    selection, with_agents = selection_from(ctx, options)
    if not (with_agents and selection.images):
        raise Misuse("Cannot omit images or agents here; `reread export` and `reread share` can.")
    session = open_whole_session(ctx, name, root, project)
    if session.at.request is not None:
        if selection != Selection(full=selection.full):
            raise Misuse(f"Cannot choose parts of {session.at.place}: it is printed whole.")
        _show_request(ctx, session, form, full=options["full"])
        return
    session = at_place(session)
    selection = selection_at(session, selection)
    if raw:
        require_whole(session.at)
    is_empty = lacks_calls(session, selection)
    if raw:
        write_bytes(line.raw for line in session.lines)
    elif form == "json":
        from reread.base.sanitize import safe_json
        from reread.render.json import session_json

        pieces = session_json(session, selection)
        if sys.stdout.isatty():
            pieces = (safe_json(piece.decode()).encode() for piece in pieces)
        write_bytes(pieces)
    elif form == "markdown":
        from reread.render.markdown import session_markdown

        for line in session_markdown(session, selection):
            click.echo(line)
    else:
        from reread.render.terminal import TerminalView
        from reread.render.terminal_nodes import picture_protocol

        pictures = picture_protocol() if sys.stdout.isatty() and not pages_output() else None
        print_pages(_printed(TerminalView(selection, pictures=pictures).session(session)), colour=True)
    ctx.exit(NOTHING_FOUND if is_empty else 0)


def _show_request(ctx: click.Context, session: Session, form: str, *, full: bool) -> None:
    from reread.render.request_listing import request_lines, request_value
    from reread.session.places import NoSuchRequest, request_at
    from reread.session.session import at_place

    try:
        found = request_at(at_place(session).conversation, session.at.request or 0)
    except NoSuchRequest as error:
        exit_unmatched(ctx, (), str(error))
    if form == "json":
        print_json(request_value(found))
    elif form != "terminal":
        raise Misuse(f"Cannot print a request as {form}; use --json.")
    else:
        print_lines(request_lines(found, len(found.conversation.requests), full=full))


def _printed(items: Iterator[Any]) -> Iterator[str]:
    """Yield rendered items as text for the terminal."""
    from reread.render.long_text import LongText
    from reread.render.terminal import make_console

    console = make_console()
    for item in items:
        if isinstance(item, LongText):
            yield from item.pages(console)
            continue
        with console.capture() as captured:
            console.print(item)
        yield "\n".join(line.rstrip() for line in captured.get().split("\n"))
