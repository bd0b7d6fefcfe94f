"""One finding of `check`, and the rule that it breaks; apart from the rules, since few readers check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from reread.base.text import plural

if TYPE_CHECKING:
    from reread.disk.joined import JoinedFile
    from reread.records.lines import Line
    from reread.session.checked_file import CheckedFile, CheckedRecord, Spot

LEVELS = ERROR, WARNING, INFO = ("error", "warning", "info")

LineRule: TypeAlias = "Callable[[CheckedFile, Line, list[CheckedRecord]], Iterator[str]]"
RecordRule: TypeAlias = "Callable[[CheckedFile, CheckedRecord], Iterator[str]]"
FileRule: TypeAlias = "Callable[[CheckedFile], Iterator[Spot]]"


class Finding(msgspec.Struct, frozen=True):
    """One thing that `check` found, and where."""

    code: str
    """The name of the rule."""
    level: str
    """error, warning or info."""
    line: int
    """From 1; 0 if it is about the file as a whole."""
    text: str
    """The fault, in words."""


class Rule(NamedTuple):
    """A code with its level and meaning, and the function that finds it in a line, a record or the whole file."""

    code: str
    level: str
    says: str
    line: LineRule | None = None
    record: RecordRule | None = None
    file: FileRule | None = None


STATE_RULES = (
    Rule("dropped-records", INFO, "The file was rewritten: records are only in an earlier state of it."),
    Rule("damaged-state", WARNING, "An earlier state of the file cannot be read whole."),
)


def state_findings(joined: JoinedFile | None) -> Iterator[Finding]:
    """Yield what is found of the states that a file is joined with."""
    if joined is None:
        return
    for number, count in sorted(joined.plan.counts.items()):
        path = joined.plan.states[number].path
        yield Finding(STATE_RULES[0].code, INFO, 0, f"{plural(count, 'record')} that it no longer has: see {path}")
    for path, reason in joined.plan.damage:
        yield Finding(STATE_RULES[1].code, WARNING, 0, f"an earlier state, {path}, cannot be read whole: {reason}")
