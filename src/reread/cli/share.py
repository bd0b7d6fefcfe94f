"""`reread share`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import LATEST
from reread.cli._options import (
    FORMATS_BY_SUFFIX,
    SELECTION_OPTIONS,
    format_option,
    open_whole_session,
    refuse_with,
    root_options,
    selection_from,
    selection_options,
    session_argument,
)
from reread.cli._output import progress
from reread.cli._paths import FolderName, PathName
from reread.cli._redaction import (
    ask_about,
    decision_options,
    findings_in,
    refuse_own_file,
    review_of,
    start_redaction,
    summary_of,
)
from reread.cli._unmatched import lacks_calls
from reread.errors import Misuse, Unreadable, Unwritable

UNDECIDED = 3


@click.command()
@session_argument
@format_option("html", "markdown", "json", "jsonl", help="Write this format (default: by the suffix of the output).")
@click.option(
    "-o",
    "--output",
    type=PathName(written=True, path_type=Path),
    metavar="FILE",
    help="Write to this file (default: ID-shared.html in this folder).",
)
@click.option("--to", type=FolderName(), metavar="DIR", help="Put it into this folder or bucket, where others open it.")
@decision_options
@click.option(
    "--undo",
    type=PathName(path_type=Path),
    metavar="FILE",
    help="Put back what was replaced in a file that was shared from this machine.",
)
@selection_options
@root_options
@click.pass_context
def share(
    ctx: click.Context,
    name: str,
    project: tuple[str, ...],
    form: str | None,
    output: Path | None,
    to: Path | None,
    review: Path | None,
    replace_likely: bool,
    texts: tuple[str, ...],
    images: bool,
    no_agents: bool,
    undo: Path | None,
    root: tuple[Path, ...],
    **options: Any,
) -> None:
    """Write a session without secrets, to show it to others.

    Tokens of known vendors are replaced, and home folders, names, hosts, mail addresses and git remotes get pseudonyms.
    What may be a secret is shown to you, one after the other: press a key for each. The finished file is scanned again
    before it gets its name. Beside it, a manifest says what was removed; what it stood for stays on this machine.

    With --to, all of it goes into a folder or bucket as `reread keep --to` puts it there, so that others list, read and
    search it; the manifest is not put there.

    If something is left to decide, nothing is written, and the exit code is 3.

    \b
    reread share latest -o session.html
    reread share 8c1f:2 -o turn.md
    reread share latest --to s3://team/sessions
    reread share latest --turns -3 --no-thinking -o excerpt.md
    reread share latest -f jsonl -o session.jsonl --replace "Project Harbor"
    reread share latest --review review.json -o session.html
    reread share --undo session.html -o original.html
    """
    refuse_with(ctx, "--to", ("--format", "--output", "--undo", *SELECTION_OPTIONS), "the whole session goes there")
    if undo is not None:
        if name != LATEST:
            raise Misuse(f"Cannot use --undo with {name!r}: the file says which session it is.")
        return _undo(undo, output)
    from msgspec import structs

    from reread.catalog.resolve import require_whole
    from reread.disk.filenames import filename_for
    from reread.render.selection import selection_at
    from reread.session.session import at_place

    if to is not None:
        form = "jsonl"
    form = form or (FORMATS_BY_SUFFIX.get(output.suffix.lower()) if output is not None else "html")
    if form is None:
        raise Misuse(f"Cannot tell the format from {str(output)!r}; name one with -f.")
    selection = selection_from(ctx, {**options, "no_images": not images})
    session = open_whole_session(ctx, name, root, project)
    if to is not None:
        require_whole(session.at)
    refuse_own_file(session, output)
    placed = at_place(session)
    if lacks_calls(placed, selection_at(placed, selection)):
        return ctx.exit(NOTHING_FOUND)
    path = output or Path(f"{filename_for(session.id or 'session')[:8]}-shared.{'md' if form == 'markdown' else form}")
    redaction = start_redaction(
        session, review=review, replace_likely=replace_likely, texts=texts, images=images, agents=not no_agents
    )
    chosen = structs.asdict(selection)
    if sys.stdin.isatty() and sys.stderr.isatty():
        findings = findings_in(redaction, form, chosen)
        ask_about(redaction, [finding for finding in findings if finding.decision is None])
    with review_of([redaction], review):
        if to is not None:
            place = redaction.keep(to).folder
        else:
            with progress("writing, and scanning what was written", None):
                redaction.export(form, to=path, **chosen)
            place = str(path)
    click.echo(f"{place}: {summary_of(redaction)}", err=True)
    return None


def _undo(path: Path, output: Path | None) -> None:
    from reread.redaction.removal_manifest import undo
    from reread.storage.atomic import write_atomic
    from reread.storage.kept_file import read_whole

    if output is None:
        raise Misuse("Name the file for the original, as in -o original.html.")
    try:
        document = read_whole(path)
    except OSError as error:
        raise Unreadable.at(path, error) from error
    original = undo(document)
    try:
        write_atomic(output, [original])
    except OSError as error:
        raise Unwritable.at(output, error) from error
