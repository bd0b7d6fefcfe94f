"""`reread export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import LATEST, SESSION
from reread.cli._options import (
    ADDRESS,
    FORMATS_BY_SUFFIX,
    AnyFormat,
    ListingCommand,
    merged_roots,
    open_whole_session,
    refuse_without,
    root_options,
    scope_options,
    selection_from,
    selection_options,
)
from reread.cli._output import print_notice, progress, tell_secret, write_bytes
from reread.cli._paths import STDOUT, output_option
from reread.cli._redaction import (
    decision_options,
    refuse_own_file,
    review_of,
    start_redaction,
    summary_of,
)
from reread.cli._unmatched import exit_unmatched, lacks_calls
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.reader.redacted_export import Redaction
    from reread.render.selection import Selection
    from reread.session.session import Session


def _formats() -> list[tuple[str, str]]:
    from reread.reader.export_formats import all_formats

    return [(name, form.about) for name, form in all_formats().items()]


@click.command(cls=ListingCommand, heading="Formats", rows=_formats)
@click.argument("sessions", nargs=-1, type=SESSION, metavar=f"[{ADDRESS}|DIR]...")
@scope_options("project")
@click.option(
    "-f",
    "--format",
    "form",
    type=AnyFormat(),
    help="Write this format (default: by the suffix of the output; markdown on standard output).",
)
@output_option("Write to this file or folder (default: standard output).", metavar="FILE|DIR")
@click.option("--redact", is_flag=True, help="Replace secrets and personal details, as `reread share` does.")
@decision_options
@selection_options
@root_options
@click.pass_context
def export(
    ctx: click.Context,
    sessions: tuple[str, ...],
    project: tuple[str, ...],
    form: str | None,
    output: str,
    redact: bool,
    review: Path | None,
    replace_likely: bool,
    texts: tuple[str, ...],
    images: bool,
    root: tuple[Path, ...],
    **options: Any,
) -> None:
    """Export a session to a file, or several to a folder of pages.

    An HTML page contains the reader and the session, and needs no network. Several sessions, or a folder of them,
    become a folder of pages with an index; pages of unchanged sessions are not written again. With --redact, secrets
    and personal details are replaced; if something is left to decide, nothing is written, and the exit code is 3.

    \b
    reread export latest -o session.html
    reread export 8c1f:2 -o turn.md
    reread export latest --turns -3 --omit thinking -o session.md
    reread export --project harbor --only answers -o answers.md
    reread export latest -f json -o session.json
    reread export latest --redact --review review.json -o session.html
    reread export ~/.claude -f html -o ./sessions
    """
    for option in ("--review", "--replace-likely", "--replace", "--images"):
        refuse_without(ctx, option, "--redact", "it is about what is replaced")
    from msgspec.structs import asdict, replace

    first, *others = sessions or (LATEST,)
    several = bool(others) or os.path.isdir(os.path.expanduser(first))
    form = form or (FORMATS_BY_SUFFIX.get(Path(output).suffix.lower()) if not several else None)
    selection, with_agents = selection_from(ctx, options)
    if not (with_agents or redact):
        raise Misuse("Cannot omit agents without --redact: they are a part of the session.")
    if redact:
        selection = replace(selection, images=images and selection.images)

    def redaction_of(session: Session) -> Redaction:
        return start_redaction(
            session, review=review, replace_likely=replace_likely, texts=texts, images=images, agents=with_agents
        )

    if several:
        if project:
            raise Misuse("Cannot use --project with several sessions: it chooses the newest session of a project.")
        return _export_site(ctx, sessions, form, output, root, selection, redaction_of if redact else None, review)
    from reread.base.gc_pause import gc_paused
    from reread.reader.export_formats import require_format, write_companions, write_document
    from reread.render.selection import selection_at
    from reread.session.session import at_place

    form = _checked_format(form, output)
    if form != "html" and not (selection.images or redact):
        raise Misuse(f"Cannot omit images from {form}: only HTML pages contain images.")
    whole = open_whole_session(ctx, first, root, project)
    session = at_place(whole)
    refuse_own_file(session, output)
    placed = selection_at(session, selection)
    if lacks_calls(session, placed):
        return ctx.exit(NOTHING_FOUND)
    if redact:
        redaction = redaction_of(whole)
        chosen = asdict(selection)
        with review_of([redaction], review):
            document = redaction.export(form, to=None if output == STDOUT else Path(output), **chosen)
        click.echo(summary_of(redaction), err=True)
        if output == STDOUT:
            write_bytes([document])
        return None
    found = require_format(form)
    pieces = found.write(session, placed)
    if found.empty:
        beginning = list(islice(pieces, 1))
        if not beginning:
            exit_unmatched(ctx, (), f"Nothing was written: {found.empty}.")
        pieces = chain(beginning, pieces)
    if output != STDOUT or form == "html":  # which is compressed
        _tell_secret_of(session)
    if output == STDOUT:
        return write_bytes(pieces)
    with gc_paused():
        write_document(session, pieces, Path(output))
        if form == "jsonl":
            write_companions(session, Path(output))
    return None


def _tell_secret_of(session: Session) -> None:
    """Say if the beginning of a session, which is exported as it is, has a secret."""
    from reread.cli._glance import Glance

    seen = Glance()
    for line in takewhile(lambda _: seen.is_looking, session.lines):
        seen.see_bytes(line.raw)
    tell_secret(seen, "The session")


def _checked_format(form: str | None, output: str) -> str:
    """Return the format of one document; raise Misuse if it is unknown or does not suit the output."""
    if output != STDOUT and os.path.isdir(output):
        raise Misuse(f"Cannot write {output}: it is a folder; name a file in it, as in -o {Path(output) / 'it.html'}.")
    if form is None and output != STDOUT:
        suffixes = ", ".join(FORMATS_BY_SUFFIX)
        raise Misuse(f"Cannot tell the format from {output!r}; use one of {suffixes}, or name a format with -f.")
    form = form or "markdown"
    if form == "html" and output == STDOUT and sys.stdout.isatty():
        raise Misuse("Cannot print an HTML page to the terminal; name a file, as in -o session.html.")
    return form


def _export_site(
    ctx: click.Context,
    sessions: tuple[str, ...],
    form: str | None,
    output: str,
    root: tuple[Path, ...],
    selection: Selection,
    redaction_of: Callable[[Session], Redaction] | None,
    review: Path | None,
) -> None:
    from reread.base.sanitize import safe
    from reread.catalog.resolve import resolve_session
    from reread.disk.layout import expand_path, sessions_below
    from reread.reader.site_export import write_site

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
        if redaction_of is None:
            site = write_site(paths, Path(output), selection, progress=step)
        else:
            from reread.reader.redacted_export import write_redacted_site
            from reread.session.session import open  # noqa: A004

            redactions = [redaction_of(open(path)) for path in paths]
            with review_of(redactions, review):
                site = write_redacted_site(redactions, Path(output), selection, progress=step)
    for fault in site.faults:
        print_notice(fault)
    click.echo(f"{safe(site.index)}: {site.written} written, {site.unchanged} unchanged", err=True)
    ctx.exit(1 if site.faults else 0)
