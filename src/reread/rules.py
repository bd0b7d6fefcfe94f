"""Rules: what is odd about a file, found record by record."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reread.conversation import Conversation
from reread.lines import Lines


class Finding(msgspec.Struct, frozen=True):
    """One odd thing, and where it stands."""

    code: str
    level: str
    """error, warning or info."""
    line: int
    text: str


def findings(conversation: Conversation, lines: Lines) -> Iterator[Finding]:
    """Everything the rules find in one file."""
    yield from ()
