"""Hand the reader's address to the browser so that no other user of the machine can see its token."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from types import FrameType

from reread.storage.safe_open import open_plain

PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>reread</title>
<p><a href="{address}">Open the reader</a>
"""
HEAD = PAGE.partition("{address}")[0].encode()
"""How every page begins."""
PREFIX, SUFFIX = "reread-", ".html"
"""How the names of these pages begin and end."""
KEPT_SECONDS = 600
"""A page older than this was left behind: a browser needs it only for a moment."""
SignalHandler = Callable[[int, FrameType | None], object]
ENDING_SIGNALS = ("SIGTERM", "SIGHUP")


class ShutdownRequested(BaseException):
    """The process was asked to end; the argument is its exit code."""


@contextmanager
def private_page(address: str) -> Generator[Path]:
    """Write a page that leads to an address, and that only its owner can read; delete it at the end.

    A browser's arguments can be seen by every user, so it is given the page and not the address.
    """
    _remove_old_pages(Path(tempfile.gettempdir()))
    handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX)  # with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(PAGE.format(address=escape(address)))
        yield Path(name)
    finally:
        with suppress(OSError):  # someone has deleted it
            Path(name).unlink()


def _remove_old_pages(folder: Path) -> None:
    """Delete the pages of this user whose server was killed."""
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(OSError):
            status = path.lstat()
            own = sys.platform == "win32" or status.st_uid == os.getuid()
            if own and stat.S_ISREG(status.st_mode) and status.st_mtime < time.time() - KEPT_SECONDS:
                with open_plain(path) as file:
                    is_page = file.read(len(HEAD)) == HEAD
                if is_page:
                    path.unlink()


def raise_ended(number: int, frame: FrameType | None) -> None:
    """Handle a signal that ends the process, so that what was left behind is cleaned up."""
    raise ShutdownRequested(128 + number)


@contextmanager
def ending_signals(handler: SignalHandler, instead_of: SignalHandler | signal.Handlers) -> Generator[None]:
    """Use a handler for those signals that end a process and have the other handler; an ignored one stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    present = [getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)]
    numbers = [number for number in present if signal.getsignal(number) == instead_of]
    for number in numbers:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, instead_of)


def open_page(page: Path) -> None:
    """Open the page in the browser."""
    webbrowser.open(page.as_uri())
