"""What the client wraps around the text of a result: line numbers, reminders, a preview of what was too large."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reread.tools.nodes import Node, Note

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"
_NUMBER = re.compile(r" *(\d{1,9})(?:→|\t)")
_SPILLED = re.compile(
    r"\A<persisted-output>\n(.*?)(?:\n\nPreview \([^)\n]*\):\n(.*?))?(?:\n\.\.\.)?\n</persisted-output>\s*\Z",
    re.DOTALL,
)


class Unwrapped(NamedTuple):
    """A result's text with the client's additions set aside."""

    text: str
    spilled: str
    """Where all of it is, in the client's words, where the text is only a preview."""

    def warning(self) -> Iterator[Node]:
        """That the text is only a preview, where it is."""
        if self.spilled:
            yield Note(text=self.spilled, level="warning")


class Numbered(NamedTuple):
    """Lines that stood behind their numbers, and what stood around them."""

    start: int
    text: str
    before: str
    after: str


def unwrap(text: str) -> Unwrapped:
    """A result's text without reminders at its end and without the frame of a preview."""
    while (cut := _last_reminder(text)) is not None:
        text = text[:cut].rstrip() if cut else ""
    spilled = _SPILLED.match(text)
    return Unwrapped(spilled[2] or "", spilled[1]) if spilled else Unwrapped(text, "")


def _last_reminder(text: str) -> int | None:
    """Where the reminder begins with which a text ends; one inside a numbered line is the file's own."""
    if not text.rstrip().endswith(CLOSE):
        return None
    at = text.rfind(OPEN)
    return at if at == 0 or (at > 0 and text[at - 1] == "\n") else None


def numbered(text: str) -> Numbered | None:
    """The first run of lines with numbers before them, in either style, without the numbers."""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if _NUMBER.match(line)), None)
    if first is None:
        return None
    bare: list[str] = []
    start = 0
    for line in lines[first:]:
        found = _NUMBER.match(line)
        if found is None or (bare and int(found[1]) != start + len(bare)):
            break
        start = start if bare else int(found[1])
        bare.append(line[found.end() :])
    after = "\n".join(lines[first + len(bare) :])
    return Numbered(start, "\n".join(bare), "\n".join(lines[:first]), after)
