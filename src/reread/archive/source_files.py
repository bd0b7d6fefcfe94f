"""The files that are kept: those of sessions, by an allowlist, and nothing else of Claude Code's folder."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reread.archive.plans import PLANS, plan_slug, plans_of
from reread.disk import layout
from reread.disk.agent_files import agent_files
from reread.disk.layout import AGENT_PREFIX, PROJECTS, SESSION_FOLDERS, SESSION_SUBFOLDERS
from reread.storage.kept_names import SESSION_UUID, superseded_name

FILE_HISTORY, TODOS, TASKS = "file-history", "todos", "tasks"
KEPT_SUBFOLDERS = SESSION_SUBFOLDERS - {"memory"}
"""Folders of a session of which every file is kept."""
BESIDE_PROJECTS = (FILE_HISTORY, TODOS, TASKS)
"""Folders beside `projects` with files of sessions."""
NEVER = frozenset({"settings.json", "settings.local.json", "credentials.json", "claude.json", "managed-settings.json"})
"""Names that are never kept, wherever they are; nor are names that begin with a dot."""
_IDS = re.compile(rf"(?=({SESSION_UUID.pattern}))", SESSION_UUID.flags)
"""Also those that overlap."""
LINK, SPECIAL = "it is a link", "it is not a regular file"


class SourceFile(NamedTuple):
    """A file to keep."""

    path: str
    name: str
    """Its path in the archive: relative, as below Claude Code's folder."""
    session: str
    """The id of its session; empty for an agent of the old layout, which only its records tell."""
    status: os.stat_result | None = None
    """Its status when it was found; None if it was gone."""
    skipped: str = ""
    """Why it is not kept; empty if it is."""


def is_transcript(name: str) -> bool:
    """True for the name of a session's transcript in an archive, or of one that it superseded."""
    folder, file = os.path.split(name)
    then = superseded_name(file)
    return layout.is_session_filename(then[0] if then else file) and SESSION_SUBFOLDERS.isdisjoint(
        folder.split(os.sep)  # noqa: PTH206
    )


def is_named_after(name: str, session: str) -> bool:
    """True if a file below Claude Code's folder has the id of a session in its name, or lies in a folder that has.

    What a project is called does not count: sessions may have run in any folder, also in one with an id in its path.
    """
    return any(session in part for part in _naming_parts(name))


def ids_in(name: str) -> set[str]:
    """Return the ids of the sessions that a file below Claude Code's folder is named after."""
    return {id for part in _naming_parts(name) for id in _IDS.findall(part)}


def _naming_parts(name: str) -> list[str]:
    parts = name.split(os.sep)  # noqa: PTH206
    return parts[2 if parts[0] == PROJECTS else 0 :]


def files_below(folder: Path) -> Iterator[SourceFile]:
    """Yield the files of all sessions below a configuration, projects, project or any other folder."""
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 (links in it are kept)
    if folder.name == PROJECTS and not os.path.isdir(folder / PROJECTS):
        folder = folder.parent
    elif folder.parent.name == PROJECTS and not os.path.isdir(folder / PROJECTS):
        for path in sorted(folder.glob("*.jsonl")):
            if layout.is_session_filename(path.name):
                yield from _beside_projects(folder.parent.parent, "", path.stem)
        yield from _container(str(folder), os.path.join(PROJECTS, folder.name), set())
        return
    if os.path.isdir(folder / PROJECTS):
        yield from _config_folder(str(folder), "", set())
    else:
        yield from _container(str(folder), os.path.join(PROJECTS, folder.name), set())


def files_of_session(path: Path) -> Iterator[SourceFile]:
    """Yield the files of one session: its own, those of its agents, and what lies beside them."""
    path = Path(os.path.abspath(path))  # noqa: PTH100
    above = list(path.parts[:-1])
    at = next((n for n in range(len(above) - 1, -1, -1) if above[n] in SESSION_FOLDERS), None)
    name = os.path.join(*(above[at:] if at is not None else (PROJECTS, path.parent.name)))
    yield _checked(str(path), os.path.join(name, path.name), path.stem)
    for entry in _entries(str(path.parent)):
        if entry.name.startswith(f"{path.name}.") and superseded_name(entry.name) is not None:
            yield _checked(entry.path, os.path.join(name, entry.name), path.stem)
    for agent in agent_files(path, [path.stem]).values():
        if agent.parent == path.parent:
            for file in (agent, agent.with_suffix(".meta.json")):
                if os.path.lexists(file):
                    yield _checked(str(file), os.path.join(name, file.name), path.stem)
    own = path.with_suffix("")
    if os.path.isdir(own) and not own.is_symlink():
        yield from _session_folder(str(own), os.path.join(name, own.name))
    if at is not None and above[at] == PROJECTS:
        top = Path(*above[:at])
        yield from _beside_projects(top, "", path.stem)
        for plan in plans_of(top, path):
            yield _checked(str(top / PLANS / plan), os.path.join(PLANS, plan), path.stem)


