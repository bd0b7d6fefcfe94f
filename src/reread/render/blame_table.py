"""The lines of a file with the sessions that wrote them, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reread.base.format import date_text
from reread.base.text import pad, truncate
from reread.render.listings import NAME, PLAIN, QUIET, Span
from reread.render.sanitize import safe
from reread.reports.blame_report import BlamedLine

ID, PROMPT = 8, 32
"""How much of an id and of a prompt is shown."""
SAME = "│"
"""Stands in front of a line of the same session and turn as the one above."""


def blame_lines(lines: Sequence[BlamedLine], *, width: int | None = None) -> Iterator[list[Span]]:
    """Yield each line with the session, turn, day and prompt that wrote it: once for lines in a row, then a bar."""
    number = len(str(lines[-1].number)) if lines else 1
    turn_width = max((len(str(line.turn)) for line in lines if line.turn is not None), default=1)
    blank = " " * (ID + turn_width + 10 + PROMPT + 9)
    before: BlamedLine | None = None
    for line in lines:
        same = before is not None and (before.session, before.turn) == (line.session, line.turn)
        if line.session is None or same:
            head: list[Span] = [(QUIET, blank if line.session is None else f"{SAME:{len(blank)}}")]
        else:
            day = date_text(line.time)[:10] if line.time is not None else ""
            prompt = pad(truncate(safe(line.prompt or ""), PROMPT), PROMPT)
            head = [
                (NAME, f"{safe(line.session)[:ID]:{ID}}"),
                (PLAIN, f" turn {line.turn if line.turn is not None else '?':<{turn_width}}"),
                (QUIET, f" {day:10} {prompt} "),
            ]
        text = safe(line.text)
        yield [
            *head,
            (QUIET, f"{line.number:>{number}} "),
            (PLAIN, truncate(text, width - len(blank) - number - 1) if width else text),
        ]
        before = line
