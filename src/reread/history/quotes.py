"""Typographic quotes: the client finds straight quotes as typographic ones, and then writes those."""

from __future__ import annotations

DOUBLE = ("\u201c", "\u201d")
SINGLE = ("\u2018", "\u2019")
OPENERS = " \t\n\r([{\u2014\u2013"
"""A quote after one of these, or at the beginning, is an opening one."""


def with_quotes_of(asked: str, found: str, new: str) -> str:
    """Return a replacement with typographic quotes, if the found text has them and the one asked for has not."""
    if asked == found:
        return new
    if any(quote in found for quote in DOUBLE):
        new = "".join(_double(new, place) if char == '"' else char for place, char in enumerate(new))
    if any(quote in found for quote in SINGLE):
        new = "".join(_single(new, place) if char == "'" else char for place, char in enumerate(new))
    return new


def _opens(text: str, place: int) -> bool:
    return place == 0 or text[place - 1] in OPENERS


def _double(text: str, place: int) -> str:
    return DOUBLE[0] if _opens(text, place) else DOUBLE[1]


def _single(text: str, place: int) -> str:
    inside = 0 < place < len(text) - 1 and text[place - 1].isalpha() and text[place + 1].isalpha()
    return SINGLE[0] if not inside and _opens(text, place) else SINGLE[1]
