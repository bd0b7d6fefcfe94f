"""Long work in small steps, so that a session can be updated and other requests served between them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Work that yields after each step and returns its result."""


def run_steps(steps: Steps[T]) -> T:
    """Run all steps without a pause and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
