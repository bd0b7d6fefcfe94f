"""Exclusive file locks, which the system releases when the process ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

LOCKED_BYTE = 1 << 62
"""Beyond the end of any file: Windows forbids reading the bytes that are locked."""
RETRY_SECONDS = 0.02

if sys.platform == "win32":
    import msvcrt

    def _acquire(fd: int) -> None:
        os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _acquire(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(fd: int, *, wait: float = 0, waiting: Callable[[], None] | None = None) -> bool:
    """Lock an open file, retrying for `wait` seconds; False if another process has it. Closing the file unlocks it.

    `waiting` is called once if another process has it.
    """
    deadline = time.monotonic() + wait
    while True:
        try:
            _acquire(fd)
        except OSError:
            if time.monotonic() >= deadline:
                return False
            if waiting is not None:
                waiting()
                waiting = None
            time.sleep(RETRY_SECONDS)
        else:
            return True
