"""The status line in Claude Code's own `settings.json`; everything else in it stays as it is."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from reread.base.coerce import as_dict, as_str
from reread.disk.layout import config_folders, default_store
from reread.storage.json_update import change_object, read_object

NAME, KEY = "settings.json", "statusLine"
INSTALLED = "status-line.json"
"""What was set in each file of settings, and what was there before, in reread's own folder."""
OURS, BEFORE = "installed", "before"
GUARD = "client-settings"
"""The lock for it, in reread's own folder: in that of Claude Code nothing else is written."""


def settings_file() -> Path:
    """Return the settings of the user in the first configuration folder of this machine."""
    return config_folders()[0] / NAME


def status_setting(template: str | None = None) -> dict[str, Any]:
    """Return the setting that lets Claude Code run `reread statusline`."""
    program = shutil.which("reread")
    words = [program] if program is not None else [sys.executable, "-P", "-m", "reread"]
    return {
        "type": "command",
        "command": shlex.join([*words, "statusline", *(["--format", template] if template else [])]),
    }


def status_command(path: Path) -> str | None:
    """Return the command of the status line that is set; raise Unreadable if the settings are not a JSON object."""
    return as_str(as_dict(read_object(path).get(KEY)).get("command"))


def set_status_line(path: Path, setting: dict[str, Any]) -> None:
    """Set the status line; nobody else changes the settings meanwhile, and what is no JSON object is left alone.

    What was set before is remembered, so that it can be put back.
    """

    def change(settings: dict[str, Any]) -> None:
        before, ours = settings.get(KEY), {**as_dict(settings.get(KEY)), **setting}

        def remember(installed: dict[str, Any]) -> None:
            known = as_dict(installed.get(str(path)))
            kept = known if before is not None and before == known.get(OURS) else {BEFORE: _foreign(before)}
            installed[str(path)] = {**kept, OURS: ours}

        change_object(default_store() / INSTALLED, remember)
        settings[KEY] = ours

    change_object(path, change, guard=default_store() / GUARD)


def unset_status_line(path: Path) -> bool:
    """Put back what `set_status_line` replaced; False, and nothing is changed, if the status line is not its own."""
    done = False

    def change(settings: dict[str, Any]) -> None:
        nonlocal done
        known = as_dict(read_object(default_store() / INSTALLED).get(str(path)))
        now = settings.get(KEY)
        done = now is not None and (now == known.get(OURS) or (not known and _foreign(now) is None))
        if done and known.get(BEFORE) is not None:
            settings[KEY] = known[BEFORE]
        elif done:
            del settings[KEY]

    if path.exists():
        change_object(path, change, guard=default_store() / GUARD)
    return done


def _foreign(setting: Any) -> Any:
    """Return a setting, or None if it is as `status_setting` makes it: 0.3 has not written down what it set."""
    try:
        words = shlex.split(as_str(as_dict(setting).get("command")) or "")
    except ValueError:  # an open quote
        return setting
    words = words[:-2] if words[-2:-1] == ["--format"] else words
    is_own = words[-1:] == ["statusline"] and (
        (len(words) == 2 and Path(words[0]).stem == "reread")
        or words[1:-1] in (["-m", "reread"], ["-P", "-m", "reread"])
    )
    return None if is_own else setting
