"""Plurals: a number with its noun."""

from __future__ import annotations

_HISSING = ("s", "x", "ch", "sh")


def plural(number: float, noun: str) -> str:
    """So many of something: 1 search, 2,310 searches."""
    ending = "" if number == 1 else "es" if noun.endswith(_HISSING) else "s"
    return f"{number:,} {noun}{ending}"
