"""Make the standard streams safe to use: closed, full, non-blocking or not UTF-8."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

NAMES = ("stdin", "stdout", "stderr")


def open_standard_streams() -> None:
    """Open the standard streams that are closed, so that no file opened later gets their number."""
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals and pipes that are not UTF-8
            with suppress(OSError, ValueError, AttributeError):
                os.set_blocking(stream.fileno(), True)  # another program may have made a shared pipe non-blocking


def flush_or_discard(stream: TextIO) -> None:
    """Flush a stream; if that fails, discard its buffer."""
    try:
        stream.flush()
    except OSError:
        discard_output(stream)


def discard_output(stream: TextIO) -> None:
    """Send what is buffered, and all later output, to the null device."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
