"""The session that asks: what it says was said just now, so it is left out of answers about the past."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from reread.disk.agent_files import session_file
from reread.disk.file_set import find_files
from reread.disk.filenames import unicode_stem
from reread.errors import Unreadable
from reread.records.decode import Record
from reread.storage.kept_file import open_regular

VARIABLES = ("CLAUDE_CODE_SESSION_ID",)
"""Set by Claude Code for the servers that it starts; stale once a person has cleared the conversation."""
CALL_KEY = "claudecode/toolUseId"
"""Where Claude Code names the call in a request."""
RECENT_SECONDS, TAIL = 900, 1 << 20
"""A file that has the call was written lately, and has it at its end."""
WAIT_SECONDS, PAUSE_SECONDS = 1.0, 0.1
"""How long to wait for the client to write the call, if nothing else names the session."""


class AskingSession:
    """Finds the session that asks, by the client's environment and by the calls that it makes."""

    def __init__(self, roots: Sequence[str | Path] | None = None) -> None:
        self._roots = roots
        self._named = {os.environ.get(name, "").strip().lower() for name in VARIABLES} - {""}

    def ids(self, call: str | None = None) -> set[str]:
        """Return the ids of the session that makes a call, as far as they are known."""
        waited = time.monotonic() + (0 if self._named else WAIT_SECONDS)
        while call:
            found = set(self._sessions_with(call.encode()))
            self._named |= found
            if found or time.monotonic() >= waited:
                break
            time.sleep(PAUSE_SECONDS)
        return set(self._named)

    def _sessions_with(self, call: bytes) -> Iterator[str]:
        """Yield the sessions that were written lately and have a call with this id."""
        oldest = time.time() - RECENT_SECONDS
        for path, state in find_files(self._roots).states.items():
            if state.modified >= oldest * 1e9:
                with suppress(OSError, Unreadable):
                    yield from _session_ids(path, call)


def _session_ids(path: str, call: bytes) -> Iterator[str]:
    with open_regular(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        lines = [line for line in file.readall().split(b"\n") if call in line and b'"tool_use"' in line]
    for line in lines:
        id = Record(0, 0, line).envelope.sessionId or ""
        yield from {id.lower(), unicode_stem(Path(session_file(path, id))).lower()} - {""}
