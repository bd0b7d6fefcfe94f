"""`reread export`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    SESSION,
    format_option,
    merged_roots,
    open_session,
    root_options,
    selection_from,
    selection_options,
    sessions_below,
)
from reread.cli._output import print_notice, progress
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.render.selection import Selection

FORMATS_BY_SUFFIX = {".html": "html", ".htm": "html", ".json": "json"}
"""The default format by the suffix of the output."""


@click.command()
@click.argument("sessions", nargs=-1, required=True, type=SESSION, metavar="SESSION|DIR...")
@format_option(
    "html", "markdown", "json", help="Write this format (default: by the suffix of the output, else markdown)."
)
@click.option(
    "-o", "--output", default="-", metavar="FILE|DIR", help="Write to this file or folder (default: standard output)."
)
@click.option("--no-images", is_flag=True, help="Omit images from HTML pages.")
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
    """Export a session to a file, or several to a folder of pages.

    An HTML page contains the reader and the session, and needs no network. Several sessions, or a folder of them,
    become a folder of pages with an index; pages of unchanged sessions are not written again.

    \b
    reread export latest -o session.html
    reread export latest --turns -3 --no-thinking -o session.md
    reread export latest -f json -o session.json
    reread export ~/.claude -f html -o ./sessions
    """
    form = form or FORMATS_BY_SUFFIX.get(Path(output).suffix, "markdown")
    first, *others = sessions
    if others or os.path.isdir(os.path.expanduser(first)):
        _export_site(ctx, sessions, form, output, root, selection_from(options))
        return
    from reread.base.gc_pause import gc_paused
    from reread.reader.export_formats import FORMATS, write_document

    if form == "html" and output == "-" and sys.stdout.isatty():
        raise Misuse("Cannot print an HTML page to the terminal; name a file, as in -o session.html.")
    session = open_session(ctx, first, root)
    pieces = FORMATS[form](session, selection_from(options))
    if output == "-":
        sys.stdout.buffer.writelines(pieces)
        return
    with gc_paused():
        write_document(session, pieces, Path(output))


def _export_site(
    ctx: click.Context, sessions: tuple[str, ...], form: str, output: str, root: tuple[Path, ...], selection: Selection
) -> None:
    from reread.catalog.resolve import resolve_session
    from reread.disk.layout import expand_path
    from reread.reader.site_export import write_site
    from reread.render.sanitize import safe

    if form != "html" or output == "-":
        raise Misuse("Several sessions can only be exported as a folder of pages; use -f html -o DIR.")
    paths: list[Path] = []
    for name in sessions:
        folder = expand_path(name)
        roots = merged_roots(ctx, root) or None
        found = sessions_below(folder) if os.path.isdir(folder) else [resolve_session(name, root=roots)]
        paths += [path for path in found if path not in paths]
    if not paths:
        raise Misuse(f"No sessions in {', '.join(sessions)}; name a session or a folder that contains some.")
    with progress("writing", len(paths)) as step:
        site = write_site(paths, Path(output), selection, progress=step)
    for fault in site.faults:
        print_notice(fault)
    click.echo(f"{safe(site.index)}: {site.written} written, {site.unchanged} unchanged", err=True)
    ctx.exit(1 if site.faults else 0)
