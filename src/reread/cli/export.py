"""`reread export`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    SESSION,
    asked_roots,
    format_option,
    open_session,
    root_options,
    selection_of,
    selection_options,
    sessions_below,
)
from reread.cli._output import progress, say
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.render.parts import Selection

FORMS = {".html": "html", ".htm": "html", ".json": "json"}
"""What the end of a file's name says of its format."""


@click.command()
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION|DIR...")
@format_option(
    "html", "markdown", "json", help="What to write; by the name of the output where that tells, else markdown."
)
@click.option("-o", "--output", default="-", metavar="FILE|DIR", help="Where to; - for standard output, the default.")
@click.option("--no-images", is_flag=True, help="Leave pictures out of a page.")
@selection_options
@root_options
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
    reread export latest --turns -3 --no-thinking -o session.md
    reread export latest -f json -o session.json
    reread export ~/.claude -f html -o ./sessions
    """
    form = form or FORMS.get(Path(output).suffix, "markdown")
    first, *others = sessions
    if others or os.path.isdir(os.path.expanduser(first)):
        _export_site(ctx, sessions, form, output, root, selection_of(options))
        return
    from reread.base.gc_pause import gc_paused
    from reread.reader.exports import FORMATS, write_document

    if form == "html" and output == "-" and sys.stdout.isatty():
        raise Misuse("a page is not for a terminal: say where it goes, as in -o session.html")
    session = open_session(ctx, first, root)
    pieces = FORMATS[form](session, selection_of(options))
    if output == "-":
        sys.stdout.buffer.writelines(pieces)
        return
    with gc_paused():
        write_document(session, pieces, Path(output))


def _export_site(
    ctx: click.Context, sessions: tuple[str, ...], form: str, output: str, root: tuple[Path, ...], selection: Selection
) -> None:
    from reread.disk.layout import expand_path
    from reread.reader.site_export import write_site
    from reread.render.sanitize import safe
    from reread.session.session import find

    if form != "html" or output == "-":
        raise Misuse("several sessions can be exported as a site only: -f html -o DIR")
    paths: list[Path] = []
    for name in sessions:
        folder = expand_path(name)
        found = sessions_below(folder) if os.path.isdir(folder) else [find(name, root=asked_roots(ctx, root) or None)]
        paths += [path for path in found if path not in paths]
    if not paths:
        raise Misuse(f"no sessions in {', '.join(sessions)}")
    with progress("writing", len(paths)) as step:
        site = write_site(paths, Path(output), selection, progress=step)
    for fault in site.faults:
        say(fault)
    click.echo(f"{safe(site.index)}: {site.written} written, {site.unchanged} unchanged", err=True)
    ctx.exit(1 if site.faults else 0)
