"""`reread archive`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.base.paths import SAMPLES
from reread.cli._option_types import SESSION
from reread.cli._options import json_option, merged_roots, root_options
from reread.cli._output import print_json
from reread.errors import Misuse


@click.command()
@click.argument("names", nargs=-1, required=True, type=SESSION, metavar="SESSION...")
@click.option("--undo", is_flag=True, help="Take them out of the archive.")
@json_option
@root_options
@click.pass_context
def archive(ctx: click.Context, names: tuple[str, ...], undo: bool, as_json: bool, root: tuple[Path, ...]) -> None:
    """Put sessions into Claude Code's own archive.

    `reread ls`, the reader, and Claude Code where it offers the archive leave archived sessions out of their lists.
    Nothing is moved or deleted: they are read and searched as before, and the next prompt takes a session out of the
    archive. To copy sessions to where Claude Code does not delete them, use `reread keep`.

    \b
    reread archive 8c1f
    reread ls --only archived
    reread archive --undo 8c1f
    """
    from reread.base.sanitize import safe
    from reread.catalog.marks import archive_sessions

    roots = merged_roots(ctx, root)
    if SAMPLES in roots:
        raise Misuse("Cannot archive a bundled sample; leave out --demo.")
    found = archive_sessions(*names, undo=undo, root=roots or None)
    if as_json:
        print_json(found)
        return
    for header in found:
        click.echo(safe(f"{'Taken out of the archive:' if undo else 'Archived'} {header.id}  {header.title}"))
