"""Remove what the client wraps around the text of a result: line numbers, reminders, the frame of a preview."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reread.tools.nodes import Node, Note

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"
_NUMBER = re.compile(r" *(\d{1,9})(?:→|\t)")
FRAME, FRAME_END = "<persisted-output>\n", "\n</persisted-output>"
_PREVIEW_LINE = re.compile(r"\n\nPreview \([^)\n]{0,200}\):\n")


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
    end = _end(text, len(text))
    while (cut := _last_reminder(text, end)) is not None:
        end = _end(text, cut)
    if end < len(text) and text[end:].strip():
        text = text[:end]
    return _unframed(text) or ResultText(text, "")


def _end(text: str, end: int) -> int:
    """Return where a text ends without the white space before `end`."""
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _last_reminder(text: str, end: int) -> int | None:
    """Return where the reminder that ends at `end` begins; one inside a numbered line belongs to the file."""
    if not text.endswith(CLOSE, 0, end):
        return None
    at = text.rfind(OPEN, 0, end)
    return at if at == 0 or (at > 0 and text[at - 1] == "\n") else None


def _unframed(text: str) -> ResultText | None:
    """Return what the frame of a preview contains; None if there is no frame."""
    framed = text.rstrip()
    if not framed.startswith(FRAME) or not framed.endswith(FRAME_END):
        return None
    inside = framed[len(FRAME) : -len(FRAME_END)].removesuffix("\n...")
    if found := _PREVIEW_LINE.search(inside):
        return ResultText(inside[found.end() :], inside[: found.start()])
    return ResultText("", inside)


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
