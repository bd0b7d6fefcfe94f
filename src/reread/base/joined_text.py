"""Join texts that repeat each other, as searches read them."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONG = 100
"""Texts of at least this many characters are compared by line."""
_LINE_NUMBER = re.compile(r"^ *+\d++(?:→|\t)", re.MULTILINE)
"""How each line begins of a file that was read."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|[ -/]*+[0-~]?)")


def without_escapes(text: str) -> str:
    """Return a text without the escape codes of terminals, which would stick to the words after them."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def joined_text(texts: Iterable[str]) -> str:
    """Join texts as lines of one; what repeats lines of an earlier text is left out.

    The same content is often recorded several times: a file with line numbers and without, an edit as text and patch.
    """
    kept = ""
    for text in dict.fromkeys(texts):
        plain = without_escapes(text)
        if _LINE_NUMBER.match(plain):
            plain = _LINE_NUMBER.sub("", plain)
        if not kept:
            kept = plain
        elif len(plain) < LONG:
            kept = f"{kept}\n{plain}"
        elif plain not in kept:
            lines = set(kept.split("\n"))
            kept = "\n".join([kept, *(line for line in plain.split("\n") if not _is_known(line, lines))])
    return kept


def _is_known(line: str, lines: set[str]) -> bool:
    """True if a line is among some lines, or is the line of a patch of one of them."""
    return line in lines or (line[:1] in ("+", "-", " ") and line[1:] in lines)
