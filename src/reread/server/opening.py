"""Hand the reader's address to the browser so that no other user of the machine can see its token."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>reread</title>
<p><a href="{address}">Open the reader</a>
"""


@contextmanager
def private_page(address: str) -> Generator[Path]:
    """Write a page that leads to an address, and that only its owner can read; delete it at the end.

    A browser's arguments can be seen by every user, so it is given the page and not the address.
    """
    handle, name = tempfile.mkstemp(prefix="reread-", suffix=".html")  # with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(PAGE.format(address=escape(address)))
        yield Path(name)
    finally:
        with suppress(OSError):  # someone has deleted it
            Path(name).unlink()


def open_page(page: Path) -> None:
    """Open the page in the browser."""
    webbrowser.open(page.as_uri())
