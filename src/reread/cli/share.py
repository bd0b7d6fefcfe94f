"""`reread share`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._options import (
    LATEST,
    format_option,
    open_session,
    root_options,
    selection_from,
    selection_options,
    session_argument,
)
from reread.cli._paths import PathName
from reread.cli._redaction import (
    decision_options,
    findings_in,
    refuse_own_file,
    start_redaction,
    summary_of,
    write_undecided,
)
from reread.cli.export import FORMATS_BY_SUFFIX
from reread.errors import Misuse, Unreadable, Unwritable

if TYPE_CHECKING:
    from reread.reader.redacted_export import Redaction
    from reread.redaction.findings import SensitiveText

UNDECIDED = 3
KEYS = "[r]eplace  [k]eep  keep [e]verywhere  [s]how  replace [a]ll that are left  [q]uit "


@click.command()
@session_argument
@format_option("html", "markdown", "json", "jsonl", help="Write this format (default: by the suffix of the output).")
@click.option("-o", "--output", type=PathName(written=True, path_type=Path), metavar="FILE", help="Write to this file.")
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

    If something is left to decide, nothing is written, and the exit code is 3.

    \b
    reread share latest -o session.html
    reread share latest --turns -3 --no-thinking -o excerpt.md
    reread share latest -f jsonl -o session.jsonl --replace "Project Harbor"
    reread share latest --review review.json -o session.html
    reread share --undo session.html -o original.html
    """
    if undo is not None:
        if name != LATEST:
            raise Misuse(f"Cannot use --undo with {name!r}: the file says which session it is.")
        return _undo(undo, output)
    from msgspec import structs

    from reread.disk.filenames import filename_for

    form = form or (FORMATS_BY_SUFFIX.get(output.suffix.lower()) if output is not None else "html")
    if form is None:
        raise Misuse(f"Cannot tell the format from {str(output)!r}; name one with -f.")
    selection = selection_from(ctx, {**options, "no_images": not images})
    session = open_session(ctx, name, root, project)
    refuse_own_file(session, output)
    path = output or Path(f"{filename_for(session.id or 'session')[:8]}-shared.{'md' if form == 'markdown' else form}")
    redaction = start_redaction(
        session, review=review, replace_likely=replace_likely, texts=texts, images=images, agents=not no_agents
    )
    chosen = structs.asdict(selection)
    findings = findings_in(redaction, form, chosen)
    if sys.stdin.isatty() and sys.stderr.isatty():
        _review(redaction, [finding for finding in findings if finding.decision is None])
    write_undecided(findings, session.id, review)
    redaction.export(form, to=path, **chosen)
    click.echo(f"{path}: {summary_of(redaction)}", err=True)
    return None


def _review(redaction: Redaction, undecided: list[SensitiveText]) -> None:
    """Ask for one key for each finding that is left to decide about."""
    total = len(undecided)
    for number, finding in enumerate(undecided, 1):
        _show(finding, number, total)
        while finding.decision is None:
            click.echo(KEYS, err=True, nl=False)
            key = click.getchar().lower()
            click.echo(key if key.isprintable() else "", err=True)
            if key == "r":
                redaction.decide(finding, "replace")
            elif key in ("k", "e"):
                redaction.decide(finding, "keep", everywhere=key == "e")
            elif key == "s":
                _echo(f"    {redaction.value_of(finding)}")
            elif key == "a":
                redaction.replace_undecided()
            elif key in ("q", "\x03", "\x04", "\x1b"):
                return


def _show(finding: SensitiveText, number: int, total: int) -> None:
    more = f", and {finding.count - 1} more" if finding.count > 1 else ""
    place = finding.places[0]
    _echo(f"\n{number}/{total}  {finding.kind}: {finding.mask}")
    _echo(f"    {place.file}:{place.line}{more}")
    if place.context:
        _echo(f"    {place.context}")


def _echo(text: str) -> None:
    from reread.render.sanitize import safe

    click.echo("\n".join(safe(line) for line in text.split("\n")), err=True)


def _undo(path: Path, output: Path | None) -> None:
    from reread.disk.atomic import write_atomic
    from reread.disk.regular import read_whole
    from reread.redaction.manifest import undo

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
