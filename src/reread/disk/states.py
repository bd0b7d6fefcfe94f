"""The states of a transcript: Claude Code rewrites files, and what it dropped may still be kept or lie beside them.

A session is all of its states. They are found by its name, in each archive; if the name is a session's id, in other
project folders, too, because a session's file moves along with its working directory. Nearly every transcript has one
state, so that is found out by names and times alone.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from operator import is_not
from pathlib import Path
from typing import Any, NamedTuple

from reread.disk import layout
from reread.disk.moved_files import SESSION_UUID, is_moved
from reread.disk.prefixes import Prefixes
from reread.storage.bucket_mirror import STATE
from reread.storage.file_times import COARSE_WINDOW, FINE_WINDOW, is_settled
from reread.storage.kept_file import (
    SUFFIX,
    generation_path,
    kept_in,
    kept_path,
    original_names,
    stand_in,
    stat_file,
    superseded_name,
)
from reread.storage.prompt_history import is_prompts
from reread.storage.user_paths import mirrors_folder

REMEMBERED = 4096
"""Folders that are remembered."""
SECOND = 1_000_000_000
ID_LENGTH = 36


class EarlierState(NamedTuple):
    """A state that a transcript was in before."""

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


class _Candidate(NamedTuple):
    """A file that may be another state of a transcript."""

    state: EarlierState
    written: int
    """When the file that has it was last written or renamed, in nanoseconds since 1970."""


class _Listing(NamedTuple):
    """The sessions in a project's folder."""

    ids: frozenset[str]
    """The ids that names begin with."""
    superseded: dict[str, list[str]]
    """The names of files that were superseded, kept or not, by the transcript that each was."""


NOTHING = _Listing(frozenset(), {})


class _Surroundings(NamedTuple):
    """Where other states of the files in a folder may be."""

    top: str
    """The folder with all projects."""
    project: str
    """The name of the project's folder."""
    below: str
    """The path of the folder below that."""
    beside: dict[str, tuple[int, ...]]
    """The kept files in the folder itself."""
    archives: list[tuple[str, dict[str, tuple[int, ...]]]]
    """The same folder in other places, as far as it is there, and what is kept in it."""
    superseded: list[dict[str, list[str]]]
    elsewhere: list[tuple[dict[str, list[str]], list[str]]]
    """The project folders that have files of each session, and which one is the same as here."""

    def may_have(self, name: str, path: str) -> bool:
        """False if a file in the folder has no other state."""
        id = (self.below or name)[:ID_LENGTH]
        for folders, own in self.elsewhere:
            if folders.get(id, own) != own:
                return True
        if name in self.beside and (len(self.beside[name]) > 1 or os.path.lexists(path)):
            return True
        for names in self.superseded:
            if name in names:
                return True
        for folder, kept in self.archives:
            # it may be one that can be entered but not listed, or one in which case does not matter
            if name in kept or os.path.lexists(generation_path(f"{folder}{name}", 1)):
                return True
        return False


class _Moment(threading.local):
    """The folders that a thread has seen while it looked at many files."""

    def __init__(self) -> None:
        self.depth = 0
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.surroundings: dict[str, _Surroundings] = {}
        self.listings: dict[str, _Listing] = {}
        self.kept: dict[str, dict[str, tuple[int, ...]]] = {}
        self.projects: dict[str, dict[str, list[str]]] = {}
        self.real: dict[str, str] = {}
        self.archive_folders: list[Path] | None = None
        self.archives: list[str] | None = None
        self.config: list[str] | None = None


_moment = _Moment()
_listed: dict[str, tuple[int, int, int, _Listing]] = {}
"""The listings of folders, with the time, inode and device of each: it has not changed if they have not."""
_tops: dict[str, tuple[int, int, int, list[str]]] = {}
"""The same of folders with all projects."""
_grouped: dict[str, tuple[list[_Listing], dict[str, list[str]]]] = {}
"""The project folders that have files of each session, and the listings that say so."""
_prefixes = Prefixes()


@contextmanager
def one_moment() -> Generator[None]:
    """Look at each folder once while many files are looked at, as if that took no time."""
    _moment.depth += 1
    try:
        yield
    finally:
        _moment.depth -= 1
        if not _moment.depth:
            _moment.clear()
            _prefixes.save()


def earlier_states(path: str | os.PathLike[str], now: os.stat_result | None = None) -> list[EarlierState]:
    """Return the states of a transcript that it does not begin with now, the oldest first; mostly there is none.

    `now` is its status, if that is known.
    """
    text = os.fspath(path)
    if not text.endswith(".jsonl"):
        return []
    if not _moment.depth:
        with one_moment():
            return earlier_states(text, now)
    above, name = os.path.split(text)
    around = _moment.surroundings.get(above) or _look_around(above)
    if not around.may_have(name, text) or is_prompts(text):
        return []
    whole = os.path.abspath(text)  # noqa: PTH100
    found = {candidate.state.path: candidate for candidate in _candidates(whole, around)}
    if not found:
        return []
    try:
        now = now or stat_file(whole)
    except OSError:
        return []
    others = [one for one in found.values() if not _begins_with(whole, now, one)]
    mine = [one.state for one in others if not _is_of_another(whole, around, one)]
    return sorted(mine, key=lambda state: (state.order, state.generation, state.path))


