"""Pictures inside a terminal that can show them: kitty's and iTerm's ways."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import ControlType, Segment

from reread.tools.nodes import Picture

LARGEST = 8 << 20
"""Characters of base64 beyond which a picture stays a line of words."""
PIECE = 4096
"""What kitty takes at once."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def protocol(environment: Mapping[str, str] = os.environ) -> str | None:
    """How this terminal shows pictures; None where it cannot."""
    if environment.get("KITTY_WINDOW_ID") or environment.get("TERM") == "xterm-kitty":
        return "kitty"
    return "iterm" if environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") else None


class Inline:
    """A picture as the terminal's own code; only clean base64 is ever put into one."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self.code, None, [(ControlType.CARRIAGE_RETURN,)])
        yield Segment.line()


def inline(picture: Picture, how: str | None) -> Inline | None:
    """A picture for that kind of terminal; None where it cannot be shown, or holds anything but base64."""
    data = picture.data
    if how is None or not data or len(data) > LARGEST or not _BASE64.fullmatch(data):
        return None
    if how == "kitty":
        return Inline(_kitty(data)) if picture.media_type == "image/png" else None
    return Inline(f"\x1b]1337;File=inline=1;height=16:{data}\x07")


def _kitty(data: str) -> str:
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    last = len(pieces) - 1
    codes = (
        f"\x1b_G{'a=T,f=100,r=16,' if n == 0 else ''}m={int(n < last)};{piece}\x1b\\" for n, piece in enumerate(pieces)
    )
    return "".join(codes)
