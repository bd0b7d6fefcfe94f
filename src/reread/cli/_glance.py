"""Notice that a long text shows a secret in a vendor's format, without loading any rule where it shows none."""

from __future__ import annotations

import re

from reread.base.late_pattern import late_pattern
from reread.base.sanitize import strip_escapes

LOOKED_AT = 250_000
"""Characters of an output that are looked at: some 3,000 lines."""
_AT_ONCE = 1 << 16
_BEFORE, _AFTER = 96, 160
"""How much around a part of a secret is read: the name before it, the first line of a key."""
_ID = 26
"""How much of a session's id stands before its last part."""
_LONGEST = 4_000
"""A longer word is a picture or an archive."""
_LONG_WORD = (
    r"[A-Za-z0-9]{11}"
    r"(?:(?<!-[0-9a-f]{4}-[0-9a-f]{11})(?<!-[0-9a-f]{4}-[0-9a-f]{12})"  # no id of a session, unless it follows a word
    r"|(?<=[a-z0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{11}))[\w+/=-]*+"
)
"""What all that is suspect contains; to look for this first takes a third of the time."""
_SUSPECT = late_pattern(
    r"(?<![A-Za-z0-9])(?:"
    r"(?<!toolu_)(?<!msg_)(?<!req_)(?<!-[0-9a-f]{4}-)"  # ids of the API, and of sessions; those of agents
    r"(?=[A-Za-z]{0,80}[0-9])(?!a[0-9a-f]{16}(?![A-Za-z0-9]))(?=[0-9]{0,80}[A-Za-z])[A-Za-z0-9]{11}"
    r"|(?<=[a-z0-9]-)[0-9a-f]{8}-[0-9a-f]{4}-)",
    re.ASCII,
)
"""Eleven letters and digits, mixed, or an id behind a word: few texts have one, and nearly every token does."""
_SHORT_GROUPS = ("sk-helicone-", "A3-")
"""How tokens begin that have none."""


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
        self._pieces = [text[-_BEFORE - _AFTER :]]  # a secret may begin in one piece and end in the next
        self._waiting = 0
        if not self._kind:
            self._kind = first_kind(text)
        if self._kind:
            self.close()

    def close(self) -> None:
        """Look at nothing more."""
        self._left, self._waiting, self._pieces = 0, 0, []


def first_kind(text: str) -> str:
    """Return the kind of the first secret in a vendor's format; empty if a text has none."""
    windows = [
        text[max(0, word.start() - _BEFORE) : word.end() + _AFTER]
        for word in re.finditer(_LONG_WORD, text, re.ASCII)
        if word.end() - word.start() < _LONGEST and _SUSPECT.search(text, max(0, word.start() - _ID), word.end())
    ]
    windows += [text[max(0, at - 1) : at + _AFTER] for head in _SHORT_GROUPS if (at := text.find(head)) >= 0]
    if not windows:
        return ""
    from reread.redaction.vendors import suspected_keywords  # loaded late: few outputs need them

    suspects = [(window, found) for window in windows if (found := list(suspected_keywords(window)))]
    if not suspects:
        return ""
    from reread.redaction.certain import find_at_keywords

    return next((span.kind for window, found in suspects for span in find_at_keywords(window, found)), "")
