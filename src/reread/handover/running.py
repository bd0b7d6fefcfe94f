"""Whether a session is in use: by the client's registry, and by files that were just written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reread.base.text import plural
from reread.disk.layout import CONVERSATIONS
from reread.disk.registry import running_sessions
from reread.storage.lock import lock
from reread.storage.safe_open import open_descriptor

JUST_WRITTEN = 10.0
"""A transcript that was modified within so many seconds may be in use, by a client that has no registry."""


def running(session: str, config: Path, files: Iterable[str | Path] = ()) -> str:
    """Say what is using a session; empty if nothing is."""
    for one in running_sessions(config):
        if one.session == session and one.alive is not False:
            return f"Claude Code is running it, as process {one.pid}"
    for file in files:
        with suppress(OSError):
            age = time.time() - os.stat(file).st_mtime  # noqa: PTH116
            if -JUST_WRITTEN < age < JUST_WRITTEN:
                return f"{file} was written {plural(round(max(0, age)), 'second')} ago"
        if CONVERSATIONS in Path(file).parts and _is_locked(file):
            return f"{file} is being captured"
    return ""


def _is_locked(file: str | Path) -> bool:
    """True if another process holds the lock of a captured conversation, which its writer does."""
    try:
        descriptor = open_descriptor(file, os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)
