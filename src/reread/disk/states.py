"""Which files have other states of a transcript: Claude Code rewrites files, and what it dropped may still be there.

A session is all of its states. They are found by its name, in each archive; if the name is a session's id, in other
project folders, too, because a session's file moves along with its working directory. Nearly every transcript has one
state, so that is found out by names and times alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reread.disk import layout
from reread.disk.moved_files import SESSION_UUID, is_moved
from reread.storage.kept_file import stat_file
from reread.storage.kept_names import (
    COARSE_WINDOW,
    FINE_WINDOW,
    MISSING,
    SUFFIX,
    FolderState,
    folder_names,
    folder_state,
    generation_path,
    generations,
    is_settled,
    kept_path,
    parse_kept_name,
    stand_in,
)
from reread.storage.prompt_history import is_prompts
from reread.storage.user_paths import MIRROR_STATE, is_mirror

SECOND = 1_000_000_000
VARIABLES = (
    *(layout.CONFIG_VARIABLE, layout.STORE_VARIABLE, layout.ARCHIVE_VARIABLE),
    *("USERPROFILE" if os.name == "nt" else "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
)
"""The variables that say where Claude Code's folders and archives are."""
MOST_LOOKS = 16
"""Sets of folders of which is remembered what their projects have in common."""


class EarlierState(NamedTuple):
    """A state that a transcript may have been in before."""

    path: str
    """The file that has it: what was kept, or what was superseded."""
    generation: int
    """The number of the generation that is kept; 0 of a file that was superseded."""
    size: int
    """Bytes of that file as it is on disk."""
    modified: int
    """When the transcript was last modified in this state, in nanoseconds since 1970."""
    order: int
    """The same, or that of an earlier generation if it is later: a later generation is a later state."""
    written: int
    """When the file that has it was last written or renamed."""


class OtherStates(NamedTuple):
    """The files that may have other states of a transcript."""

    states: list[EarlierState]
    """The oldest first."""
    rivals: list[str]
    """Files of its name in other folders of Claude Code's: what is kept may be a state of one of them instead."""


class _Places(NamedTuple):
    """Where Claude Code's folders and archives are."""

    variables: list[str | None]
    """The values of the variables that say so."""
    list: str
    """The list of archives."""
    list_state: FolderState
    tops: list[str]
    """The folder with all projects of each of Claude Code's folders."""
    folders: list[Path]
    """The archives."""
    archives: list[str]
    """The folder with all projects of each archive, and of each machine in one."""


class _Look(NamedTuple):
    """Which sessions several projects have files of, in some folders with all projects."""

    states: dict[str, FolderState | None]
    """The states of all folders that were looked at; None of one that may have changed unseen."""
    projects: dict[str, list[str]]
    """The names of the projects, by the id of the session."""


class _Folders:
    """What was seen of folders.

    A session gets states in other projects only when its file moves, which changes the folder where it is then. So
    while that folder and its copies in archives are as they were, no other folder is looked at again.
    """

    def __init__(self) -> None:
        self._places: _Places | None = None
        self._looks: dict[tuple[str, ...], _Look] = {}

    def places(self) -> _Places:
        """Return where Claude Code's folders and archives are."""
        known, variables = self._places, [os.environ.get(name) for name in VARIABLES]
        if known is not None and known.variables == variables and known.list_state == folder_state(known.list):
            return known
        listed = os.path.join(layout.default_store(), layout.ARCHIVES)
        state, config, folders = folder_state(listed), layout.config_folders(), layout.archive_folders()
        machines = list[Path]()
        for folder in folders:
            inner = os.listdir(folder) if is_mirror(folder) and os.path.isdir(folder) else None  # noqa: PTH208
            machines += [folder] if inner is None else [folder / name for name in sorted(inner) if name != MIRROR_STATE]
        tops, archives = ([_projects_in(folder) for folder in some] for some in (config, machines))
        found = _Places(variables, listed, state, tops, folders, archives)
        is_lasting = machines == folders and all(folder.is_absolute() for folder in (*config, *folders))
        self._places = found if is_lasting else None
        return found

    def projects_with(
        self, id: str, project: str, tops: Sequence[str], seen: Mapping[str, FolderState | None]
    ) -> list[str]:
        """Return the other projects that have files of a session, in some folders with all projects.

        `seen` are states of folders as they are now.
        """
        key = tuple(top for top in tops if top.endswith(f"{os.sep}{layout.PROJECTS}"))
        look = self._looks.get(key)
        here = (*key, *(f"{top}{os.sep}{project}" for top in key))
        states = [seen[folder] if folder in seen else folder_state(folder) for folder in here]
        if look is None or None in states or [look.states.get(folder, MISSING) for folder in here] != states:
            look = _look_at(key)
            if len(self._looks) >= MOST_LOOKS:
                self._looks.clear()
            self._looks[key] = look
        return [name for name in look.projects.get(id, ()) if name != project]


_folders = _Folders()


def _projects_in(folder: Path) -> str:
    return os.path.join(os.path.abspath(folder), layout.PROJECTS)  # noqa: PTH100


