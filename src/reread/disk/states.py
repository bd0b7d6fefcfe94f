"""Which files have other states of a transcript: Claude Code rewrites files, and what it dropped may still be there.

A session is all of its states. They are found by its name, in each archive; if the name is a session's id, in other
project folders, too, because a session's file moves along with its working directory. Nearly every transcript has one
state, so that is found out by names and times alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reread.base.scope_options import DESKTOP_VARIABLE
from reread.disk import layout
from reread.storage.kept_file import stat_file
from reread.storage.kept_names import (
    COARSE_WINDOW,
    FINE_WINDOW,
    MISSING,
    SESSION_UUID,
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
    *("USERPROFILE" if os.name == "nt" else "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", DESKTOP_VARIABLE),
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

    def look(self, project: str, tops: Sequence[str]) -> _Look:
        """Return what the projects in some folders with all projects have in common, as it is for one of them."""
        key = tuple(top for top in tops if top.endswith(f"{os.sep}{layout.PROJECTS}"))
        look = self._looks.get(key)
        here = (*key, *(f"{top}{os.sep}{project}" for top in key))
        if look is None or any(look.states.get(folder, MISSING) != folder_state(folder) for folder in here):
            look = _look_at(key)
            if len(self._looks) >= MOST_LOOKS:
                self._looks.clear()
            self._looks[key] = look
        return look


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
    is_there = os.path.lexists(whole)
    places, tops, is_own = _around(top, is_kept=not is_there and bool(generations(whole)))
    id = SESSION_UUID.match(below)
    everywhere = _folders.look(project, tops).projects.get(id[0], ()) if id is not None else ()
    moved = [name for name in everywhere if name != project]
    own = [os.path.join(one, project, below) for one in tops]
    if not moved and not any(_has_states(one, is_read=one == whole and not is_there) for one in own):
        return None
    try:
        now = now or stat_file(whole)
    except OSError:
        return None
    live = {
        other: [file for one in places.tops if os.path.lexists(file := os.path.join(one, other, below))]
        for other in (project, *moved)
    }
    read = None if is_there else stand_in(whole)
    seen = {os.path.basename(read)} if read is not None else set[str]()
    found: dict[str, EarlierState] = {}
    for one in tops:
        for name in (project, *moved):
            original = os.path.join(one, name, below)
            is_state = name == project or (
                not live[name] and bool(generations(original)) and layout.is_moved(original, whole, places.folders)
            )
            for state in (*(_kept_states(original) if is_state else ()), *_superseded(original, seen)):
                if state.path != read and not _is_copy(now, state):
                    found[state.path] = state
    if not found:
        return None
    # an archive has what it has under an id of that session; only a name that is no id may be that of several files
    may_be_of_others = is_own or (id is None and len(live[project]) > 1)
    rivals = [file for file in live[project] if file != whole] if may_be_of_others else []
    return OtherStates(sorted(found.values(), key=lambda state: (state.order, state.generation, state.path)), rivals)


def single_state_test(folder: str, around: dict[str, list[str]]) -> Callable[[str], bool]:
    """Return a test for names in a folder that is looked at once: True if such a file, if it is there, has one state.

    For many files this is what `other_states` says of each. `around` is what all folders of one listing share.
    """
    top, project, below = _parts(os.path.join(os.path.abspath(folder), "-"))  # noqa: PTH100
    below = below[:-1]
    tops = around.get(top) or around.setdefault(top, _around(top, is_kept=False)[1])
    elsewhere = _folders.look(project, tops).projects
    folders = [one for one in (os.path.join(top, project, below) for top in tops) if os.path.isdir(one)]
    names = [(one, folder_names(one[:-1])[1]) for one in folders]

    def test(name: str) -> bool:
        if not name.endswith(".jsonl") or is_prompts(os.path.join(folder, name)):
            return False
        id = SESSION_UUID.match(f"{below}{name}")
        if id is not None and any(other != project for other in elsewhere.get(id[0], ())):
            return False
        return not any(name in found.superseded or generations(f"{one}{name}", found) for one, found in names)

    return test


def _around(top: str, *, is_kept: bool) -> tuple[_Places, list[str], bool]:
    """Return where states of a file may be that is below a folder with all projects: the places, all such folders, and
    whether that folder is one of Claude Code's."""
    places = _folders.places()
    in_archive = top in places.archives or is_kept
    is_own = top in places.tops or any(map(partial(_is_same, folder_state(top)), places.tops))
    tops = [top, *(places.archives if is_own or in_archive else ()), *(places.tops if in_archive else ())]
    return places, list(dict.fromkeys(tops)), is_own


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


def _has_states(original: str, *, is_read: bool) -> bool:
    """True if anything has a state of a file; not what is kept of it once if that is what is read."""
    folder, name = os.path.split(original)
    names = folder_names(folder)[1]
    return len(generations(original, names)) > is_read or name in names.superseded


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