def _look_around(folder: str) -> _Surroundings:
    """Return where other states of the files in a folder may be."""
    whole = os.path.abspath(folder)  # noqa: PTH100
    above, mark, rest = os.path.join(whole, "").rpartition(f"{os.sep}{layout.PROJECTS}{os.sep}")
    project, _, below = rest.partition(os.sep)
    if mark and project:
        top, below = os.path.join(above, layout.PROJECTS), below.rstrip(os.sep)
    else:
        top, project, below = os.path.split(whole)[0], os.path.basename(whole), ""
    beside = _kept(whole)
    bases = _bases(top, in_archive=top in _archives() or bool(beside))
    folders = [os.path.join(base, project, below, "") for base in bases]
    archives = [(one, _kept(one[:-1])) for one in folders[1:] if os.path.isdir(one)]
    ids = [(_sessions(base), [os.path.join(base, project)]) for base in bases]
    superseded = [_listing(one.rstrip(os.sep)).superseded for one in folders]
    found = _Surroundings(
        top, project, below, beside, archives, [*filter(None, superseded)], [one for one in ids if one[0]]
    )
    _moment.surroundings[folder] = found
    return found


def _bases(top: str, *, in_archive: bool) -> list[str]:
    """Return the folders with all projects in which states of a file may be that is below one of them."""
    tops = _config_tops()
    is_own = in_archive or _real(top) in map(_real, tops)
    return list(dict.fromkeys([top, *(_archives() if is_own else ()), *(tops if in_archive else ())]))


def _candidates(path: str, around: _Surroundings) -> Iterator[_Candidate]:
    """Yield what may be another state of a transcript, whatever it contains."""
    below = os.path.join(around.below, os.path.basename(path))
    read = None if os.path.lexists(path) else stand_in(path)
    seen = {os.path.basename(read)} if read is not None else set[str]()
    in_archive = around.top in _archives() or (read is not None and bool(kept_path(path)))
    for base in _bases(around.top, in_archive=in_archive):
        own = os.path.join(base, around.project)
        for project in dict.fromkeys([own, *_sessions(base).get(below[:ID_LENGTH], ())]):
            original = os.path.join(project, below)
            if project == own or _is_moved(original, path, below):
                yield from _generations(original, read)
            folder, name = os.path.split(original)
            for then in _listing(folder).superseded.get(name, ()):
                what = then if superseded_name(then) is not None else next(iter(original_names([then])))
                if what not in seen and then not in seen:
                    seen.add(what)
                    yield from _superseded(os.path.join(folder, what), read)


def _is_moved(original: str, path: str, below: str) -> bool:
    """True if what is kept from another project is the same file's, and not that of a session that is still there."""
    project = os.path.basename(original[: -len(below)].rstrip(os.sep))
    is_free = not any(os.path.lexists(os.path.join(top, project, below)) for top in _config_tops())
    return is_free and bool(_numbers(original)) and is_moved(original, path, _archive_folders())


def _generations(original: str, read: str | None) -> Iterator[_Candidate]:
    latest = 0
    for number in _numbers(original):
        path = generation_path(original, number)
        with suppress(OSError):
            status = os.lstat(path)
            latest = max(latest, status.st_mtime_ns)
            if path != read:
                state = EarlierState(path, number, status.st_size, status.st_mtime_ns, latest)
                yield _Candidate(state, status.st_ctime_ns)


def _superseded(path: str, read: str | None) -> Iterator[_Candidate]:
    found = path if os.path.lexists(path) else kept_path(path)
    if found is not None and found != read:
        with suppress(OSError):
            status = os.lstat(found)
            if stat.S_ISREG(status.st_mode):  # a link could lead to anything on this machine
                state = EarlierState(found, 0, status.st_size, status.st_mtime_ns, status.st_mtime_ns)
                yield _Candidate(state, status.st_ctime_ns)


def _numbers(original: str) -> tuple[int, ...]:
    """Return the generations that are kept of a file."""
    folder, name = os.path.split(original)
    found = _kept(folder).get(name)
    if found is None:
        return (1,) if os.path.lexists(generation_path(original, 1)) else ()
    return found


def _kept(folder: str) -> dict[str, tuple[int, ...]]:
    """Return the generations of each file that is kept in a folder."""
    if folder not in _moment.kept:
        _moment.kept[folder] = kept_in(folder)
    return _moment.kept[folder]


def _real(folder: str) -> str:
    if folder not in _moment.real:
        _moment.real[folder] = os.path.realpath(folder)
    return _moment.real[folder]


def _archive_folders() -> list[Path]:
    if _moment.archive_folders is None:
        _moment.archive_folders = layout.archive_folders()
    return _moment.archive_folders


