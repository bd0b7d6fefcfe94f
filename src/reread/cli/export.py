"""`reread export`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    LATEST,
    SESSION,
    format_option,
    merged_roots,
    open_session,
    project_option,
    root_options,
    selection_from,
    selection_options,
)
from reread.cli._output import print_notice, progress
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.render.selection import Selection

FORMATS_BY_SUFFIX = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "markdown",
}
"""The default format by the suffix of the output."""
STDOUT = "-"


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar="[SESSION|DIR]...")
@project_option
@format_option(
    "html",
    "markdown",
    "json",
    help="Write this format (default: by the suffix of the output; markdown on standard output).",
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
    project: tuple[str, ...],
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
    reread export --project harbor --only answers -o answers.md
    reread export latest -f json -o session.json
    reread export ~/.claude -f html -o ./sessions
    """
    first, *others = sessions or (LATEST,)
    several = bool(others) or os.path.isdir(os.path.expanduser(first))
    form = form or (FORMATS_BY_SUFFIX.get(Path(output).suffix.lower()) if not several else None)
    selection = selection_from(ctx, options)
    if several:
        if project:
            raise Misuse("Cannot use --project with several sessions: it chooses the newest session of a project.")
        return _export_site(ctx, sessions, form, output, root, selection)
    from reread.base.gc_pause import gc_paused
    from reread.reader.export_formats import FORMATS, write_document

    form = _checked_format(ctx, form, output)
    session = open_session(ctx, first, root, project)
    pieces = FORMATS[form](session, selection)
    if output == STDOUT:
        return sys.stdout.buffer.writelines(pieces)
    with gc_paused():
        return write_document(session, pieces, Path(output))


def _checked_format(ctx: click.Context, form: str | None, output: str) -> str:
    """Return the format of one document; raise Misuse if it is unknown or the options do not suit it."""
    if output != STDOUT and os.path.isdir(output):
        raise Misuse(f"Cannot write {output}: it is a folder; name a file in it, as in -o {Path(output) / 'it.html'}.")
    if form is None and output != STDOUT:
        suffixes = ", ".join(FORMATS_BY_SUFFIX)
        raise Misuse(f"Cannot tell the format from {output!r}; use one of {suffixes}, or name a format with -f.")
    form = form or "markdown"
    if form == "html":
        if output == STDOUT and sys.stdout.isatty():
            raise Misuse("Cannot print an HTML page to the terminal; name a file, as in -o session.html.")
    elif ctx.params["no_images"]:
        raise Misuse(f"Cannot use --no-images with {form}: only HTML pages contain images.")
    return form


def _export_site(
    ctx: click.Context,
    sessions: tuple[str, ...],
    form: str | None,
    output: str,
    root: tuple[Path, ...],
    selection: Selection,
) -> None:
    from reread.catalog.resolve import resolve_session
    from reread.disk.layout import expand_path, sessions_below
    from reread.reader.site_export import write_site
    from reread.render.sanitize import safe

    if form not in (None, "html") or output == STDOUT:
        raise Misuse("Several sessions can only be exported as a folder of pages; use -f html -o DIR.")
    if Path(output).suffix.lower() in FORMATS_BY_SUFFIX and not os.path.isdir(output):
        folder = Path(output).with_suffix("")
        raise Misuse(f"Several sessions become a folder of pages, not a file; use -o {folder}.")
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
