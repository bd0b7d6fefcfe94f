"""Options and steps that verbs which share sessions have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._output import print_notice, progress
from reread.cli._paths import PathName
from reread.errors import Misuse, Undecided

if TYPE_CHECKING:
    from reread.reader.redacted_export import Redaction
    from reread.redaction.findings import SensitiveText
    from reread.session.session import Session


KEYS = "[r]eplace  [k]eep  keep [e]verywhere  [s]how  {each}replace [a]ll that are left  [q]uit "


def decision_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --review, --replace-likely, --replace and --images."""
    images = click.option("--images", is_flag=True, help="Keep images, which cannot be scanned for what they show.")
    return text_decision_options(images(command))


def text_decision_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --review, --replace-likely and --replace."""
    for option in reversed(
        [
            click.option(
                "--review",
                type=PathName(written=True, path_type=Path),
                metavar="FILE",
                help="Read decisions from this file; write what is left to decide to it.",
            ),
            click.option("--replace-likely", is_flag=True, help="Also replace what only may be a secret."),
            click.option(
                "--replace", "texts", multiple=True, metavar="TEXT", help="Replace this text everywhere. Repeatable."
            ),
        ]
    ):
        command = option(command)
    return command


def refuse_own_file(session: Session, output: str | Path | None) -> None:
    """Raise Misuse if an export would replace the session's own file."""
    if output and session.path and os.path.realpath(output) == os.path.realpath(session.path):
        raise Misuse(f"Cannot write {output}: it is the session itself; name another file.")


def start_redaction(
    session: Session, *, review: Path | None, replace_likely: bool, texts: tuple[str, ...], images: bool, agents: bool
) -> Redaction:
    """Scan a session, and decide what the options decide."""
    from reread.reader.redacted_export import Redaction
    from reread.redaction.redactor import installed_engines

    label = ", also with ".join(["looking for secrets", *installed_engines()])
    with progress(label, None):
        redaction = Redaction(session, images=images, agents=agents)
    settle(redaction, review=review, replace_likely=replace_likely, texts=texts)
    return redaction


def settle(redaction: Redaction, *, review: Path | None, replace_likely: bool, texts: tuple[str, ...]) -> None:
    """Decide what the options decide."""
    from reread.redaction.decisions import read_review

    for text in texts:
        redaction.replace_text(text)
    if review is not None:
        redaction.decide_all(read_review(review))
    if replace_likely:
        redaction.replace_undecided()


def findings_in(redaction: Redaction, form: str, selection: dict[str, Any]) -> list[SensitiveText]:
    """Return the findings in what is exported; all if nobody has to decide, or the session's own files are."""
    if not redaction.undecided or form == "jsonl":
        return redaction.findings
    return redaction.included(form, **selection)


def _write_undecided(findings: Sequence[SensitiveText], session: str, review: Path | None) -> None:
    from reread.base.text import plural
    from reread.redaction.decisions import write_review
    from reread.redaction.findings import alike

    if review is not None:
        write_review(review, session, findings)
        print_notice(f"Wrote {len(findings)} findings to {review}; decide about them, and run the same command again.")
    for group in alike(finding for finding in findings if finding.decision is None):
        place = group[0].places[0]
        more = f", and {plural(len(group) - 1, 'other value')} of {group[0].name}" if len(group) > 1 else ""
        print_notice(f"{place.file}:{place.line}: {group[0].kind} {group[0].mask}{more}")


@contextmanager
def review_of(redactions: Sequence[Redaction], review: Path | None) -> Generator[None]:
    """List what an export finds undecided, and write it to the review file with what was decided before."""
    try:
        yield
    except Undecided as error:
        undecided = {id(finding) for finding in error.findings}
        found = [finding for redaction in redactions for finding in redaction.findings if finding.level == "likely"]
        shown = {finding.id: finding for finding in found if finding.decision or id(finding) in undecided}
        if undecided:
            _write_undecided(list(shown.values()), ", ".join(each.session.id for each in redactions), review)
        raise


def summary_of(redaction: Redaction) -> str:
    """Return what was replaced, kept and left out, in a line."""
    from reread.base.text import plural

    counts: dict[str, int] = {}
    for finding in redaction.findings:
        key = "kept" if finding.decision == "keep" else finding.level
        counts[key] = counts.get(key, 0) + 1
    omitted = redaction.omitted
    nouns = {"image": omitted.images, "signature": omitted.signatures, "id": omitted.ids}
    left_out = [plural(count, noun) for noun, count in nouns.items() if count]
    values = ", ".join(f"{count:,} {key}" for key, count in counts.items()) or "nothing"
    return f"found {values}" + (f"; left out {', '.join(left_out)}" if left_out else "")


def ask_about(redaction: Redaction, undecided: Sequence[SensitiveText]) -> None:
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
    from reread.base.sanitize import safe

    click.echo("\n".join(safe(line) for line in text.split("\n")), err=True)
