"""Settings: a store's `config.json`, which lists its workspaces; what it holds besides is left as it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

from reread.disk.atomic import write_whole
from reread.disk.lock import lock

NAME = "config.json"
VERSION = 1
LOCK = "config.lock"
WAIT = 10


def read_config(root: Path) -> dict[str, Any]:
    """What a store's configuration says; empty where there is none that can be read."""
    try:
        value: Any = json.loads((root / NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def config_value(root: Path, name: str) -> Any:
    """One of the settings, or None."""
    settings = read_config(root).get("settings")
    return cast(dict[str, Any], settings).get(name) if isinstance(settings, dict) else None


def enter_workspace(root: Path, workspace: str) -> None:
    """See that the configuration lists a workspace.

    A configuration that is no JSON object, or of a later version, or lists its workspaces in another way, is not ours
    to change.
    """
    if _lists(read_config(root), workspace):
        return
    fd = os.open(root / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if lock(fd, wait=WAIT) and not _lists(settings := read_config(root), workspace):
            known = cast(list[Any], settings.get("workspaces", []))
            _replace(root, {"version": VERSION, **settings, "workspaces": [*known, workspace]})
    finally:
        os.close(fd)


def _lists(settings: dict[str, Any], workspace: str) -> bool:
    """Whether nothing is to be added."""
    known = settings.get("workspaces", [])
    version = settings.get("version", VERSION)
    if not isinstance(known, list) or not isinstance(version, int) or version > VERSION:
        return True
    names = (cast(dict[str, Any], it).get("id") if isinstance(it, dict) else it for it in cast(list[Any], known))
    return workspace in names


def _replace(root: Path, settings: dict[str, Any]) -> None:
    """Write it beside and put it in place: a reader sees the old one or the new one, whole."""
    path = root / NAME
    if path.exists() and not read_config(root):
        return
    write_whole(path, [json.dumps(settings, indent=2).encode() + b"\n"], sync=True)
