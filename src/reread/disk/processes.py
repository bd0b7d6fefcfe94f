"""Processes of this machine: whether one still runs, which are clients, and what they started.

Only Linux tells everything, in `/proc`. Elsewhere it is known whether a process runs, and nothing else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
HAS_PROC = sys.platform == "linux"
CLIENT_NAMES = ("claude", "cli.js", "cli-wrapper.cjs")
"""The ending of the first or the second word of a client's command line."""
STILL_ACTIVE, QUERY = 259, 0x1000


class Process(NamedTuple):
    """A process, and what tells it from a later one with the same number."""

    pid: int
    start: str
    """When it was started, in ticks since the machine was."""

    @property
    def started(self) -> float:
        """When it was started, in seconds since 1970."""
        return _boot_time() + int(self.start) / os.sysconf("SC_CLK_TCK")


def is_running(pid: int, start: str | None = None, *, by: float | None = None) -> bool:
    """True if a process runs, and is the one that was started then, or else by some time, if that is known."""
    if HAS_PROC:
        found = process(pid)
        if found is None or start is not None:
            return found is not None and found.start == start
        return by is None or found.started <= by
    if sys.platform == "win32":
        return _runs_on_windows(pid)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def process(pid: int) -> Process | None:
    """Return a process by its number; None if there is none, or it has ended and nobody has asked how."""
    fields = _stat(pid)
    return Process(pid, fields[19]) if fields and fields[0] not in "ZX" else None


def pid_domain() -> str | None:
    """Return what names the space that process numbers are valid in; None if the system has only one."""
    try:
        return str((PROC / "self/ns/pid").readlink()) if HAS_PROC else None
    except OSError:
        return None


def children(pid: int) -> Iterator[Process]:
    """Yield the processes that a process started and that run."""
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                yield from filter(None, map(process, map(int, (task / "children").read_text().split())))


def command_line(pid: int) -> str:
    """Return the words of the command that a process runs; empty if that is unknown."""
    try:
        return os.fsdecode((PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" "))
    except OSError:
        return ""


class ClientProcesses:
    """The clients that run, by the folder that each was started in; what a number stands for is read once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Process, str] | None] = {}

    def by_folder(self) -> dict[str, list[Process]] | None:
        """Return the clients of this user by folder, the newest first; None if the system does not tell."""
        if not HAS_PROC:
            return None
        with os.scandir(PROC) as entries:
            pids = {int(entry.name) for entry in entries if entry.name.isdigit()}
        self._known = {pid: self._known[pid] if pid in self._known else _client(pid) for pid in pids}
        found: dict[str, list[Process]] = {}
        for client in self._known.values():
            if client is not None and is_running(*client[0]):
                found.setdefault(client[1], []).append(client[0])
        for clients in found.values():
            clients.sort(key=lambda one: int(one.start), reverse=True)
        return found


def _client(pid: int) -> tuple[Process, str] | None:
    """Return a process and its folder if it is a client of this user."""
    found = process(pid)
    with suppress(OSError):
        words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")[:2]
        names = [os.fsdecode(word).rpartition("/")[2] for word in words]
        if found is not None and not {*names}.isdisjoint(CLIENT_NAMES) and not names[0].endswith("sh"):
            return found, str((PROC / str(pid) / "cwd").readlink())
    return None


def _stat(pid: int) -> list[str]:
    """Return the state of a process and what follows it; nothing if there is no such process."""
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return []
    fields = stat.rpartition(b")")[2].split()  # the name before may have blanks and brackets
    return [field.decode("ascii", "replace") for field in fields] if len(fields) > 19 else []


def _boot_time() -> float:
    """Return when the machine was started, by its clock as it is now: it may have been set meanwhile."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _runs_on_windows(pid: int) -> bool:  # os.kill would end it there
    import ctypes

    kernel = ctypes.windll.kernel32  # pyright: ignore
    handle = kernel.OpenProcess(QUERY, False, pid)  # pyright: ignore
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))  # pyright: ignore
    kernel.CloseHandle(handle)  # pyright: ignore
    return code.value == STILL_ACTIVE
