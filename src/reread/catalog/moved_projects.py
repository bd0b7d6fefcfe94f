"""Projects whose folders were renamed: what the configuration says about where they are now."""

from __future__ import annotations

import os
from typing import Any, cast

from reread.base.paths import comparable_path, normalize_folder
from reread.catalog.config import config_value
from reread.disk.layout import default_store

SETTING = "moved"
"""The setting of the own store's `config.json`: `{"~/old": "~/new"}`."""


def moved_folders() -> dict[str, str]:
    """Return the folders that were renamed, each with where it is now."""
    value = config_value(default_store(), SETTING)
    rows = cast(dict[Any, Any], value) if isinstance(value, dict) else {}
    named = {old: new for old, new in rows.items() if isinstance(old, str) and isinstance(new, str) and old and new}
    return {_expanded(old): _expanded(new) for old, new in named.items()}


def moved_to(folder: str, moves: dict[str, str] | None = None) -> str | None:
    """Return where a folder is now, if it or one above it was renamed; None if not."""
    moves = moved_folders() if moves is None else moves
    for old in sorted(moves, key=len, reverse=True):  # the nearest one counts
        path, start = comparable_path(folder), comparable_path(old)
        if path == start or path.startswith((f"{start}/", f"{start}\\")):
            return moves[old] + folder[len(old) :]
    return None


def _expanded(folder: str) -> str:
    return normalize_folder(os.path.expanduser(folder))
