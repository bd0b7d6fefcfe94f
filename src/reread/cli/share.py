"""`reread share`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._exit_codes import NOTHING_FOUND
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
    review_of,
    start_redaction,
    summary_of,
)
from reread.cli._unmatched import lacks_calls
from reread.cli.export import FORMATS_BY_SUFFIX
from reread.errors import Misuse, Unreadable, Unwritable

if TYPE_CHECKING:
    from reread.reader.redacted_export import Redaction
    from reread.redaction.findings import SensitiveText

UNDECIDED = 3
KEYS = "[r]eplace  [k]eep  keep [e]verywhere  [s]how  {each}replace [a]ll that are left  [q]uit "


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
    from reread.reader.export_formats import as_format

    form = form or (FORMATS_BY_SUFFIX.get(output.suffix.lower()) if output is not None else "html")
    if form is None:
        raise Misuse(f"Cannot tell the format from {str(output)!r}; name one with -f.")
    selection = selection_from(ctx, {**options, "no_images": not images})
    session = open_session(ctx, name, root, project)
    refuse_own_file(session, output)
    if lacks_calls(session, selection):
        return ctx.exit(NOTHING_FOUND)
    path = output or Path(f"{filename_for(session.id or 'session')[:8]}-shared.{'md' if form == 'markdown' else form}")
    redaction = start_redaction(
        session, review=review, replace_likely=replace_likely, texts=texts, images=images, agents=not no_agents
    )
    chosen = structs.asdict(selection)
    if sys.stdin.isatty() and sys.stderr.isatty():
        findings = findings_in(redaction, form, chosen)
        _review(redaction, [finding for finding in findings if finding.decision is None])
    with review_of([redaction], review):
        redaction.export(as_format(form), to=path, **chosen)
    click.echo(f"{path}: {summary_of(redaction)}", err=True)
    return None


def _review(redaction: Redaction, undecided: list[SensitiveText]) -> None:
    """Ask for one key for each group of findings that is left to decide about."""
    from reread.redaction.findings import alike

    groups = alike(undecided)
    for number, group in enumerate(groups, 1):
        if not _ask(redaction, group, f"{number}/{len(groups)}"):
            return


def _ask(redaction: Redaction, group: list[SensitiveText], number: str) -> bool:
    """Show findings of one group and ask until they are decided about; False to stop."""
    if all(finding.decision for finding in group):  # by "replace all that are left"
        return True
    _show(group, number)
    while any(finding.decision is None for finding in group):
        click.echo(KEYS.format(each="[o]ne by one  " if len(group) > 1 else ""), err=True, nl=False)
        key = click.getchar().lower()
        click.echo(key if key.isprintable() else "", err=True)
        if key in ("r", "k", "e"):
            redaction.decide(group, "replace" if key == "r" else "keep", everywhere=key == "e")
        elif key == "s":
            _echo("\n".join(f"    {redaction.value_of(finding)}" for finding in group))
        elif key == "a":
            redaction.replace_undecided()
        elif key == "o" and len(group) > 1:
            return all(_ask(redaction, [one], f"{number}, {n}/{len(group)}") for n, one in enumerate(group, 1))
        elif key in ("q", "\x03", "\x04", "\x1b"):
            return False
    return True


def _show(group: list[SensitiveText], number: str) -> None:
    from reread.base.text import plural

    finding, place = group[0], group[0].places[0]
    called = f" {finding.name}" if finding.name and finding.name != finding.kind else ""
    others = f", and {plural(len(group) - 1, 'other value')} of this name" if len(group) > 1 else ""
    places = sum(each.count for each in group) - 1
    more = f", and {plural(places, 'more place')}" if places else ""
    _echo(f"\n{number}  {finding.kind}{called}: {finding.mask}{others}")
    _echo(f"    {place.file}:{place.line}{more}")
    if place.context:
        _echo(f"    {place.context}")


def _echo(text: str) -> None:
    from reread.render.sanitize import safe

    click.echo("\n".join(safe(line) for line in text.split("\n")), err=True)


def _undo(path: Path, output: Path | None) -> None:
    from reread.redaction.removal_manifest import undo
    from reread.storage.atomic import write_atomic
    from reread.storage.safe_open import read_whole

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
