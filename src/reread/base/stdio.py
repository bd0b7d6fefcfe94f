"""Standard streams: all three are there, and whatever is written to them gets through or is let go of."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

NAMES = ("stdin", "stdout", "stderr")


def open_standard_streams() -> None:
    """Have all three standard streams, so that no file that is opened later is taken for one of them."""
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal or pipe that is not UTF-8 gets what it can show
            with suppress(OSError, ValueError, AttributeError):
                os.set_blocking(stream.fileno(), True)  # another program may have left a shared pipe otherwise


def flush_or_discard(stream: TextIO) -> None:
    """See what is still on its way off; what a stream does not take any more is given up."""
    try:
        stream.flush()
    except OSError:
        discard_output(stream)


def discard_output(stream: TextIO) -> None:
    """Give up a stream that takes nothing any more, with what is still on its way."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
