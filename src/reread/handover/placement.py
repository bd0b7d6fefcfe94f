"""Put the files of a session where this machine's Claude Code looks for them, and never over anything newer.

Under the lock, each file is compared with what is there. The transcript is put last, so the client does not see the
session before it is whole; what a killed run left is the same as what the next one puts.
"""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from reread.archive.plans import PLANS
from reread.archive.source_files import TASKS, TODOS
from reread.base.format import size_text
from reread.disk import layout
from reread.errors import Misuse, Unwritable
from reread.handover.running import running
from reread.storage.atomic import name_unless_taken, remove_unfinished, temporary_beside, write_all
from reread.storage.lock import lock
from reread.storage.read_at_file import open_no_link
from reread.storage.safe_open import make_private_folder, open_descriptor, own_reader

LOCK_NAME = "handover.lock"
LOCK_SECONDS = 60.0
LONGEST_NAME = 200
"""Characters of a path that the name of a project's folder has; a hash stands for the rest."""
OF_THE_END = (TODOS, TASKS, PLANS)
"""Folders of which the files are rewritten as a session goes on: what is there is left, if it is another."""
WRITTEN = ("new", "grown")
"""The outcomes of files that are written."""
_OTHER = re.compile(r"[^A-Za-z0-9]")


class PlaceableFile(Protocol):
    """A file of a session, wherever its bytes come from."""

    @property
    def path(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def in_project(self) -> bool: ...
    def pieces(self) -> Iterator[bytes]: ...


class PlacedFile(msgspec.Struct, frozen=True):
    """A file of a session, and what becomes of it."""

    path: str
    """Where the client looks for it."""
    source: str
    size: int
    outcome: str
    """`new`, `same`, `grown`: it begins with what is there; `left`: what is there is newer, or another."""


@contextmanager
def writing() -> Generator[None]:
    """Be the only process of this user that hands over or deletes sessions."""
    folder = layout.default_store()
    try:
        make_private_folder(folder)
        descriptor = open_descriptor(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise Unwritable.at(error.filename or folder, error) from error
    try:
        if not lock(descriptor, wait=LOCK_SECONDS):
            raise Unwritable("Another process is moving or deleting sessions; try again later.")
        yield
    finally:
        os.close(descriptor)


def encoded_folder(folder: str) -> str:
    """Return how Claude Code calls the folder with the sessions of a folder, unless that is too long."""
    return _OTHER.sub("-", unicodedata.normalize("NFC", os.path.realpath(folder)))


def project_folder(folder: str, config: Path) -> Path:
    """Return where Claude Code looks for the sessions of a folder."""
    name = encoded_folder(folder)
    projects = config / layout.PROJECTS
    if len(name) <= LONGEST_NAME:
        return projects / name
    found = sorted(projects.glob(f"{name[:LONGEST_NAME]}-*"))
    if len(found) != 1:
        raise Misuse(f"Cannot tell how Claude Code calls {folder}: its path is too long; start `claude` there once.")
    return found[0]


def folder_of(project: str) -> str | None:
    """Return the only existing folder whose sessions are in a project's folder with this name; None if unknown."""
    found, top = list[str](), os.path.abspath(os.sep)  # noqa: PTH100
    todo = [top] if len(project) <= LONGEST_NAME else []
    while todo:
        folder = todo.pop()
        name = encoded_folder(folder)
        if name == project:
            found.append(folder)
        elif folder == top or project.startswith(f"{name}-"):
            with suppress(OSError):
                todo += (entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    return found[0] if len(found) == 1 else None


def place(
    files: Sequence[PlaceableFile], session: str, project: Path, config: Path, *, dry_run: bool = False
) -> list[PlacedFile]:
    """Put files where the client looks for them, under the lock; the first one is the transcript.

    Raise Misuse, and write nothing, if a file is there that must not be replaced. What was put before an error is
    removed again.
    """
    stem = Path(files[0].name).stem
    targets = [(file, _target(file.name, stem, session, project if file.in_project else config)) for file in files]
    done: list[Path] = []
    try:
        placed = [_decide(file, target, session, config) for file, target in targets]
        todo = [(file, one) for (file, _), one in zip(targets, placed, strict=True) if one.outcome in WRITTEN]
        for file, one in reversed(todo) if not dry_run else ():
            target = Path(one.path)
            grown = partial(_continues, target=target) if one.outcome == "grown" else None
            put(file.pieces(), target, replaces=grown)
            done += [target] if grown is None else []
    except BaseException as error:
        _take_away(done, session, [project, config])
        if isinstance(error, OSError):
            raise Unwritable.at(error.filename or project, error) from error
        raise
    return placed


def own_folders(path: Path, session: str, tops: Iterable[Path]) -> list[Path]:
    """Return the folders of a session that a file lies in, the innermost first: those called so below tops."""
    below = {len(top.parts) for top in tops if path.is_relative_to(top)}
    return [one for one in path.parents if any(session in one.parts[start:] for start in below)]


def _take_away(paths: Iterable[Path], session: str, tops: Iterable[Path]) -> None:
    """Remove files that were just put, and the folders of the session that are empty then."""
    for path in paths:
        with suppress(OSError):
            path.unlink()
            for folder in own_folders(path, session, tops):
                folder.rmdir()


def _target(name: str, stem: str, session: str, folder: Path) -> Path:
    """Return where a file belongs; names have the session's id, whatever the transcript was called."""
    if stem != session:
        name = re.sub(rf"(?<![\w-]){re.escape(stem)}(?![\w-])|^{re.escape(stem)}(?=-agent-)", session, name)
    return folder / name


def _decide(file: PlaceableFile, target: Path, session: str, config: Path) -> PlacedFile:
    found, size = _compare(file.pieces(), target)
    placed = PlacedFile(str(target), file.path, size, found)
    if found in ("new", "same"):
        return placed
    if found == "grown":
        busy = running(session, config, [target])
        if busy:
            raise Misuse(f"Cannot put {target}: {busy}; end it and try again.", path=str(target))
        return placed
    if not file.in_project and Path(file.name).parts[0] in OF_THE_END:
        return msgspec.structs.replace(placed, outcome="left")
    if found == "behind" and target.stem != session:
        return msgspec.structs.replace(placed, outcome="left")
    status = os.lstat(target)
    then = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.st_mtime))
    there = f"{target} is there, {size_text(status.st_size)}, last written {then}"
    if found == "behind":
        raise Misuse(
            f"{there}: the session has gone on there. Resume that with `reread resume {target}`, or use --at TURN for "
            "a new session.",
            path=str(target),
        )
    raise Misuse(
        f"{there}, and is another one; nothing is overwritten. Use another folder with --in, or --at TURN for a new "
        "session.",
        path=str(target),
    )


def _compare(pieces: Iterable[bytes], target: Path) -> tuple[str, int]:
    """Say how bytes relate to those of a file: new, same, grown, behind or other; and how many they are."""
    try:
        descriptor = open_no_link(target)
    except FileNotFoundError:
        return "new", sum(map(len, pieces))
    size, same = 0, True
    with os.fdopen(descriptor, "rb") as file:
        for piece in pieces:
            read = file.read(len(piece)) if same else b""
            same = same and piece.startswith(read)
            size += len(piece)
            if len(read) < len(piece):
                same = same and not file.read(1)
        there = os.fstat(descriptor).st_size
    if not same:
        return "other", size
    return ("same" if there == size else "grown" if there < size else "behind"), size


def put(
    pieces: Iterator[bytes],
    target: Path,
    *,
    replaces: Callable[[Path], bool] | None = None,
    mode: int | None = None,
    modified: int | None = None,
) -> None:
    """Write a file under another name, then give it its own: no other file's, unless `replaces` says so of the new one.

    It gets the mode and time of modification, if they are given.
    """
    make_private_folder(target.parent)
    remove_unfinished(target.parent)
    temporary = temporary_beside(target)
    try:
        out = open_no_link(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            for piece in pieces:
                write_all(out, piece)
            os.fsync(out)
        finally:
            os.close(out)
        if mode is not None:
            temporary.chmod(mode)
        if modified is not None:
            os.utime(temporary, ns=(modified, modified))
        if replaces is None:
            name_unless_taken(temporary, target)
        elif replaces(temporary):
            temporary.replace(target)
        else:
            raise Misuse(f"{target} has changed meanwhile; nothing was overwritten, try again.", path=str(target))
    finally:
        temporary.unlink(missing_ok=True)


def _continues(temporary: Path, target: Path) -> bool:
    """True if a file begins with what is there."""
    with own_reader(temporary) as file:
        return _compare(iter(lambda: file.read(1 << 20), b""), target)[0] in ("grown", "same")
