"""Take the screenshots in docs/pictures, with the sample sessions. Needs playwright, Chromium and pyoxipng."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, sync_playwright

oxipng: Any = importlib.import_module("oxipng")  # it has no types

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
COMPLETE = 2000
"""Milliseconds until the page is complete. It is never idle, because it listens for events."""


class Picture(NamedTuple):
    """The page to show, the call to open in it, and the options of the browser context."""

    address: str
    call: str = ""
    screen: dict[str, Any] = {}


DESKTOP = {"width": 1280, "height": 800}
WIDE = {"viewport": {"width": 1440, "height": 900}}
SHARP = {"device_scale_factor": 2}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
PICTURES = {
    "session": Picture("#/s/8c1f0b52-6d3e-4a77-9b0e-52f1c4a9d310", "Run the backoff tests once", screen=SHARP),
    "session-dark": Picture(
        "#/s/d2a94e17-0c58-4f6b-8a1d-7be3905f26c4", "Find what touches failed events", screen={"color_scheme": "dark"}
    ),
    "search": Picture("#/?q=backoff", screen=SHARP),
    "library": Picture(""),
    "insights": Picture("#/insights?period=All+time", screen={"viewport": {"width": 1280, "height": 1000}}),
    "timeline": Picture("#/s/d2a94e17-0c58-4f6b-8a1d-7be3905f26c4?view=timeline"),
    "files": Picture("#/s/c3e81f6d-47a2-4c19-b5f0-6d92e07a418b?panel=files", screen=WIDE),
    "share": Picture("#/s/c3e81f6d-47a2-4c19-b5f0-6d92e07a418b?panel=share", screen=WIDE),
    "phone": Picture("#/s/b90c6f28-57e1-4b3d-a6a2-e1f47d08c935", screen=PHONE),
}


@contextmanager
def served(*options: str, environment: dict[str, str] | None = None) -> Iterator[str]:
    """The address of a server, by default with an empty home."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "reread", *options, "serve", "--no-open", "--port", "0"]
        empty = {"HOME": home, "CLAUDE_CONFIG_DIR": home, "REREAD_HOME": home}
        environment = {**os.environ, **(environment or empty), "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found, "the server did not print its address"
            try:
                yield found[0]
            finally:
                server.terminate()


def take(browser: Browser, address: str, picture: Picture, to: Path) -> None:
    """Take one screenshot."""
    with browser.new_context(**{"viewport": DESKTOP, "timezone_id": "UTC", **picture.screen}) as context:
        page = context.new_page()
        page.goto(address + picture.address)
        page.wait_for_timeout(COMPLETE)
        page.wait_for_function("!document.body.innerText.includes('Searching…')")
        if picture.call:
            page.locator(".call", has_text=picture.call).locator(".disclosure").first.click()
            page.mouse.move(0, 0)
            page.wait_for_timeout(COMPLETE)
        page.screenshot(path=to)
    oxipng.optimize(to, level=4)  # a third smaller, and the same picture


if __name__ == "__main__":
    with served("--demo") as address, sync_playwright() as api:
        browser = api.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in sys.argv[1:] or PICTURES:
            take(browser, address, PICTURES[name], FOLDER / f"{name}.png")
