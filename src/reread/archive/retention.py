"""When Claude Code deletes sessions: the retention in the settings that apply, and what it will delete next."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.disk.regular import read_settings

SETTING = "cleanupPeriodDays"
DEFAULT_DAYS = 30
DAY = 24 * 3600.0
SOON_DAYS = 7.0
MOST_DAYS = 1e6
"""A longer time is for ever."""


class Retention(msgspec.Struct, frozen=True):
    """How long Claude Code keeps sessions."""

    days: float
    source: str
    """The settings file that says so; empty if it is Claude Code's default."""


def retention(config: Path) -> Retention:
    """Return the retention in force for a configuration folder: an administrator's settings go before the person's.

    A project's settings can set it too, but only the sessions of that project show which they are.
    """
    for path in (*_managed_settings(), config / "settings.json"):
        days = _days(path)
        if days is not None:
            return Retention(days, str(path))
    return Retention(DEFAULT_DAYS, "")


def _days(path: Path) -> float | None:
    """Return the number of days that a settings file sets; None if it sets none."""
    try:
        value = jsontext.loads_clean(read_settings(path))
    except (OSError, ValueError):
        return None
    days = cast(dict[str, Any], value).get(SETTING) if isinstance(value, dict) else None
    return min(days, MOST_DAYS) if isinstance(days, int | float) and not isinstance(days, bool) and days >= 0 else None


def _managed_settings() -> list[Path]:
    """Return the settings files of an administrator, the strongest first."""
    if sys.platform == "darwin":
        folder = Path("/Library/Application Support/ClaudeCode")
    elif sys.platform == "win32":
        folder = Path(os.environ.get("PROGRAMFILES") or r"C:\Program Files") / "ClaudeCode"
    else:
        folder = Path("/etc/claude-code")
    more = folder / "managed-settings.d"
    dropped = sorted(more.glob("*.json"), reverse=True) if os.path.isdir(more) else []
    return [*dropped, folder / "managed-settings.json"]


class Stake(msgspec.Struct, frozen=True):
    """What a configuration folder is about to lose."""

    folder: str
    retention: Retention
    sessions: int
    unkept: tuple[str, ...]
    """Sessions that are deleted within a week and are not kept as they are now."""


def at_stake(config: Path, sessions: Iterable[str], unkept: Iterable[str]) -> Stake:
    """Return what Claude Code deletes within a week, of its sessions and of those not kept as they are now."""
    kept_for = retention(config)
    limit = time.time() - (kept_for.days - SOON_DAYS) * DAY
    soon = [path for path in unkept if _modified(path) < limit]
    return Stake(str(config), kept_for, sum(1 for _ in sessions), tuple(soon))


def _modified(path: str) -> float:
    """Return when a file was modified; now if it is gone."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return time.time()
