"""The names of kept and superseded files, and what the names in a folder say.

`folder/name.jsonl.zst` keeps `folder/name.jsonl`, and `name.jsonl.gen2.zst` another generation of it. Claude Code calls
a file that was in the way of another `name.jsonl.superseded-<time>`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from reread.base.late_pattern import late_pattern

SUFFIX = ".zst"
MAP_SUFFIX = ".map"
LISTED_FOLDERS = 1 << 14
"""Folders whose names are remembered."""
SESSION_UUID = late_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

FolderState = tuple[int, int, int, int]
"""Device and inode of a folder, and when it and its status were modified."""
MISSING: FolderState = (0, 0, 0, 0)

_GENERATION = late_pattern(r"\.gen([1-9]\d{0,8})$")
_SUPERSEDED = late_pattern(r"(.+\.jsonl)\.superseded-(\d{1,20})")
COARSE_WINDOW, FINE_WINDOW = 2_000_000_000, 50_000_000
"""A file that changed so many nanoseconds ago may change again without a new time: on file systems that count whole
seconds, and on others."""


def is_settled(changed: int) -> bool:
    """False if what changed at a time, in nanoseconds since 1970, may change once more and keep that time."""
    window = COARSE_WINDOW if changed % 1_000_000_000 == 0 else FINE_WINDOW
    return time.time_ns() - changed > window


def kept_name(name: str, generation: int = 1) -> str:
    """Return the name under which a generation of a file is kept."""
    if generation == 1 and (".gen" not in name or not _GENERATION.search(name)):
        return name + SUFFIX
    return f"{name}.gen{generation}{SUFFIX}"


def parse_kept_name(name: str) -> tuple[str, int] | None:
    """Return the name of the file that is kept under a name, and the generation; None if it is no such name."""
    stem = name.removesuffix(SUFFIX)
    if not stem or stem == name:
        return None
    found = _GENERATION.search(stem)
    original = (stem[: found.start()], int(found[1])) if found is not None else (stem, 1)
    return original if original[0] and kept_name(*original) == name else None


def generation_path(path: str | Path, generation: int) -> str:
    """Return where a generation of a file is kept."""
    return kept_name(str(path), generation)  # only the end of a path matters


def generations(path: str | Path, names: FolderNames | None = None) -> tuple[int, ...]:
    """Return the numbers of the generations that are kept of a file, the newest last; numbers may be missing.

    `names` are those in its folder, if they are known.
    """
    folder, name = os.path.split(path)
    found = (names or folder_names(folder or os.curdir)[1]).kept.get(name)
    if found is None:  # a folder that can be entered but not listed, or one in which case does not matter
        return (1,) if os.path.lexists(generation_path(path, 1)) else ()
    return found


def superseded_name(name: str) -> tuple[str, int] | None:
    """Return the transcript that a file was before another took its name, and when that was; None for other names.

    Claude Code moves a session's file along with its working directory, and renames one that is in the way.
    """
    found = _SUPERSEDED.fullmatch(name) if ".jsonl.superseded-" in name else None
    return (found[1], int(found[2])) if found is not None else None


def stand_in(path: str | Path) -> str | None:
    """Return the file that is read for a missing one: what is kept of it, else the last that was superseded."""
    return kept_path(path) or last_superseded(path)


def last_superseded(path: str | Path) -> str | None:
    """Return the last file beside a missing transcript that another took the name of, or what is kept of it."""
    folder, name = os.path.split(path)
    if not name.endswith(".jsonl"):
        return None
    try:
        names = [one for one in os.listdir(folder or os.curdir) if one.startswith(f"{name}.superseded-")]  # noqa: PTH208
    except OSError:
        return None
    names = [one for one in names if not Path(folder, one).is_symlink()]  # it could lead to anything
    parsed = {one: parse_kept_name(one) or (one, 0) for one in names}
    found = [(then[1], -number, one) for one, (old, number) in parsed.items() if (then := superseded_name(old))]
    return os.path.join(folder, max(found)[2]) if found else None


def kept_path(path: str | Path) -> str | None:
    """Return the file that keeps a missing file: its newest generation; None if it is not kept."""
    numbers = generations(path)
    return generation_path(path, numbers[-1]) if numbers else None


def generations_by_name(names: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the generations of each file that is kept under some of the names."""
    found: dict[str, tuple[int, ...]] = {}
    for name in names:
        if name.endswith(SUFFIX) and (parsed := parse_kept_name(name)) is not None:
            found[parsed[0]] = tuple(sorted((*found.get(parsed[0], ()), parsed[1])))
    return found


class FolderNames(NamedTuple):
    """What the names in a folder say of transcripts."""

    kept: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """The generations of each file that is kept."""
    superseded: Mapping[str, Sequence[str]] = MappingProxyType({})
    """The names of files that were superseded, kept or not, by the transcript that each was."""
    ids: frozenset[str] = frozenset()
    """The ids of sessions that names begin with."""


def folder_state(folder: str) -> FolderState:
    """Return a value that changes when something is added to a folder, deleted or renamed."""
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError:
        return MISSING
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


_listed: dict[str, tuple[FolderState, FolderNames]] = {}
"""The folders that were listed."""


def folder_names(folder: str) -> tuple[FolderState | None, FolderNames]:
    """Return the state of a folder, None if it may change unseen, and its names; only a changed one is listed again."""
    state = folder_state(folder)
    known = _listed.get(folder)
    if known is not None and known[0] == state:
        return known
    settled = is_settled(max(state[2:]))
    try:
        found = state, _read_names(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return state, FolderNames()
    if not settled:
        return None, found[1]
    if len(_listed) >= LISTED_FOLDERS:
        _listed.clear()
    _listed[folder] = found
    return found


def _read_names(names: Sequence[str]) -> FolderNames:
    superseded: dict[str, list[str]] = {}
    for name in names:
        then = superseded_name((parse_kept_name(name) or (name,))[0]) if ".jsonl.superseded-" in name else None
        if then is not None:
            superseded.setdefault(then[0], []).append(name)
    ids = (found[0] for found in map(SESSION_UUID.match, names) if found is not None)
    return FolderNames(generations_by_name(names), superseded, frozenset(ids))


def kept_in(folder: str) -> Mapping[str, tuple[int, ...]]:
    """Return the generations of each file that is kept in a folder."""
    return folder_names(folder)[1].kept


def own_path(path: Path) -> Path:
    """Return the file that a path names if it is the newest generation of a kept one, else the path."""
    parsed = parse_kept_name(path.name)
    original = path.with_name(parsed[0]) if parsed is not None else path
    if os.path.lexists(original) or kept_path(original) != str(path):
        return path
    return original


def is_kept_transcript(path: str | Path) -> bool:
    """True if a path is that of a transcript's frames, rather than of a transcript."""
    text = os.fspath(path)
    parsed = parse_kept_name(os.path.basename(text)) if text.endswith(SUFFIX) else None
    return parsed is not None and (parsed[0].endswith(".jsonl") or superseded_name(parsed[0]) is not None)
