"""Pictures in terminals that can show them, with the protocols of kitty and iTerm."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import ControlType, Segment

from reread.tools.nodes import Picture

MAX_CHARS = 8 << 20
"""Characters of base64 above which a picture is not shown."""
PIECE = 4096
"""Characters of base64 that kitty accepts in one escape code."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def picture_protocol(environment: Mapping[str, str] = os.environ) -> str | None:
    """The protocol with which this terminal shows pictures; None if it cannot."""
    if environment.get("KITTY_WINDOW_ID") or environment.get("TERM") == "xterm-kitty":
        return "kitty"
    return "iterm" if environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") else None


class InlinePicture:
    """A picture as an escape code; only valid base64 is ever put into one."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self.code, None, [(ControlType.CARRIAGE_RETURN,)])
        yield Segment.line()


def inline_picture(picture: Picture, protocol: str | None) -> InlinePicture | None:
    """A picture for a terminal with this protocol; None if it cannot be shown or is not valid base64."""
    data = picture.data
    if protocol is None or not data or len(data) > MAX_CHARS or not _BASE64.fullmatch(data):
        return None
    if protocol == "kitty":
        return InlinePicture(_kitty(data)) if picture.media_type == "image/png" else None
    return InlinePicture(f"\x1b]1337;File=inline=1;height=16:{data}\x07")


def _kitty(data: str) -> str:
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    last = len(pieces) - 1
    codes = (
        f"\x1b_G{'a=T,f=100,r=16,' if n == 0 else ''}m={int(n < last)};{piece}\x1b\\" for n, piece in enumerate(pieces)
    )
    return "".join(codes)
