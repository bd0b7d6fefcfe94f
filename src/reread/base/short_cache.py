"""Remember the results for short texts: those of transcripts may be of any length, and would stay in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

LONGEST = 1000
"""Characters of a text whose result is remembered."""

T = TypeVar("T")


def short_cache(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Remember up to so many results of a function of one text."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(most)(function)

        @wraps(function)
        def call(text: str) -> T:
            return known(text) if len(text) <= LONGEST else function(text)

        return call

    return decorate
