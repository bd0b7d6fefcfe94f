"""Make the standard streams usable: always open, blocking, and tolerant of closed pipes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

NAMES = ("stdin", "stdout", "stderr")


def open_standard_streams() -> None:
    """Open missing standard streams on the null device, so that no file opened later gets one of their numbers."""
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a stream that is not UTF-8 gets what it can represent
            with suppress(OSError, ValueError, AttributeError):
                os.set_blocking(stream.fileno(), True)  # another program may have made a shared pipe non-blocking


def flush_or_discard(stream: TextIO) -> None:
    """Flush a stream that is still open; discard its buffered output if the other end is closed."""
    try:
        if not stream.closed:
            stream.flush()
    except OSError:
        discard_output(stream)


def discard_output(stream: TextIO) -> None:
    """Redirect a stream to the null device, together with its buffered output."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
