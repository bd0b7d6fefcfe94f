"""The values of the review before a session is shared; the TypeScript types are generated from these."""

from __future__ import annotations

from reread.base.structs import copied
from reread.reader.schema import Value
from reread.redaction.findings import SensitiveText


class ShareFinding(Value, frozen=True):
    """Something that must not be shared, or somebody has to decide about."""

    id: str
    level: str
    """`certain`, `likely` or `personal`."""
    kind: str
    mask: str
    replacement: str
    count: int
    file: str
    line: int
    """The line of its first place; 0 if it is not in a line."""
    context: str
    """The text around it, masked."""
    decision: str | None
    """`replace`, `keep`, or None if nobody decided."""
    name: str = ""
    """The name of a likely secret; findings of one kind and name get one decision."""

    @classmethod
    def of(cls, found: SensitiveText) -> ShareFinding:
        """Return the value of a finding, with its first place."""
        first = found.places[0]
        return copied(cls, found, file=first.file, line=first.line, context=first.context)


class ShareChoices(Value, frozen=True):
    """The parts of a session that are shared."""

    turns: str = ""
    """A range such as `3-9`; empty for all."""
    thinking: bool = True
    agents: bool = True
    images: bool = False


class ShareReview(Value, frozen=True):
    """The findings in a session that is to be shared."""

    findings: list[ShareFinding]
    """The findings in what is chosen."""
    undecided: int
    choices: ShareChoices
