"""When Claude Code deletes sessions: the retention in the settings that apply, and what it will delete next."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.base.paths import is_local
from reread.catalog.headers import read_header
from reread.errors import Unreadable
from reread.storage.safe_open import read_settings

SETTING = "cleanupPeriodDays"
PROJECT_SETTINGS = ("settings.local.json", "settings.json")
"""The settings files of a project, the stronger first."""
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
    """Return the retention in force for a configuration folder: an administrator's settings go before the person's."""
    return _first_of((*_managed_settings(), config / "settings.json")) or Retention(DEFAULT_DAYS, "")


def sooner_in_projects(general: Retention, sessions: Iterable[str]) -> list[Retention]:
    """Return the retentions that projects of these sessions set for themselves and that are shorter.

    Started in such a project, Claude Code goes by its settings; an administrator's go before them.
    """
    if general.source in map(str, _managed_settings()):
        return []
    newest_last = sorted(sessions, key=_modified)
    folders = {os.path.dirname(path): path for path in newest_last}  # noqa: PTH120
    found: dict[str, Retention] = {}
    for path in folders.values():
        with suppress(Unreadable):
            project = read_header(path).project
            if is_local(project) and (own := _first_of(Path(project, ".claude", name) for name in PROJECT_SETTINGS)):
                found[own.source] = own
    return [one for _, one in sorted(found.items()) if one.days < general.days]


def _first_of(paths: Iterable[Path]) -> Retention | None:
    """Return the retention of the first of some settings files that sets one."""
    return next((Retention(days, str(path)) for path in paths if (days := _days(path)) is not None), None)


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


class AtRisk(msgspec.Struct, frozen=True):
    """The sessions that a configuration folder is about to lose."""

    folder: str
    retention: Retention
    sessions: int
    """How many it has; one of which two projects have a file counts once."""
    sooner: tuple[Retention, ...]
    """The shorter times of projects, from their own settings."""
    unkept: tuple[str, ...]
    """Sessions that are deleted within a week and are not kept as they are now."""
    due: int = 0
    """How many sessions are deleted within a week."""


def at_stake(config: Path, sessions: Iterable[str], unkept: Iterable[str]) -> AtRisk:
    """Return what Claude Code deletes within a week, of its sessions and of those not kept as they are now."""
    paths = list(sessions)
    general = retention(config)
    sooner = sooner_in_projects(general, paths)
    days = min(one.days for one in (general, *sooner))
    limit = time.time() - (days - SOON_DAYS) * DAY
    soon = [path for path in unkept if _modified(path) < limit]
    due = {os.path.basename(path) for path in paths if _modified(path) < limit}
    return AtRisk(str(config), general, len(set(map(os.path.basename, paths))), tuple(sooner), tuple(soon), len(due))


def _modified(path: str) -> float:
    """Return when a file was modified; now if it is gone."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return time.time()
