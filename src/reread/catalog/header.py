"""A session as a line in a list."""

from __future__ import annotations

from datetime import datetime

import msgspec

NO_TITLE = ("(empty)", "(no prompt)")
"""The title of a session without one, if it is empty or not."""


class Header(msgspec.Struct, frozen=True):
    """A session as a line in a list. Every function that takes a path takes it, too: `reread.open(header)`."""

    id: str
    path: str
    """Its file; of a kept copy, which is compressed, the path without `.zst`."""
    title: str
    project: str
    project_guessed: bool
    """True if no record names the folder, so that it is a guess by the file's place."""
    git_branch: str | None
    version: str | None
    model: str | None
    started: datetime | None
    updated: datetime | None
    size: int
    """Bytes."""
    title_guessed: bool = False
    """True if there is neither a title nor a prompt, so that it is the prompt of the captured command, a command or
    the first answer."""
    captured: bool = False
    """True if it is a captured conversation; its id is that of the conversation."""
    sessions: tuple[str, ...] = ()
    """The ids of Claude Code's sessions at its start and its end."""
    kept: bool = False
    """True if `reread keep` has a copy of it."""
    gone: bool = False
    """True if only that copy is left."""
    starred: bool = False
    note: str = ""
    """The notes of a person about it, made in the reader."""
    tags: tuple[str, ...] = ()
    """Its tags, as `reread tag` gave them."""
    archived: bool = False
    """True if Claude Code or its desktop app has archived it, so that its lists leave it out."""
    prompts_only: bool = False
    """True if only its prompts are left, in the history of what was typed."""
    desktop: bool = False
    """True if the Claude desktop app ran it."""
    moved_from: str | None = None
    """The folder that it ran in, if the configuration says that this is `project` now."""

    def __fspath__(self) -> str:
        return self.path
