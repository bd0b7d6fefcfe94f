"""Where the Claude desktop app has sessions, and what it calls them.

Each session of Cowork ("local agent mode") has a configuration folder of its own, `local_<id>/.claude`, in a folder of
an account. Those of the app's Code tab lie in Claude Code's own folder. For both, the app writes a record
`local_<id>.json` with title and times, which names the transcript. Layouts: agentsview #639 and PR #681, txcript PR #9,
ai-engineering-fluency PR #572 (the Windows Store's app).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.base.scope_options import DESKTOP_VARIABLE
from reread.storage.safe_open import LARGEST_SETTINGS, read_settings

COWORK, CODE = "local-agent-mode-sessions", "claude-code-sessions"
PREFIX, CONFIG = "local_", ".claude"
DEEPEST = 4
"""The folders of an organisation, of an account, and at times one more lie between the app's folder and a session's."""


class DesktopSession(NamedTuple):
    """What the app says of a session."""

    title: str | None
    archived: bool


def app_folders() -> list[Path]:
    """Return where the app keeps its data on this system."""
    if os.environ.get(DESKTOP_VARIABLE, "").strip() == "0":
        return []
    try:
        home = Path.home()
    except RuntimeError:  # this user has none
        return []
    if sys.platform == "darwin":
        return [home / "Library" / "Application Support" / "Claude"]
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        store = sorted(local.glob("Packages/Claude_*/LocalCache/Roaming/Claude"))
        return [Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / "Claude", *store]
    return [Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "Claude"]


def desktop_folders() -> list[Path]:
    """Return the configuration folders of Cowork's sessions."""
    found = (
        path / CONFIG
        for app in app_folders()
        for path, is_folder in _sessions_below(app / COWORK, DEEPEST)
        if is_folder
    )
    return [path for path in found if os.path.isdir(path)]


def desktop_sessions() -> dict[str, DesktopSession]:
    """Return what the app says of its sessions, by the ids of Claude Code's."""
    found: dict[str, DesktopSession] = {}
    for app in app_folders():
        for kind in (COWORK, CODE):
            for path, is_folder in _sessions_below(app / kind, DEEPEST):
                if not is_folder and path.suffix == ".json":
                    record = _record(path)
                    if id := as_str(record.get("cliSessionId")):
                        found[id] = DesktopSession(as_str(record.get("title")), record.get("isArchived") is True)
    return found


def app_title(id: str) -> str | None:
    """Return the title that the app shows for a session; None if it shows none."""
    found = desktop_sessions().get(id)
    return found.title if found is not None else None


def record_files(transcript: Path) -> list[Path]:
    """Return the files of the app's own that belong to a session of Cowork."""
    folder = next((above for above in transcript.parents if above.name == CONFIG), Path()).parent
    if not folder.name.startswith(PREFIX):
        return []
    files = (folder.with_name(f"{folder.name}.json"), folder / "audit.jsonl")
    return [file for file in files if os.path.lexists(file)]


def _sessions_below(folder: Path, depth: int) -> Iterator[tuple[Path, bool]]:
    """Yield the folders and files that are named after sessions, and whether each is a folder."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name.startswith(PREFIX):
            yield Path(entry.path), is_folder
        elif is_folder and depth > 1:
            yield from _sessions_below(Path(entry.path), depth - 1)


def _record(path: Path) -> dict[str, object]:
    try:
        return as_dict(jsontext.loads_clean(read_settings(path, LARGEST_SETTINGS)))
    except (OSError, ValueError, RecursionError):  # gone again, or being written
        return {}
