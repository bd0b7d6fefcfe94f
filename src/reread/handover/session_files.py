"""The files of a session wherever it is: in Claude Code's folder, in an archive, a bucket, or beside any transcript.

Kept files are named and read as if they were there. What lies in Claude Code's folder below `projects` has a name in
its project; file history, todos, tasks and plans have one in the folder itself. A session is in use if the client's
registry says so, or if one of its files was just written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from reread.archive.plans import PLANS, plans_of
from reread.archive.source_files import FILE_HISTORY, KEPT_SUBFOLDERS, NEVER, TASKS, TODOS, ids_in
from reread.base.text import plural
from reread.catalog.headers import DesktopTitles
from reread.disk import layout
from reread.disk.agent_files import AgentFolders, agent_files
from reread.disk.layout import CONVERSATIONS
from reread.disk.registry import running_sessions
from reread.errors import Unreadable
from reread.storage.frames import BadFrame, read_frames
from reread.storage.kept_copy import examine
from reread.storage.kept_file import opened
from reread.storage.kept_names import (
    MAP_SUFFIX,
    SESSION_UUID,
    SUFFIX,
    generation_path,
    generations,
    generations_by_name,
    is_kept_transcript,
    parse_kept_name,
    stand_in,
    superseded_name,
)
from reread.storage.lock import lock
from reread.storage.safe_open import open_descriptor

CHUNK = 1 << 20
INDEX = "sessions-index.json"
JUST_WRITTEN = 10.0
"""A transcript that was modified within so many seconds may be in use, by a client that has no registry."""


class LocatedFile(NamedTuple):
    """A file of a session."""

    path: str
    """Where it is, or where it was before it was kept."""
    name: str
    """Its path in its project's folder, or in Claude Code's."""
    in_project: bool
    generation: int | None = None
    """The generation that is wanted of a kept file; the last one that is not later."""

    def pieces(self) -> Iterator[bytes]:
        """Yield its bytes; raise Unreadable if they are not those that were kept."""
        try:
            yield from self._pieces()
        except (OSError, BadFrame) as error:
            reason = error if isinstance(error, OSError) else OSError(0, f"{error}; run `reread keep --check`")
            raise Unreadable.at(self.path, reason) from error

    def _pieces(self) -> Iterator[bytes]:
        kept = self.kept_as()
        if not kept.endswith(SUFFIX) or parse_kept_name(os.path.basename(kept)) is None:
            with os.fdopen(open_descriptor(kept), "rb", buffering=0) as file:
                while data := file.read(CHUNK):
                    yield data
            return
        copy = examine(kept, 1)
        if copy.damage or copy.doubt:
            raise BadFrame(copy.damage or copy.doubt)
        with opened(kept) as (read, _):
            for raw, _ in read_frames(read, copy.packed_size):
                yield raw

    def kept_as(self) -> str:
        """Return the file that has its bytes."""
        if self.generation is not None:
            wanted = [number for number in generations(self.path) if number <= self.generation]
            if wanted:
                return generation_path(self.path, wanted[-1])
        if is_kept_transcript(self.path) or os.path.lexists(self.path):
            return self.path
        return stand_in(self.path) or self.path


class Look:
    """What lies in Claude Code's folders, by the sessions it is of: each folder is listed once for many sessions."""

    def __init__(self) -> None:
        self.agents = AgentFolders()
        self.projects = cache(_projects)
        self.indexes = cache(_indexes)
        self._by_session = cache(_by_session)

    @cached_property
    def titles(self) -> DesktopTitles:
        return DesktopTitles()

    def named_after(self, config: Path, session: str) -> list[Path]:
        """Return every file that has the session's id in its name, or lies in a folder that has; links, too."""
        return [path for path in self._by_session(config).get(session, ()) if os.path.lexists(path)]


def _projects(config: Path) -> list[Path]:
    return sorted((config / layout.PROJECTS).glob("*/"))


def _indexes(config: Path) -> list[Path]:
    """Return the client's lists of sessions."""
    return sorted((config / layout.PROJECTS).glob(f"*/{INDEX}"))


def _by_session(config: Path) -> dict[str, list[Path]]:
    """Return the files and links that are named after sessions, by the ids."""
    found: dict[str, list[Path]] = {}
    is_store = config == Path(os.path.abspath(layout.default_store()))  # noqa: PTH100
    for folder, folders, names in os.walk(config / layout.PROJECTS if is_store else config):  # adopted sessions
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114
        for name in sorted([*names, *links]):
            path = Path(folder, name)
            leads = path.parent / path.readlink() if path.is_symlink() else path
            if leads is path and not path.is_file():
                continue  # a pipe or socket: nothing can be put back
            for id in {id for one in {path, leads} for id in ids_in(os.path.relpath(one, config))}:
                found.setdefault(id, []).append(path)
    return found


