"""Resumption: the command that goes on with a captured conversation, and how a shell has it quoted."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import PurePath

from reread.catalog.store import StoredConversation
from reread.disk import layout
from reread.errors import Misuse

CLAUDE = "claude"
_PLAIN_ID = re.compile(r"\w[\w-]*")
_SPECIAL = re.compile(r'[()%!^"<>&|]')


def resume_command(kept: StoredConversation, prompt: str = "") -> tuple[list[str], str | None]:
    """The command that goes on with a conversation's last session, and the folder to run it in.

    Who wrote the file chooses neither the program, unless it is this machine's own store, nor an option for it.
    """
    sessions = [id for id in kept.session_ids if _PLAIN_ID.fullmatch(id)]
    if not sessions:
        raise Misuse(f"conversation {kept.id} names no session of Claude Code, so nothing can be resumed")
    runs = [run for run in kept.runs if run.argv] if kept.root == layout.default_store().absolute() else []
    programs = [run.argv[0] for run in runs if PurePath(run.argv[0]).stem.lower() == CLAUDE]
    words = [programs[-1] if programs else CLAUDE, "--resume", sessions[-1]]
    return [*words, *(["-p", prompt] if prompt else [])], next(
        (run.cwd for run in reversed(kept.runs) if run.cwd), None
    )


def quoted(argv: Sequence[str], cwd: str | None = None, *, windows: bool = os.name == "nt") -> str:
    """A command as a line for the shell: a POSIX one, or `cmd`."""
    quote = _for_cmd if windows else shlex.join
    command = quote(argv)
    if cwd is None:
        return command
    return f"{'cd /d' if windows else 'cd'} {quote([cwd])} && {command}"


def _for_cmd(words: Sequence[str]) -> str:
    """Quoted for the program, then for `cmd` itself, which looks at its own signs even between quotes."""
    return _SPECIAL.sub(r"^\g<0>", subprocess.list2cmdline(words))
