"""Locks: one holder of a file at a time, let go when the process ends, however it ends."""

from __future__ import annotations

import os
import sys
import time

FAR = 1 << 62
"""A byte that no file has: Windows forbids reading the bytes that are locked."""
PAUSE = 0.02

if sys.platform == "win32":
    import msvcrt

    def _take(fd: int) -> None:
        os.lseek(fd, FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(fd: int, *, wait: float = 0) -> bool:
    """Take the lock of an open file, within so many seconds; closing the file lets go of it."""
    limit = time.monotonic() + wait
    while True:
        try:
            _take(fd)
        except OSError:
            if time.monotonic() >= limit:
                return False
            time.sleep(PAUSE)
        else:
            return True