def _config_folder(folder: str, name: str, seen: set[str]) -> Iterator[SourceFile]:
    for inner in SESSION_FOLDERS:
        if os.path.isdir(os.path.join(folder, inner)):
            yield from _container(os.path.join(folder, inner), os.path.join(name, inner), seen)
    yield from _beside_projects(Path(folder), name, None)
    plans = os.path.join(folder, PLANS)
    for entry in _entries(plans) if not Path(plans).is_symlink() else ():
        if plan_slug(entry.name) is not None:  # only its session's records tell whose it is
            yield _checked(entry.path, os.path.join(name, PLANS, entry.name), "")


def _beside_projects(folder: Path, name: str, session: str | None) -> Iterator[SourceFile]:
    """Yield the files of one session, or of all, in the folders beside `projects`."""
    for inner in BESIDE_PROJECTS:
        top = folder / inner
        for entry in _entries(str(top)) if not top.is_symlink() else ():
            below = os.path.join(name, inner, entry.name)
            if inner == TODOS:
                owner = entry.name.split("-agent-")[0]
                if "-agent-" in entry.name and entry.name.endswith(".json") and session in (None, owner):
                    yield _checked(entry.path, below, owner)
            elif session in (None, entry.name) and entry.is_dir(follow_symlinks=False):
                yield from _all_below(entry.path, below, entry.name)


def _container(folder: str, name: str, seen: set[str]) -> Iterator[SourceFile]:
    """Yield the files of the sessions in a folder and below it; a link to a folder is named and not followed."""
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    entries = list(_entries(folder))
    names = {entry.name for entry in entries}
    for entry in entries:
        below = f"{name}{os.sep}{entry.name}"
        if entry.is_symlink() and entry.is_dir():
            yield _checked(entry.path, below, "")
        elif entry.is_dir(follow_symlinks=False):
            if entry.name in SESSION_SUBFOLDERS:
                continue
            if f"{entry.name}.jsonl" in names or _has_session_subfolder(entry.path):
                yield from _session_folder(entry.path, below)
            elif os.path.isdir(os.path.join(entry.path, PROJECTS)):
                yield from _config_folder(entry.path, below, seen)
            else:
                yield from _container(entry.path, below, seen)
        elif layout.is_session_filename(then[0] if (then := superseded_name(entry.name)) else entry.name):
            yield _checked(entry.path, below, entry.name.partition(".jsonl")[0])
        elif entry.name.startswith(AGENT_PREFIX) and entry.name.endswith((".jsonl", ".meta.json")):
            yield _checked(entry.path, below, "")


def _has_session_subfolder(folder: str) -> bool:
    """True for the folder of a session of which the transcript is gone."""
    return any(os.path.isdir(os.path.join(folder, inner)) for inner in KEPT_SUBFOLDERS)


def _session_folder(folder: str, name: str) -> Iterator[SourceFile]:
    """Yield the files in a session's own folder."""
    session = os.path.basename(folder)
    for entry in _entries(folder):
        below = f"{name}{os.sep}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if entry.name in KEPT_SUBFOLDERS:
                yield from _all_below(entry.path, below, session)
        elif entry.name.endswith((".json", ".jsonl")):
            yield _checked(entry.path, below, session)


def _all_below(folder: str, name: str, session: str) -> Iterator[SourceFile]:
    for entry in _entries(folder):
        below = f"{name}{os.sep}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _all_below(entry.path, below, session)
        else:
            yield _checked(entry.path, below, session)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield what a folder contains, sorted, without hidden names and those that are never kept."""
    try:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    yield from (entry for entry in found if not entry.name.startswith(".") and entry.name.lower() not in NEVER)


def _checked(path: str, name: str, session: str) -> SourceFile:
    """Return a file to keep, or one to skip if it is a link or no regular file."""
    try:
        status = os.lstat(path)
    except OSError:  # gone in the meantime: whoever opens it will see
        return SourceFile(path, name, session)
    mode = status.st_mode
    skipped = LINK if stat.S_ISLNK(mode) else "" if stat.S_ISREG(mode) else SPECIAL
    return SourceFile(path, name, session, status, skipped)