def _look_at(tops: Sequence[str]) -> _Look:
    states: dict[str, FolderState | None] = {}
    projects: dict[str, set[str]] = {}
    for top in tops:
        state = folder_state(top)
        states[top] = state if is_settled(max(state[2:])) else None
        with suppress(OSError), os.scandir(top) as entries:
            for entry in entries:
                if entry.is_dir():
                    states[entry.path], names = folder_names(entry.path)
                    for id in names.ids if not entry.is_symlink() else ():
                        projects.setdefault(id, set()).add(entry.name)
    return _Look(states, {id: sorted(names) for id, names in projects.items() if len(names) > 1})


def other_states(path: str | os.PathLike[str], now: os.stat_result | None = None) -> OtherStates | None:
    """Return the files that may have other states of a transcript; None if there is none.

    `now` is its status, if that is known.
    """
    text = os.fspath(path)
    if not text.endswith(".jsonl") or is_prompts(text):
        return None
    whole = os.path.abspath(text)  # noqa: PTH100
    top, project, below = _parts(whole)
    places, is_there = _folders.places(), os.path.lexists(whole)
    in_archive = top in places.archives or (not is_there and bool(generations(whole)))
    is_own = top in places.tops or any(map(partial(_is_same, folder_state(top)), places.tops))
    tops = [top, *(places.archives if is_own or in_archive else ()), *(places.tops if in_archive else ())]
    tops = list(dict.fromkeys(tops))
    id, (inner, _, name) = SESSION_UUID.match(below), below.rpartition(os.sep)
    own = [os.sep.join((one, project, inner) if inner else (one, project)) for one in tops]
    seen = {folder: folder_names(folder) for folder in own}
    states = {folder: state for folder, (state, _) in seen.items()}
    moved = _folders.projects_with(id[0], project, tops, states) if id is not None else []
    if not moved and not any(
        name in names.superseded
        or len(generations(file := f"{folder}{os.sep}{name}", names)) > (not is_there and file == whole)
        for folder, (_, names) in seen.items()
    ):
        return None
    try:
        now = now or stat_file(whole)
    except OSError:
        return None
    live = {other: [file for one in places.tops if os.path.lexists(file := os.path.join(one, other, below))]
            for other in (project, *moved)}  # fmt: skip
    read = None if is_there else stand_in(whole)
    known = {os.path.basename(read)} if read is not None else set[str]()
    found: dict[str, EarlierState] = {}
    for one in tops:
        for other in (project, *moved):
            original = os.path.join(one, other, below)
            is_state = other == project or (
                not live[other] and bool(generations(original)) and is_moved(original, whole, places.folders)
            )
            for state in (*(_kept_states(original) if is_state else ()), *_superseded(original, known)):
                if state.path != read and not _is_copy(now, state):
                    found[state.path] = state
    if not found:
        return None
    # an archive has what it has under an id of that session; only a name that is no id may be that of several files
    may_be_of_others = is_own or (id is None and len(live[project]) > 1)
    rivals = [file for file in live[project] if file != whole] if may_be_of_others else []
    return OtherStates(sorted(found.values(), key=lambda state: (state.order, state.generation, state.path)), rivals)


def _is_same(state: FolderState, folder: str) -> bool:
    """True if a folder is the one that was in a state, by whatever name."""
    return state != MISSING and folder_state(folder)[:2] == state[:2]


def _parts(path: str) -> tuple[str, str, str]:
    """Return the folder with all projects that a file is below, its project, and its path below that."""
    above, mark, rest = path.rpartition(f"{os.sep}{layout.PROJECTS}{os.sep}")
    project, _, below = rest.partition(os.sep)
    if mark and below:
        return os.path.join(above, layout.PROJECTS), project, below
    folder, name = os.path.split(path)
    return *os.path.split(folder), name


def _kept_states(original: str) -> Iterator[EarlierState]:
    latest = 0
    for number in generations(original):
        path = generation_path(original, number)
        with suppress(OSError):
            status = os.lstat(path)
            latest = max(latest, status.st_mtime_ns)
            yield EarlierState(path, number, status.st_size, status.st_mtime_ns, latest, status.st_ctime_ns)


def _superseded(original: str, seen: set[str]) -> Iterator[EarlierState]:
    """Yield the files that were superseded by one of a name, or what is kept of them; each name that is new."""
    folder, name = os.path.split(original)
    for there in folder_names(folder)[1].superseded.get(name, ()):
        then = (parse_kept_name(there) or (there,))[0]
        if not {then, there} & seen:
            seen.add(then)
            path = os.path.join(folder, then)
            found = path if os.path.lexists(path) else kept_path(path)
            with suppress(OSError):
                status = os.lstat(found or path)
                if stat.S_ISREG(status.st_mode):  # a link could lead to anything on this machine
                    times = status.st_mtime_ns, status.st_mtime_ns, status.st_ctime_ns
                    yield EarlierState(found or path, 0, status.st_size, *times)


def _is_copy(now: os.stat_result, state: EarlierState) -> bool:
    """True if what is kept of a file was copied from it as it is now, by their times."""
    modified = now.st_mtime_ns
    window = FINE_WINDOW if modified % SECOND else COARSE_WINDOW
    is_untouched = max(modified, now.st_ctime_ns) + window < state.written
    return is_untouched and modified == state.modified and state.path.endswith(SUFFIX)
