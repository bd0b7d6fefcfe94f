"""The names of projects: folders as people name them and as folder names encode them, and their repositories."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from reread.base.paths import comparable_path, is_foreign, is_local, normalize_folder, path_parts
from reread.base.text import short_cache
from reread.disk.layout import CONVERSATIONS
from reread.storage.safe_open import open_plain
from reread.storage.user_paths import expand_path

_WINDOWS_DRIVE = re.compile(r"[A-Za-z]--")
"""How the folder name of a project on Windows starts."""
_PATH_MARK = re.compile(r"[/\\:~]|^\.+$")
"""The characters of a path that the name of a project has not."""
GIT = ".git"
MAX_POINTER = 4096
"""Bytes read of the file that a worktree has instead of a folder."""
_CLAUDE_WORKTREE = re.compile(r"[/\\]\.claude[/\\]worktrees[/\\]")
_WORKTREE_OF = re.compile(r"gitdir: *+(.+?)[/\\]\.git[/\\]worktrees[/\\]")


def expand_folders(folders: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Return one or several folders as typed by a person, with `~` expanded and links resolved.

    A word that is no folder here is the name of a project, and is kept as it is.
    """
    paths = [folders] if isinstance(folders, str | Path) else folders or ()
    return tuple(map(_expand_folder, paths))


def _expand_folder(folder: str | Path) -> str:
    path = expand_path(folder)
    if isinstance(folder, str) and (_is_name(folder) or is_foreign(folder)):
        return folder
    return normalize_folder(os.path.realpath(path))


def _is_name(folder: str) -> bool:
    return folder != "" and not _PATH_MARK.search(folder) and not os.path.isdir(folder)


def is_within(project: str | None, folders: Sequence[str]) -> bool:
    """True if a project is one of the folders or below one of them; a folder may be given by its name alone."""
    name = comparable_path(project or "")
    above = [comparable_path(folder).rstrip("/") + "/" for folder in folders]
    return f"{name}/".startswith(tuple(above)) or any(_has_name(name, folder) for folder in folders)


def _has_name(project: str, name: str) -> bool:
    """True if a project's folder, or one above it, has this name in any case."""
    return bool(name) and not _PATH_MARK.search(name) and name.lower() in path_parts(project.lower())


def guess_project(session: Path) -> str:
    """Guess the project from the folder name, in which separators and dashes look the same."""
    return project_from_folder(session.parent.parent.name, session.parent.name)


def project_from_folder(folder: str, name: str) -> str:
    """Return the project that a folder name encodes; `folder` is the name of its parent folder."""
    if folder == CONVERSATIONS:
        return name.replace("_", "/")
    if _WINDOWS_DRIVE.match(name):
        return normalize_folder(f"{name[0]}:\\" + name[3:].replace("-", "\\"))
    return name.replace("-", "/") if name.startswith("-") else name


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
