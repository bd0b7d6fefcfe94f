"""Read everything that is kept, and say what is not as it was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from reread.archive.sync_state import FOLDER, read_rows, state_files
from reread.storage.atomic import TEMPORARY
from reread.storage.kept_copy import KeptCopy, examine
from reread.storage.kept_names import MAP_SUFFIX, SUFFIX, generation_path, parse_kept_name

Level = Literal["error", "info"]


class KeptProblem(msgspec.Struct, frozen=True):
    """Something wrong with an archive."""

    level: Level
    """`error`: bytes that were kept are damaged or missing; `info`: nothing is lost."""
    path: str
    text: str


class KeptEntry(msgspec.Struct, frozen=True):
    """A kept file of which every byte was read."""

    name: str
    """The path of the original, below Claude Code's folder."""
    generation: int
    size: int
    packed: int


def kept_files(archive: Path, below: Iterable[str] = ("",)) -> Iterator[tuple[str, str, int]]:
    """Yield each kept file below some folders of an archive: its path, the path of its original, its generation."""
    for top in below:
        for folder, folders, names in os.walk(archive / top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            below_archive = os.path.relpath(folder, archive)
            for name in sorted(names):
                parsed = parse_kept_name(name)
                if parsed is not None and not name.startswith("."):
                    original = os.path.join(below_archive, parsed[0])
                    yield os.path.join(folder, name), os.path.normpath(original), parsed[1]


def verify(archive: Path, progress: Callable[[int], None] | None = None) -> Iterator[KeptEntry | KeptProblem]:
    """Read every kept file; yield each that is as it was written, and every problem."""
    found: set[str] = set()
    for path, name, generation in kept_files(archive):
        found.add(path)
        try:
            copy = examine(path, generation, decode=True)
        except OSError as error:
            yield KeptProblem("error", path, error.strerror or str(error))
            continue
        if progress is not None:
            progress(copy.size)
        problems = list(copy_problems(copy))
        yield from problems
        if not any(problem.level == "error" for problem in problems):
            yield KeptEntry(name, generation, copy.raw_size, copy.packed_size)
    yield from _missing(archive, found)
    yield from _strangers(archive, found)


def copy_problems(copy: KeptCopy) -> Iterator[KeptProblem]:
    """Yield what is wrong with a kept file."""
    if copy.damage or copy.doubt:
        yield KeptProblem("error", copy.path, copy.damage or copy.doubt)
    elif copy.map_is_behind or copy.size != copy.packed_size:
        unfinished = copy.size - copy.packed_size
        yield KeptProblem("info", copy.path, f"a run was interrupted: {unfinished} bytes after the last whole frame")
    if not copy.map_is_right and not copy.map_is_behind and not copy.damage and not copy.doubt:
        text = "its map is missing or damaged; the frames are whole by their checksums"
        yield KeptProblem("info" if not os.path.lexists(copy.path + MAP_SUFFIX) else "error", copy.path, text)


def _missing(archive: Path, found: set[str]) -> Iterator[KeptProblem]:
    """Yield the files that were kept and are no longer in the archive."""
    for path in state_files(archive):
        rows = read_rows(path)
        if rows is None:
            text = "it is damaged; all files are compared again by the next run"
            yield KeptProblem("error", str(path), text)
            continue
        for row in rows.values():
            kept = generation_path(os.path.join(archive, os.fsdecode(row.name)), row.generation)
            if kept not in found:
                yield KeptProblem("error", kept, "it was kept and is missing")


def _strangers(archive: Path, found: set[str]) -> Iterator[KeptProblem]:
    """Yield the files of an archive that are not kept ones."""
    for folder, folders, names in os.walk(archive):
        if folder == str(archive):
            folders[:] = [name for name in folders if name != FOLDER]
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.startswith(TEMPORARY):
                yield KeptProblem("info", path, "left by a run that was killed")
            elif name.endswith(SUFFIX + MAP_SUFFIX):
                if path.removesuffix(MAP_SUFFIX) not in found:
                    yield KeptProblem("error", path, "a map without its kept file")
            elif path not in found:
                yield KeptProblem("info", path, "not a file of reread's")
