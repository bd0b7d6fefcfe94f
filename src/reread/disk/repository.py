"""Find the repository that a folder belongs to: subfolders and worktrees have the one of their main folder."""

from __future__ import annotations

from pathlib import Path

from reread.base.late_pattern import late_pattern
from reread.base.paths import is_local
from reread.base.text import short_cache
from reread.storage.safe_open import open_plain

GIT = ".git"
MAX_POINTER = 4096
"""Bytes read of the file that a worktree has instead of a folder."""
_CLAUDE_WORKTREE = late_pattern(r"[/\\]\.claude[/\\]worktrees[/\\]")
_WORKTREE_OF = late_pattern(r"gitdir: *+(.+?)[/\\]\.git[/\\]worktrees[/\\]")


@short_cache(4096)
def repository_of(folder: str) -> str:
    """Return the main folder of the repository that a folder is in; the folder itself if it is in none.

    A worktree that Claude Code made, below `.claude/worktrees`, is known by its path even if it is gone.
    """
    made = _CLAUDE_WORKTREE.search(folder)
    if made is not None:
        return repository_of(folder[: made.start()])
    for above in (Path(folder), *Path(folder).parents) if is_local(folder) else ():
        git = above / GIT
        if git.is_dir():
            return str(above)
        if git.is_file():
            return _main_folder(git) or str(above)
    return folder


def _main_folder(pointer: Path) -> str | None:
    """Return the main folder of the worktree with this `.git` file; None for a submodule or an unreadable file."""
    try:
        with open_plain(pointer) as file:
            found = _WORKTREE_OF.match(file.read(MAX_POINTER).decode("utf-8", "replace"))
    except OSError:
        return None
    return found[1] if found else None
