"""Notice that what is printed shows a secret."""

from __future__ import annotations

from reread.base.sanitize import strip_escapes
from reread.redaction.suspects import AFTER, BEFORE, first_kind

LOOKED_AT = 250_000
"""Characters of an output that are looked at: some 3,000 lines."""
_AT_ONCE = 1 << 16


class Glance:
    """Looks at a text, piece by piece, until something in it looks like a secret."""

    def __init__(self) -> None:
        self._kind = ""
        self._left = LOOKED_AT
        self._pieces: list[str] = []
        self._waiting = 0

    def see(self, piece: str) -> None:
        """Look at the next piece, or keep it until there are more."""
        if self._left <= 0 or not piece:
            return
        self._pieces.append(piece[: self._left])
        self._left -= len(piece)
        self._waiting += len(piece)
        if self._waiting >= _AT_ONCE:
            self._look()

    @property
    def is_looking(self) -> bool:
        """True if it wants more."""
        return self._left > 0

    def see_bytes(self, piece: bytes) -> None:
        """Look at the next bytes."""
        if self._left > 0:
            self.see(piece[: self._left].decode("utf-8", "replace"))

    def kind(self) -> str:
        """Return the kind of secret that was shown first; empty if none was."""
        self._look()
        return self._kind

    def _look(self) -> None:
        if not self._waiting:
            return
        text = strip_escapes("".join(self._pieces))
        self._pieces = [text[-BEFORE - AFTER :]]  # a secret may begin in one piece and end in the next
        self._waiting = 0
        if not self._kind:
            self._kind = first_kind(text)
        if self._kind:
            self.close()

    def close(self) -> None:
        """Look at nothing more."""
        self._left, self._waiting, self._pieces = 0, 0, []
