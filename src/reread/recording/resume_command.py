"""The command that resumes a session in Claude Code, quoted for a shell."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reread.base.paths import program_name
from reread.catalog.headers import read_header
from reread.catalog.stored_conversation import StoredConversation
from reread.disk import layout
from reread.errors import Misuse
from reread.records import dialects
from reread.records.decode import Record
from reread.storage.kept_file import open_regular

CLAUDE = "claude"
CLAUDE_DIALECTS = (dialects.NATIVE, *(dialect.NAME for dialect in dialects.DIALECTS))
FIRST_LINE = 1 << 20
_PLAIN_ID = re.compile(r"\w[\w-]*", re.ASCII)


class Resumption(msgspec.Struct, frozen=True):
    """How to continue a session: with its id, in the folder where it ran."""

    session: str
    cwd: str | None
    """The folder; None if the file names none."""
    program: str
    trusted: bool
    """True if the file is in Claude Code's folders or this machine's own store. Any other file can name any folder."""
    captured: bool
    """True if the file is a captured conversation."""

    def command(self, prompt: str = "") -> list[str]:
        """Return the command; with a prompt it prints the answer."""
        words = [self.program, "--resume", self.session]
        if not prompt:
            return words
        return [*words, "-p", *(["--"] if prompt.startswith("-") else []), prompt]


def resumption(path: Path) -> Resumption:
    """Return how to continue the session in a file, or the last session of a captured conversation.

    The program's path is taken only from files in this machine's own store, and a session id that looks like an option
    is ignored: a file from elsewhere must not choose what runs.
    """
    header = read_header(path)
    if header.prompts_only:
        raise Misuse(
            f"Cannot resume {header.id!r}: only its prompts are left; read them with `reread show {header.id}`."
        )
    if _is_of_another_agent(path):
        raise Misuse(f"Cannot resume {header.id!r}: Claude Code did not write it.")
    stored = StoredConversation(path)
    if header.captured:
        ids, runs = stored.session_ids, stored.runs
        cwd = next((run.cwd for run in reversed(runs) if run.cwd), None)
        id = stored.id
    else:
        ids, runs, id = sorted(header.sessions, key=lambda session: session == path.stem), [], header.id
        cwd = None
    session = next((id for id in reversed(ids) if _PLAIN_ID.fullmatch(id)), None)
    if session is None:
        raise Misuse(f"Cannot resume {id!r}: it contains no Claude Code session.")
    own = _is_below(path, [layout.default_store()])
    programs = [run.argv[0] for run in runs if own and run.argv and program_name(run.argv[0]) == CLAUDE]
    return Resumption(
        session=session,
        cwd=cwd or (header.project if not header.project_guessed or os.path.isdir(header.project) else None),
        program=programs[-1] if programs else CLAUDE,
        trusted=own or _is_below(path, layout.config_folders()),
        captured=header.captured,
    )


def _is_of_another_agent(path: Path) -> bool:
    """True if the first line of a file is of no dialect of Claude Code's."""
    with open_regular(path) as file:
        line = file.readline(FIRST_LINE)
    return Record(0, 0, line).dialect not in CLAUDE_DIALECTS


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