def files_of(transcript: Path, generation: int | None = None, look: Look | None = None) -> list[LocatedFile]:
    """Return the files of a session, its transcript first; for many sessions, pass the same look each time."""
    look = look or Look()
    transcript = Path(os.path.abspath(transcript))  # noqa: PTH100
    original = transcript.with_name(original_name(transcript.name))
    stem = original.stem
    files = [LocatedFile(str(transcript), original.name, True, generation)]
    for agent in agent_files(original, [stem], look.agents).values():
        if agent.parent == original.parent:
            files += (
                LocatedFile(str(file), file.name, True, generation)
                for file in (agent, agent.with_suffix(".meta.json"))
                if os.path.lexists(file) or stand_in(file)
            )
    top = config_of(original)
    own = [original.with_suffix("")]
    if top is not None and SESSION_UUID.fullmatch(stem):  # what it left behind when it moved to another project
        folders = (project / stem for project in look.projects(top))
        own += [folder for folder in folders if folder != own[0] and os.path.isdir(folder)]
    seen: set[str] = set()
    for folder in own:
        for name in _session_folder(folder):
            if name not in seen:
                seen.add(name)
                files.append(LocatedFile(str(folder / name), os.path.join(stem, name), True, generation))
    if top is not None:
        for name in _beside_projects(top, stem, transcript):
            files.append(LocatedFile(str(top / name), name, False, generation))
    return files


def original_name(name: str) -> str:
    """Return the name that a transcript had before it was kept or superseded."""
    kept = parse_kept_name(name) if name.endswith(SUFFIX) else None
    name = kept[0] if kept is not None else name
    then = superseded_name(name)
    return then[0] if then is not None else name


def config_of(transcript: Path) -> Path | None:
    """Return the folder that a transcript's `projects` lies in; None if it lies elsewhere."""
    return next((above.parent for above in transcript.parents if above.name == layout.PROJECTS), None)


def _session_folder(folder: Path) -> Iterator[str]:
    """Yield the files of a session's own folder, by their paths in it."""
    for name, is_folder in names_in(folder):
        if not is_folder:
            if name.endswith((".json", ".jsonl")):
                yield name
        elif name in KEPT_SUBFOLDERS:
            yield from all_below(folder / name, name)


def _beside_projects(top: Path, session: str, transcript: Path) -> Iterator[str]:
    for inner in (FILE_HISTORY, TASKS):
        yield from all_below(top / inner / session, os.path.join(inner, session))
    for name, _ in names_in(top / TODOS):
        if name.startswith(f"{session}-agent-"):
            yield os.path.join(TODOS, name)
    yield from (os.path.join(PLANS, name) for name in plans_of(top, transcript))


def all_below(folder: Path, name: str) -> Iterator[str]:
    """Yield the files below a folder, each by its path after the name."""
    for inner, is_folder in names_in(folder):
        if is_folder:
            yield from all_below(folder / inner, os.path.join(name, inner))
        else:
            yield os.path.join(name, inner)


def names_in(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the names of files and folders (True) in a folder, kept files by their own; no links, no hidden ones."""
    try:
        entries = {entry.name: entry for entry in os.scandir(folder)} if not folder.is_symlink() else {}
    except OSError:
        return
    kept = set(generations_by_name(entries))
    own = {name for name in entries if name.removesuffix(MAP_SUFFIX).removesuffix(SUFFIX) not in kept}
    for name in sorted(own | kept):
        entry = entries.get(name)
        if name.startswith(".") or name.lower() in NEVER:
            continue
        if entry is None or entry.is_file(follow_symlinks=False):
            yield name, False
        elif entry.is_dir(follow_symlinks=False):
            yield name, True


def running(session: str, config: Path, files: Iterable[str | Path] = ()) -> str:
    """Say what is using a session; empty if nothing is."""
    for one in running_sessions(config):
        if one.session == session and one.alive is not False:
            return f"Claude Code is running it, as process {one.pid}"
    for file in files:
        with suppress(OSError):
            age = time.time() - os.stat(file).st_mtime  # noqa: PTH116
            if -JUST_WRITTEN < age < JUST_WRITTEN:
                return f"{file} was written {plural(round(max(0, age)), 'second')} ago"
        if CONVERSATIONS in Path(file).parts and _is_locked(file):
            return f"{file} is being captured"
    return ""


def _is_locked(file: str | Path) -> bool:
    """True if another process holds the lock of a captured conversation, which its writer does."""
    try:
        descriptor = open_descriptor(file, os.O_RDWR)
    except OSError:
        return False
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)
