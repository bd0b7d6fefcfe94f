"""The command that resumes a captured conversation, quoted for a shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import PurePath

from reread.catalog.stored_conversation import StoredConversation
from reread.disk import layout
from reread.errors import Misuse

CLAUDE = "claude"
_PLAIN_ID = re.compile(r"\w[\w-]*")
_CMD_SPECIAL = re.compile(r'[()%!^"<>&|]')


def resume_command(stored: StoredConversation, prompt: str = "") -> tuple[list[str], str | None]:
    """Return the command that resumes a conversation's last session, and the folder to run it in.

    The program's path is taken only from files in this machine's own store, and a session id that looks like an option
    is ignored: a file from elsewhere must not choose what runs.
    """
    session_ids = [id for id in stored.session_ids if _PLAIN_ID.fullmatch(id)]
    if not session_ids:
        raise Misuse(f"Cannot resume {stored.id!r}: it contains no Claude Code session.")
    runs = [run for run in stored.runs if run.argv] if stored.root == layout.default_store().absolute() else []
    programs = [run.argv[0] for run in runs if PurePath(run.argv[0]).stem.lower() == CLAUDE]
    argv = [programs[-1] if programs else CLAUDE, "--resume", session_ids[-1], *(["-p", prompt] if prompt else [])]
    return argv, next((run.cwd for run in reversed(stored.runs) if run.cwd), None)


def quote_command(argv: Sequence[str], cwd: str | None = None, *, windows: bool = os.name == "nt") -> str:
    """Quote a command, with a change to its folder, for a POSIX shell or for `cmd`."""
    quote = _quote_for_cmd if windows else shlex.join
    command = quote(argv)
    if cwd is None:
        return command
    return f"{'cd /d' if windows else 'cd'} {quote([cwd])} && {command}"


def _quote_for_cmd(words: Sequence[str]) -> str:
    """Quote for the program, then escape for `cmd`, which interprets its special characters even between quotes."""
    return _CMD_SPECIAL.sub(r"^\g<0>", subprocess.list2cmdline(words))
