"""Options and steps that verbs which share sessions have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reread.cli._output import print_notice
from reread.cli._paths import PathName
from reread.errors import Misuse, Undecided

if TYPE_CHECKING:
    from reread.reader.redacted_export import Redaction
    from reread.redaction.findings import SensitiveText
    from reread.session.session import Session


def decision_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --review, --replace-likely, --replace, --images and --no-agents."""
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
            click.option("--images", is_flag=True, help="Keep images, which cannot be scanned for what they show."),
            click.option("--no-agents", is_flag=True, help="Leave out the conversations of agents."),
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
    from reread.redaction.decisions import read_review

    redaction = Redaction(session, images=images, agents=agents)
    for text in texts:
        redaction.replace_text(text)
    if review is not None:
        redaction.decide_all(read_review(review))
    if replace_likely:
        redaction.replace_undecided()
    return redaction


def findings_in(redaction: Redaction, form: str, selection: dict[str, Any]) -> list[SensitiveText]:
    """Return the findings in what is exported; all if nobody has to decide, or the session's own files are."""
    if not redaction.undecided or form == "jsonl":
        return redaction.findings
    from reread.reader.export_formats import as_format

    return redaction.included(as_format(form), **selection)


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
