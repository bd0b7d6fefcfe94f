"""Tell somebody that a session waits: by the desktop's notifier, or by a command of theirs.

Nothing that a transcript says becomes a part of a command: it is an argument, or a variable of the environment.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from reread.base.paths import path_name
from reread.errors import Misuse

if TYPE_CHECKING:
    from reread.reports.now_report import LiveSession

TOLD = {"waiting": "waits for you", "idle": "is done", "died": "died"}
"""The states that the desktop is notified of."""
LONGEST = 300
MAC_SCRIPT = (
    *("-e", "on run argv"),
    *("-e", "display notification (item 2 of argv) with title (item 1 of argv)"),
    *("-e", "end run"),
)


def desktop_notifier() -> Callable[[LiveSession], None]:
    """Return what notifies the desktop; raise Misuse if it has no notifier."""
    program = shutil.which("osascript" if sys.platform == "darwin" else "notify-send")
    if program is None:
        raise Misuse("No desktop notifier here: install notify-send (libnotify), or run a command with --exec.")

    def notify(one: LiveSession) -> None:
        from reread.render.now_table import activity_text

        if one.state in TOLD:
            title = f"{_plain(path_name(one.project) or one.session[:8])} {TOLD[one.state]}"
            body = f"{_plain(one.title)}\n{_plain(activity_text(one))}"
            if sys.platform == "darwin":
                words = [*MAC_SCRIPT, title, body]
            else:
                words = ["--app-name=reread", "--", title, html.escape(body, quote=False)]
            _start([program, *words], dict(os.environ))

    return notify


def run_command(command: str, one: LiveSession) -> None:
    """Run a command of the user's with what is known of a session in its environment."""
    values = {
        "STATE": one.state,
        "WAITING_FOR": one.waiting_for,
        "SESSION": one.session,
        "TITLE": one.title,
        "PROJECT": one.project,
        "CALL": one.call,
        "COST_USD": one.cost_usd,
    }
    told = {f"REREAD_{name}": _plain(str(value)) if value is not None else "" for name, value in values.items()}
    _start([*shell_words(), command], {**os.environ, **told})


def shell_words() -> list[str]:
    """Return what runs a command of the user's."""
    return [os.environ.get("COMSPEC", "cmd.exe"), "/c"] if sys.platform == "win32" else ["/bin/sh", "-c"]


def _start(words: list[str], environment: dict[str, str]) -> None:
    """Start a program and do not wait for it; a terminal that shows sessions does not show its output."""
    process = subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _running[:] = [one for one in _running if one.poll() is None] + [process]


_running: list[subprocess.Popen[bytes]] = []
"""The programs that were started and not yet seen to end."""


def _plain(text: str) -> str:
    """Return a text without what acts on a terminal or ends a value of the environment."""
    return "".join(character if character.isprintable() else " " for character in text[:LONGEST])
