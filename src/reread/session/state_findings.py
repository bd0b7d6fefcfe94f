"""Findings in the earlier states of a file: the records it dropped, and those that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reread.base.text import plural
from reread.session.finding import INFO, WARNING, Finding, Rule

if TYPE_CHECKING:
    from reread.disk.joined import JoinedFile

RULES = (
    Rule("dropped-records", INFO, "The file was rewritten: records are only in an earlier state of it."),
    Rule("damaged-state", WARNING, "An earlier state of the file cannot be read whole."),
)


def state_findings(joined: JoinedFile | None) -> Iterator[Finding]:
    """Yield what is found of the states that a file is joined with."""
    if joined is None:
        return
    counts = joined.dropped_counts()
    for path, count in counts.items():
        yield Finding(RULES[0].code, INFO, 0, f"{plural(count, 'record')} that it no longer has: see {path}")
    for path, reason in joined.plan.damage:
        yield Finding(RULES[1].code, WARNING, 0, f"an earlier state, {path}, cannot be read whole: {reason}")
