"""A store's `config.json`: its workspaces and settings, such as where renamed folders are; unknown fields are kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from reread.base.coerce import as_dict
from reread.base.paths import comparable_path, normalize_folder
from reread.disk.layout import default_store
from reread.storage.atomic import write_atomic
from reread.storage.json_update import change_object, locked
from reread.storage.safe_open import read_settings

NAME = "config.json"
VERSION = 1
MOVED = "moved"
"""The setting of the own store's `config.json`: `{"~/old": "~/new"}`."""


def read_config(root: Path) -> dict[str, Any]:
    """Return a store's configuration; empty if it is missing, unreadable or not a JSON object."""
    try:
        return as_dict(json.loads(read_settings(root / NAME)))
    except (OSError, ValueError, RecursionError):
        return {}


def config_value(root: Path, name: str) -> Any:
    """Return one of a store's settings, or None."""
    return as_dict(read_config(root).get("settings")).get(name)


def change_config_value(root: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change one of a store's settings; nobody else changes it meanwhile."""

    def apply(config: dict[str, Any]) -> None:
        settings = as_dict(config.get("settings"))
        config["settings"] = {**settings, name: change(settings.get(name))}

    change_object(root / NAME, apply)


def add_workspace(root: Path, workspace: str) -> None:
    """Add a workspace to the configuration, unless it is listed already.

    A configuration that is not a JSON object, has a later version or lists workspaces in another form is left alone.
    """
    if _needs_no_change(read_config(root), workspace):
        return
    with locked(root / NAME) as held:
        if held and not _needs_no_change(config := read_config(root), workspace):
            listed = cast(list[Any], config.get("workspaces", []))
            _replace(root, {"version": VERSION, **config, "workspaces": [*listed, workspace]})


def _needs_no_change(config: dict[str, Any], workspace: str) -> bool:
    """True if the workspace is listed, or the configuration is in a form that reread must not change."""
    listed = config.get("workspaces", [])
    version = config.get("version", VERSION)
    if not isinstance(listed, list) or not isinstance(version, int) or version > VERSION:
        return True
    names = (cast(dict[str, Any], it).get("id") if isinstance(it, dict) else it for it in cast(list[Any], listed))
    return workspace in names


def _replace(root: Path, config: dict[str, Any]) -> None:
    path = root / NAME
    if path.exists() and not read_config(root):
        return
    write_atomic(path, [json.dumps(config, indent=2).encode() + b"\n"], sync=True)


def moved_folders() -> dict[str, str]:
    """Return the folders that were renamed, each with where it is now."""
    value = config_value(default_store(), MOVED)
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
