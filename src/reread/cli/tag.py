"""`reread tag`."""

from __future__ import annotations

from pathlib import Path

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import SESSION
from reread.cli._options import json_option, merged_roots, root_options
from reread.cli._output import print_json, print_notice
from reread.errors import Misuse


@click.command()
@click.argument("name", type=SESSION, required=False, metavar="[SESSION]")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--remove", multiple=True, metavar="WORD", help="Take this tag away. Repeatable.")
@json_option
@root_options
@click.pass_context
def tag(
    ctx: click.Context,
    name: str | None,
    words: tuple[str, ...],
    remove: tuple[str, ...],
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Give sessions tags, and show them.

    A tag is one word. `--tag` of `ls`, `search`, `usage` and every report, and `tag:word` in a search, find sessions by
    it. Tags are stored by reread, as stars and notes are. Without a session, all tags are listed.

    \b
    reread tag 8c1f release flaky
    reread tag 8c1f --remove flaky
    reread tag 8c1f
    reread tag
    reread ls --tag release
    reread search timeout tag:release
    """
    from reread.base.sanitize import safe
    from reread.base.text import plural
    from reread.catalog.marks import tag_sessions, tags

    if name is None:
        if remove:
            raise Misuse("Name a session to take tags away from: `reread tag SESSION --remove WORD`.")
        known = tags()
        if as_json:
            print_json(known)
        for word, count in known.items() if not as_json else ():
            click.echo(safe(f"#{word}  {plural(count, 'session')}"))
        if not known:
            print_notice("No session has a tag. Give one with `reread tag SESSION WORD`.")
        ctx.exit(0 if known else NOTHING_FOUND)
    (header,) = tag_sessions(name, add=words, remove=remove, root=merged_roots(ctx, root) or None)
    if as_json:
        print_json(header)
        return
    said = " ".join(f"#{word}" for word in header.tags) or "no tags"
    click.echo(safe(f"{header.id}  {header.title}  {said}"))