def _archives() -> list[str]:
    """Return the folder with all projects of each archive."""
    if _moment.archives is None:
        folders: list[Path] = []
        mirrors = mirrors_folder()
        for folder in _archive_folders():
            inner = os.listdir(folder) if folder.parent == mirrors and os.path.isdir(folder) else None  # noqa: PTH208
            folders += [folder] if inner is None else [folder / name for name in sorted(inner) if name != STATE]
        _moment.archives = [os.path.join(os.path.abspath(folder), layout.PROJECTS) for folder in folders]  # noqa: PTH100
    return _moment.archives


def _config_tops() -> list[str]:
    """Return the folder with all projects of each of Claude Code's folders."""
    if _moment.config is None:
        folders = map(os.path.abspath, layout.config_folders())
        _moment.config = [os.path.join(folder, layout.PROJECTS) for folder in folders]
    return _moment.config


def _sessions(top: str) -> dict[str, list[str]]:
    """Return the project folders that have files of each session, by its id."""
    if top not in _moment.projects:
        folders = _project_folders(top)
        listings = [_listing(folder) for folder in folders]
        known = _grouped.get(top)
        if known is None or len(known[0]) != len(listings) or any(map(is_not, known[0], listings)):
            found: dict[str, list[str]] = {}
            for folder, listing in zip(folders, listings, strict=True):
                for id in listing.ids:
                    found.setdefault(id, []).append(folder)
            known = listings, found
            _remember(_grouped, top, known)
        _moment.projects[top] = known[1]
    return _moment.projects[top]


def _project_folders(top: str) -> list[str]:
    """Return the folders of all projects; they are listed again if one was added or deleted."""
    if os.path.basename(top) != layout.PROJECTS:
        return []
    try:
        status = os.stat(top)  # noqa: PTH116
        known = _tops.get(top)
        if known is not None and known[:3] == (status.st_mtime_ns, status.st_ino, status.st_dev):
            return known[3]
        settled = is_settled(status.st_mtime_ns)
        with os.scandir(top) as entries:
            found = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    if settled:
        _remember(_tops, top, (status.st_mtime_ns, status.st_ino, status.st_dev, found))
    return found


def _listing(folder: str) -> _Listing:
    """Return what a folder has of sessions; it is listed again if it has changed."""
    found = _moment.listings.get(folder)
    if found is not None:
        return found
    try:
        status = os.stat(folder)  # noqa: PTH116
        known = _listed.get(folder)
        if known is not None and known[:3] == (status.st_mtime_ns, status.st_ino, status.st_dev):
            found = known[3]
        else:
            settled = is_settled(status.st_mtime_ns)
            found = _list_folder(os.listdir(folder))  # noqa: PTH208
            if settled:
                _remember(_listed, folder, (status.st_mtime_ns, status.st_ino, status.st_dev, found))
    except OSError:
        found = NOTHING
    _moment.listings[folder] = found
    return found


def _list_folder(names: list[str]) -> _Listing:
    superseded: dict[str, list[str]] = {}
    for name in names:
        if ".jsonl.superseded-" in name:
            originals = original_names([name]) if name.endswith(SUFFIX) else {name}
            for then in map(superseded_name, originals):
                if then is not None:
                    superseded.setdefault(then[0], []).append(name)
    ids = (found[0] for found in map(SESSION_UUID.match, names) if found is not None)
    return _Listing(frozenset(ids), superseded)


def _begins_with(path: str, now: os.stat_result, candidate: _Candidate) -> bool:
    """True if a file has all that it had in another state, and at most more at its end."""
    state, modified = candidate.state, now.st_mtime_ns
    window = FINE_WINDOW if modified % SECOND else COARSE_WINDOW
    is_untouched = max(modified, now.st_ctime_ns) + window < candidate.written
    if is_untouched and modified == state.modified and state.path.endswith(SUFFIX):
        return True  # `keep` gives a copy the time of its original
    return _prefixes.begins_with(path, now, state.path, (state.size, state.modified, candidate.written))


def _is_of_another(path: str, around: _Surroundings, candidate: _Candidate) -> bool:
    """True if what is kept under the name of a file is that of another file, in another of Claude Code's folders.

    An archive has what it has under an id of that session, also what is live again; only a name that is no id may be
    that of several files.
    """
    if not candidate.state.generation:
        return False
    name = os.path.join(around.below, os.path.basename(path))
    live = [other for top in _config_tops() if os.path.lexists(other := os.path.join(top, around.project, name))]
    is_live = _real(around.top) in map(_real, _config_tops())
    if not is_live and (SESSION_UUID.match(name) or len(live) < 2):
        return False
    for other in live:
        with suppress(OSError):
            if other != path and _begins_with(other, os.stat(other), candidate):  # noqa: PTH116
                return True
    return False


def _remember(known: dict[Any, Any], key: object, value: object) -> None:
    while len(known) >= REMEMBERED:
        with suppress(KeyError, StopIteration, RuntimeError):  # another thread was faster
            del known[next(iter(known))]
    known[key] = value
