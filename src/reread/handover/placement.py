"""Put the files of a session where this machine's Claude Code looks for them, and never over anything newer.

Under the lock, each file is compared with what is there. The transcript is put last, so the client does not see the
session before it is whole. What is being put is written down until it is: whoever comes next takes away what a killed
run has put of a session without its transcript, which has an id that nobody knows if the session was cut at a turn.
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
from reread.base import jsontext
from reread.base.format import size_text
from reread.disk import layout
from reread.errors import Misuse, Unreadable, Unwritable
from reread.handover.session_files import running
from reread.storage.atomic import name_unless_taken, new_beside, remove_unfinished, write_atomic
from reread.storage.lock import lock
from reread.storage.safe_open import (
    LARGEST_SETTINGS,
    make_private_folder,
    open_descriptor,
    open_no_link,
    own_reader,
    read_own,
)

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

    Raise Misuse, and write nothing, if a file is there that must not be replaced. What was put before an error, or
    before the process was killed, is removed again.
    """
    stem = Path(files[0].name).stem
    targets = [(file, _target(file.name, stem, session, project if file.in_project else config)) for file in files]
    try:
        placed = [_decide(file, target, session, config) for file, target in targets]
        todo = [(file, one) for (file, _), one in zip(targets, placed, strict=True) if one.outcome in WRITTEN]
        if todo and not dry_run:
            _put_all(todo, session, [project, config])
    except OSError as error:
        raise Unwritable.at(error.filename or project, error) from error
    return placed


class _Placement(msgspec.Struct, frozen=True):
    """What a run is about to put, written down until all of it is there."""

    session: str
    tops: list[str]
    """The folders in which those of the session are its own."""
    files: list[PlacedFile]
    """The first one is put last."""

    def is_whole(self) -> bool:
        """True if all of it was put: the last one is there, or has gone on since."""
        try:
            return os.lstat(self.files[0].path).st_size >= self.files[0].size
        except FileNotFoundError:
            return False


def _put_all(todo: Sequence[tuple[PlaceableFile, PlacedFile]], session: str, tops: Sequence[Path]) -> None:
    begun = _Placement(session, list(map(str, tops)), [one for _, one in todo])
    write_atomic(_note(), [msgspec.json.encode(begun)], sync=True)
    try:
        for file, one in reversed(todo):
            target = Path(one.path)
            put(file.pieces(), target, replaces=partial(_continues, target=target) if one.outcome == "grown" else None)
    finally:
        undo_placement()


def _note() -> Path:
    return layout.default_store() / "placing.json"


def undo_placement() -> None:
    """Take away, under the lock, what was put by a run that did not come to its end: nobody would find it."""
    try:
        begun = msgspec.json.decode(read_own(_note(), LARGEST_SETTINGS), type=_Placement)
    except FileNotFoundError:
        return
    except (OSError, *jsontext.DECODE_ERRORS) as error:
        raise Unreadable(f"Cannot read {_note()}: {error}; move it away.", path=str(_note())) from error
    for one in () if begun.is_whole() else begun.files:
        path = Path(one.path)
        with suppress(OSError):
            if one.outcome == "new" and path.lstat().st_size == one.size:  # else somebody else has put it
                path.unlink()
        with suppress(OSError):
            remove_unfinished(path.parent)
            for folder in own_folders(path, begun.session, map(Path, begun.tops)):
                folder.rmdir()
    _note().unlink()


def own_folders(path: Path, session: str, tops: Iterable[Path]) -> list[Path]:
    """Return the folders of a session that a file lies in, the innermost first: those called so below tops."""
    below = {len(top.parts) for top in tops if path.is_relative_to(top)}
    return [one for one in path.parents if any(session in one.parts[start:] for start in below)]


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
            f"{there}: the session has gone on there. Resume that with `reread resume {target}`, or use SESSION:TURN "
            "for a new session.",
            path=str(target),
        )
    raise Misuse(
        f"{there}, and is another one; nothing is overwritten. Use another folder with --in, or SESSION:TURN for a new "
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
    with new_beside(target) as new:
        for piece in pieces:
            new.write(piece)
        new.finish(sync=True)
        if mode is not None:
            new.path.chmod(mode)
        if modified is not None:
            os.utime(new.path, ns=(modified, modified))
        if replaces is None:
            name_unless_taken(new.path, target)
        elif replaces(new.path):
            new.path.replace(target)
        else:
            raise Misuse(f"{target} has changed meanwhile; nothing was overwritten, try again.", path=str(target))


def _continues(temporary: Path, target: Path) -> bool:
    """True if a file begins with what is there."""
    with own_reader(temporary) as file:
        return _compare(iter(lambda: file.read(1 << 20), b""), target)[0] in ("grown", "same")
