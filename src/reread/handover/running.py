"""Which sessions are running: Claude Code's registry of its processes, and files that were just written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from reread.base import jsontext
from reread.storage.safe_open import read_settings

REGISTRY = "sessions"
JUST_WRITTEN = 10.0
"""A transcript that was modified within so many seconds may be in use, by a client that has no registry."""


def running(session: str, config: Path, files: Iterable[str | Path] = ()) -> str:
    """Say what is using a session, by the registry and by its files; empty if nothing is."""
    for path in sorted((config / REGISTRY).glob("*.json")):
        entry: Any = None
        with suppress(OSError, ValueError):  # removed in the meantime, or being written
            entry = jsontext.loads_clean(read_settings(path))
        if not isinstance(entry, dict):
            continue
        known = cast(dict[str, Any], entry)
        pid = known.get("pid", path.stem)
        if known.get("sessionId") == session and is_alive(str(pid)):
            return f"Claude Code is running it, as process {pid}"
    for file in files:
        with suppress(OSError):
            age = time.time() - os.stat(file).st_mtime  # noqa: PTH116
            if -JUST_WRITTEN < age < JUST_WRITTEN:
                return f"{file} was written {max(0, age):.0f} seconds ago"
    return ""


def is_alive(pid: str) -> bool:
    """True if there is a process with this number."""
    if not pid.isdecimal() or not 0 < int(pid) < 1 << 31:
        return False
    if os.name != "posix":
        return True  # asking would end it
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
