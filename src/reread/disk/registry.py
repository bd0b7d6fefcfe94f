"""The client's registry of running sessions: a file `sessions/<pid>.json` for each, removed when it ends.

Clients of 2.1.76 name only the process and the session; later ones say what it does, and what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict, as_int, as_str
from reread.disk.processes import is_running, pid_domain
from reread.storage.safe_open import read_settings

FOLDER = "sessions"
LARGEST = 1 << 20
SLACK = 60.0
"""Seconds by which a clock may have been set since a client wrote when it was started."""
BUSY, IDLE, WAITING = "busy", "idle", "waiting"
BLOCKED = "blocked"
"""The tempo of a job that cannot go on alone."""


class RunningSession(msgspec.Struct, frozen=True):
    """The entry of a session in the registry; anything may be missing."""

    pid: int
    session: str
    status: str | None = None
    """busy, idle or waiting."""
    waiting_for: str | None = None
    since: datetime | None = None
    """Since when it has this status."""
    updated: datetime | None = None
    started: datetime | None = None
    cwd: str | None = None
    name: str | None = None
    start: str | None = None
    """A value that tells the process from a later one with the same number."""
    domain: str | None = None
    """Where the number is valid: a machine, and on Linux a namespace."""

    @property
    def alive(self) -> bool | None:
        """Whether its process runs; None if it is one of another machine or container."""
        here = pid_domain()
        if self.domain is not None and here is not None and not self.domain.endswith(here):
            return None
        return is_running(self.pid, self.start, by=self.started.timestamp() + SLACK if self.started else None)

    @property
    def said(self) -> datetime | None:
        """When it last said something."""
        return self.updated or self.since or self.started


def running_sessions(config: Path) -> Iterator[RunningSession]:
    """Yield what the registry in a configuration folder says; files that say nothing are left out."""
    try:
        files = sorted((config / FOLDER).iterdir())
    except OSError:
        return
    for file in files:
        pid = file.stem
        if file.suffix == ".json" and pid.isdecimal() and pid.isascii() and 0 < int(pid[:10]) < 1 << 31:
            with suppress(OSError, ValueError, RecursionError):  # gone again, or being written
                found = _entry(int(pid), jsontext.loads_clean(read_settings(file, LARGEST)))
                if found is not None:
                    yield found


def _entry(pid: int, value: Any) -> RunningSession | None:
    fields = as_dict(value)
    session = as_str(fields.get("sessionId"))
    if not session:
        return None
    blocked = fields.get("tempo") == BLOCKED
    start = fields.get("procStart")
    return RunningSession(
        pid=pid,
        session=session,
        status=WAITING if blocked else as_str(fields.get("status")),
        waiting_for=as_str(fields.get("needs" if blocked else "waitingFor")),
        since=_time(fields.get("statusUpdatedAt")),
        updated=_time(fields.get("updatedAt")),
        started=_time(fields.get("startedAt")),
        cwd=as_str(fields.get("cwd")),
        name=as_str(fields.get("name")),
        start=start if isinstance(start, str) and start.isdecimal() else None,
        domain=as_str(fields.get("pidDomain")),
    )


def _time(value: Any) -> datetime | None:
    milliseconds = as_int(value)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds is not None else None
    except (OverflowError, ValueError, OSError):
        return None
