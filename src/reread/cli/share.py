"""`reread share`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import LATEST, SESSION
from reread.cli._options import (
    ADDRESS,
    SELECTION_OPTIONS,
    format_of,
    format_option,
    listing_options,
    merged_roots,
    no_sessions_text,
    open_whole_session,
    refuse_with,
    refuse_without,
    scope_options,
    selection_from,
    selection_options,
)
from reread.cli._output import print_json, print_lines, print_notice, progress
from reread.cli._paths import FolderName, PathName, place_option, write_file
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
from reread.errors import Misuse, Unreadable

FOUND = 1
FORMATS = ("html", "markdown", "json", "jsonl")


@click.command()
@click.argument("sessions", nargs=-1, type=SESSION, metavar=f"[{ADDRESS}|DIR]...")
@scope_options("project")
@format_option(*FORMATS, help="Write this format (default: by the suffix of the output).")
@place_option("Write to this file (default: ID-shared.html in this folder).")
@click.option("--to", type=FolderName(), metavar="DIR", help="Put it into this folder or bucket, where others open it.")
@decision_options
@click.option(
    "--check", is_flag=True, help="Only list secrets, by file and line, masked; also of several sessions, or of all."
)
@click.option(
    "--undo",
    type=PathName(path_type=Path),
    metavar="FILE",
    help="Put back what was replaced in a file that was shared from this machine.",
)
@selection_options
@listing_options
@click.pass_context
def share(
    ctx: click.Context,
    sessions: tuple[str, ...],
    project: tuple[str, ...],
    form: str | None,
    output: str | None,
    to: Path | None,
    review: Path | None,
    replace_likely: bool,
    texts: tuple[str, ...],
    images: bool,
    check: bool,
    undo: Path | None,
    as_json: bool,
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

    --check writes nothing. It lists tokens in the published format of over a hundred vendors (certain), and values
    that are named a password, a key or a token (likely): also escaped, encoded in base64, broken over lines, in
    agents' files and spilled results. Without arguments, it scans all your sessions. With --full, it also
    lists home folders, e-mail, phones, hosts, authors and remotes. Exits with 1 if it finds any.
    Nothing leaves this machine.

    \b
    reread share latest -o session.html
    reread share 8c1f:2 -o turn.md
    reread share latest --to s3://team/sessions
    reread share latest --turns -3 --omit thinking -o excerpt.md
    reread share latest -f jsonl -o session.jsonl --replace "Project Harbor"
    reread share latest --review review.json -o session.html
    reread share --undo session.html -o original.html
    reread share --check ~/.claude/projects --json
    """
    for option in ("--json", "--no-pager"):
        refuse_without(ctx, option, "--check", "it is about the list of secrets")
    if check:
        others = ("--format", "--output", "--to", "--review", "--replace-likely", "--replace", "--images", "--undo")
        refuse_with(ctx, "--check", ("--project", *others, *SELECTION_OPTIONS[:-1]), "it writes nothing")
        return _check(ctx, sessions, root, personal=options["full"], as_json=as_json)
    refuse_with(ctx, "--to", ("--format", "--output", "--undo", *SELECTION_OPTIONS), "the whole session goes there")
    if undo is not None:
        if sessions:
            raise Misuse(f"Cannot use --undo with {sessions[0]!r}: the file says which session it is.")
        return _undo(undo, output)
    from msgspec import structs

    from reread.catalog.resolve import require_whole
    from reread.disk.filenames import filename_for
    from reread.render.selection import selection_at
    from reread.session.session import at_place

    if to is not None:
        form = "jsonl"
    form = form or (format_of(output, *FORMATS) if output is not None else "html")
    if form is None:
        raise Misuse(f"Cannot tell the format from {output!r}; name one with -f.")
    if len(sessions) > 1:
        raise Misuse("Cannot share several sessions at once; name one.")
    selection, with_agents = selection_from(ctx, options)
    selection = structs.replace(selection, images=images and selection.images)
    session = open_whole_session(ctx, *(sessions or (LATEST,)), root, project)
    if to is not None:
        require_whole(session.at)
    refuse_own_file(session, output)
    placed = at_place(session)
    if lacks_calls(placed, selection_at(placed, selection)):
        return ctx.exit(NOTHING_FOUND)
    own_name = f"{filename_for(session.id or 'session')[:8]}-shared.{'md' if form == 'markdown' else form}"
    path = Path(own_name if output is None else output)
    redaction = start_redaction(
        session, review=review, replace_likely=replace_likely, texts=texts, images=images, agents=with_agents
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


def _check(
    ctx: click.Context, sessions: tuple[str, ...], root: tuple[Path, ...], *, personal: bool, as_json: bool
) -> None:
    """List secrets, and exit with 1 if there are some."""
    from reread.disk.layout import session_folders
    from reread.reports.secrets_report import secrets_report

    roots = merged_roots(ctx, root)
    names = sessions or [str(folder) for folder in session_folders(roots or None)]
    if not names:
        raise Misuse(no_sessions_text(roots, "share --check"))
    with progress("scanning", None) as step:
        report = secrets_report(names, root=roots or None, personal=personal, progress=step)
    for fault in report.faults:
        print_notice(fault)
    if as_json:
        print_json(report)
    else:
        from reread.render.listings import secret_lines

        print_lines(secret_lines(report))
    ctx.exit(FOUND if any(report.totals.values()) else 0)


def _undo(path: Path, output: str | None) -> None:
    from reread.redaction.removal_manifest import undo
    from reread.storage.kept_file import read_whole

    if output is None:
        raise Misuse("Name the file for the original, as in -o original.html.")
    try:
        document = read_whole(path)
    except OSError as error:
        raise Unreadable.at(path, error) from error
    write_file(output, [undo(document)])
