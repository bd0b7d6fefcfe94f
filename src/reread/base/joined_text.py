"""Join texts that repeat each other, as searches read them."""

from __future__ import annotations

from collections.abc import Iterable

from reread.base.late_pattern import late_pattern

LONG = 100
"""Texts of at least this many characters are compared by line."""
_LINE_NUMBER = late_pattern(r" *+\d++[→\t]")
"""How each line begins of a file that was read."""
_NEXT_NUMBER = late_pattern(r"\n *+\d++[→\t]")
"""The same after a line end: to look for that takes half the time that `^` does."""
_ESCAPE = late_pattern(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|[ -/]*+[0-~]?)")


def without_escapes(text: str) -> str:
    """Return a text without the escape codes of terminals, which would stick to the words after them."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def without_line_numbers(text: str) -> str:
    """Return a text without the numbers at the beginning of its lines."""
    found = _LINE_NUMBER.match(text)
    return _NEXT_NUMBER.sub("\n", text[found.end() :] if found else text)


def joined_text(texts: Iterable[str]) -> str:
    """Join texts as lines of one; what repeats lines of an earlier text is left out.

    The same content is often recorded several times: a file with line numbers and without, an edit as text and patch.
    """
    kept = ""
    for text in dict.fromkeys(texts):
        plain = without_escapes(text)
        if _LINE_NUMBER.match(plain):
            plain = without_line_numbers(plain)
        if not kept:
            kept = plain
        elif len(plain) < LONG:
            kept = f"{kept}\n{plain}"
        elif plain not in kept:
            known = set(kept.split("\n"))
            more = [line for line in plain.split("\n") if line not in known and not _is_patch(line, known)]
            kept = "\n".join([kept, *more])
    return kept


def _is_patch(line: str, known: set[str]) -> bool:
    """True if a line is that of a patch with one of some lines."""
    return line[:1] in ("+", "-", " ") and line[1:] in known
