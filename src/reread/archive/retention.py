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
from reread.disk import layout
from reread.disk.regular import read_settings

SETTING = "cleanupPeriodDays"
DEFAULT_DAYS = 30
DAY = 24 * 3600.0
SOON_DAYS = 7.0


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
    return float(days) if isinstance(days, int | float) and not isinstance(days, bool) and days >= 0 else None


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


def deleted_within(paths: Iterable[str | Path], days: float, soon: float = SOON_DAYS) -> list[Path]:
    """Return the transcripts that a retention of some days deletes within the next days."""
    limit = time.time() - (days - soon) * DAY
    found: list[Path] = []
    for path in map(Path, paths):
        try:
            if path.lstat().st_mtime < limit:
                found.append(path)
        except OSError:
            continue
    return found


class Stake(msgspec.Struct, frozen=True):
    """What a configuration folder is about to lose."""

    folder: str
    retention: Retention
    sessions: int
    unkept: tuple[str, ...]
    """Sessions that are deleted within a week and are not kept as they are now."""


def at_stake(config: Path, unkept: set[str]) -> Stake:
    """Return what Claude Code deletes within a week; `unkept` are the files that are not kept as they are now."""
    paths = list(layout.session_paths([config])) if os.path.isdir(config) else []
    kept_for = retention(config)
    soon = [str(path) for path in deleted_within(paths, kept_for.days) if str(path) in unkept]
    return Stake(str(config), kept_for, len(paths), tuple(soon))
