"""Two sessions beside each other as the values that the browser requests."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from reread.base.structs import copied
from reread.reports.diff_report import diff
from reread.reports.turn_comparison import TurnComparison


class ComparedSession(Struct, frozen=True, kw_only=True):
    """One of the two."""

    title: str
    turns: int
    calls: int
    failed: int
    tokens: int | None
    """None if they are not known."""
    cost_usd: float | None
    started: datetime | None


class ComparedFile(Struct, frozen=True, kw_only=True):
    """A file that either of them changed, as each leaves it."""

    path: str
    status: str
    """same, changed, created (only by the second) or deleted (only by the first)."""
    whole: bool
    """True if both texts are known."""
    added: int
    removed: int


class SessionComparison(Struct, frozen=True, kw_only=True):
    """Two sessions beside each other."""

    one: ComparedSession
    other: ComparedSession
    beside: TurnComparison
    files: list[ComparedFile]


def compare_sessions(one: Path, other: Path) -> SessionComparison | None:
    """Return two sessions beside each other, as `reread diff` compares them; None if they are the same."""
    found = diff(one, other)
    if found.sides is None or found.beside is None:
        return None
    files = [copied(ComparedFile, file) for file in found.files]
    first, second = (copied(ComparedSession, side) for side in found.sides)
    return SessionComparison(one=first, other=second, beside=found.beside, files=files)
