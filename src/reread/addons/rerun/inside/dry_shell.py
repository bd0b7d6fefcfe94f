"""A shell that runs nothing: it prints what was recorded of a command, and exits as that did.

The client starts its shell as `bash -c "… && eval 'COMMAND' … && pwd -P >| FILE"`. What was recorded stands in a
folder: `NUMBER.json` for each command, in the order of the record.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

RECORD = Path("/reread/dry")
FOLDER = re.compile(r"pwd -P >\|\s*(\S+)")
NOT_RECORDED = "reread: nothing was run: the record has no result of this command\n"


def session_command(script: str) -> str | None:
    """Return the command that a script would run; None if it has none of a session's."""
    with suppress(ValueError):
        words = shlex.split(script)
        found = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "eval"]
        return found[-1] if found else None
    return None


def take(command: str) -> dict[str, Any] | None:
    """Return what is recorded of a command, each time of the next one."""
    for path in sorted(RECORD.glob("*.json")):
        said: dict[str, Any] = json.loads(path.read_bytes())
        if bare_command(said["command"]) == bare_command(command):
            with suppress(FileNotFoundError):  # another shell was faster
                path.rename(path.with_suffix(".told"))
                return said
    return None


def bare_command(command: str) -> str:
    """Return a command as old clients rewrote all: with other quotes, and nothing to read for the first of a pipe."""
    with suppress(ValueError):
        return " ".join(shlex.split(command)).replace(" < /dev/null", "")
    return command


def main(words: Sequence[str]) -> int:
    """Answer as the recorded command did."""
    script = next((word for word in words if not word.startswith("-")), "")
    command = session_command(script)
    if command is None:
        return 0  # the client looks at its shell before the first command
    found = FOLDER.search(script)
    if found is not None:
        Path(shlex.split(found[1])[0]).write_text(f"{Path.cwd()}\n")
    said = take(command)
    if said is None:
        with (RECORD / "asked").open("a") as file:
            file.write(json.dumps(command) + "\n")
        sys.stderr.write(NOT_RECORDED)
        return 127
    sys.stdout.write(said["out"])
    sys.stdout.flush()
    sys.stderr.write(said["err"])
    if said["stays"]:
        signal.pause()  # until it is stopped, as it was
    return int(said["code"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
