"""Steps: long work done a little at a time."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Long work in small steps, between which the session may grow."""


def at_once(steps: Steps[T]) -> T:
    """The result of work in steps, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
