"""A terminal's screen that is drawn over and over, without flicker."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import Self

from reread.base.sanitize import terminal_text
from reread.cli._output import styled

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""To another screen without a cursor, and back to what was there."""
HOME, LINE_END, SCREEN_END = "\x1b[H", "\x1b[K\r\n", "\x1b[J"


class Screen:
    """Lines that replace the lines drawn before: what stays the same is written again in place, and nothing is cleared.

    The codes that move the cursor are written past the gate of standard output; the lines go through it.
    """

    def __init__(self) -> None:
        self._shown = ""

    def __enter__(self) -> Self:
        self._write(ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        self._write(LEAVE)

    def draw(self, lines: Iterable[Iterable[tuple[str, str]]]) -> None:
        """Draw as many lines as there is room for."""
        rows = shutil.get_terminal_size().lines - 1
        text = LINE_END.join(terminal_text(styled(line)) for line, _ in zip(lines, range(rows), strict=False))
        if text != self._shown:
            self._shown = text
            self._write(f"{HOME}{text}{LINE_END}{SCREEN_END}")

    def _write(self, text: str) -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
