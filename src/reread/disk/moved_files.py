"""Files that moved: a session's file follows its working directory to another project; what was kept stays behind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from reread.storage.kept_file import open_regular, stat_file
from reread.storage.kept_names import SESSION_UUID, generation_path, generations

PROJECTS = "projects"
BEGINNING = 256
"""Bytes by which two files are told to begin alike: they include the first record's id."""


def name_without_project(top: str, path: str) -> str:
    """Return what a file below `projects` is called in whatever project its session is.

    A session's file moves along with its working directory, but keeps its name if that is an id. Other names may occur
    in several projects.
    """
    below = path[len(top) :]
    own = below.lstrip(os.sep).partition(os.sep)[2]
    return own if SESSION_UUID.match(own) and os.path.basename(top) == PROJECTS else below


def by_name(files: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return files, each given with the folder that it is below, by those names."""
    found: dict[str, list[str]] = {}
    for top, path in files:
        found.setdefault(name_without_project(top, path), []).append(path)
    return found


def leading_files(
    top: str, paths: Iterable[str], originals: Mapping[str, list[str]], archives: Sequence[Path]
) -> set[str]:
    """Return the kept files that are no earlier states of others: of originals, given by key, or of newer ones."""
    lead: set[str] = set()
    for key, several in by_name((top, path) for path in paths).items():
        leaders = list(originals.get(key, ()))
        for path in several if len(several) == 1 else sorted(several, key=_modified, reverse=True):
            if not any(is_moved(path, leader, archives) for leader in leaders):
                leaders.append(path)
                lead.add(path)
    return lead


def is_moved(path: str, leader: str, archives: Sequence[Path]) -> bool:
    """True if a file that is gone is an earlier state of another of its key: of the same path, or they begin alike."""
    names = {one.rpartition(f"{os.sep}{PROJECTS}{os.sep}")[2] for one in (path, leader)}
    return len(names) == 1 or not _beginnings(path, archives).isdisjoint(_beginnings(leader, archives))


def _beginnings(path: str, archives: Sequence[Path]) -> set[bytes]:
    """Return how a file begins, and how what was kept of it does."""
    top, mark, below = path.rpartition(f"{os.sep}{PROJECTS}{os.sep}")
    folders = [Path(top), *archives] if mark else []
    kept = [os.path.join(folder, PROJECTS, below) for folder in folders]
    files = [path, *(generation_path(one, number) for one in kept for number in generations(one))]
    found: set[bytes] = set()
    for file in files:
        with suppress(OSError), closing(open_regular(file)) as opened:
            found.add(opened.read(BEGINNING))
    return found - {b""}


def _modified(path: str) -> int:
    try:
        return stat_file(path).st_mtime_ns
    except OSError:
        return 0
