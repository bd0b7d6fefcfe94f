"""Remove what the client wraps around the text of a result: line numbers, reminders, the frame of a preview."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reread.tools.nodes import Node, Note

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"
_NUMBER = re.compile(r" *(\d{1,9})(?:→|\t)")
_PREVIEW = re.compile(
    r"\A<persisted-output>\n(.*?)(?:\n\nPreview \([^)\n]*\):\n(.*?))?(?:\n\.\.\.)?\n</persisted-output>\s*\Z",
    re.DOTALL,
)


class ResultText(NamedTuple):
    """The text of a result without the client's additions."""

    text: str
    full_output: str
    """The client's note on where the full output is; empty unless the text is a preview."""

    def warning(self) -> Iterator[Node]:
        """Yield a warning if the text is only a preview."""
        if self.full_output:
            yield Note(text=self.full_output, level="warning")


class NumberedLines(NamedTuple):
    """Lines that had numbers in front of them, and the text around them."""

    start: int
    text: str
    before: str
    after: str


def unwrap(text: str) -> ResultText:
    """Remove reminders at the end of a text, and the frame around a preview."""
    while (cut := _last_reminder(text)) is not None:
        text = text[:cut].rstrip() if cut else ""
    preview = _PREVIEW.match(text)
    return ResultText(preview[2] or "", preview[1]) if preview else ResultText(text, "")


def _last_reminder(text: str) -> int | None:
    """Return where the reminder at the end of a text begins; one inside a numbered line belongs to the file."""
    if not text.rstrip().endswith(CLOSE):
        return None
    at = text.rfind(OPEN)
    return at if at == 0 or (at > 0 and text[at - 1] == "\n") else None


def parse_numbered_lines(text: str) -> NumberedLines | None:
    """Return the first run of numbered lines, without the numbers; None if there is none."""
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
    return NumberedLines(start, "\n".join(bare), "\n".join(lines[:first]), after)
