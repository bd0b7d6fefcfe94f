"""The lines of a session in `history.jsonl`: take them out and put them back, while the client may append others.

The client appends whole lines, under a lock that is a folder beside the file (proper-lockfile; `strace` shows it with
2.1.325). It opens the file only when it holds the lock, tries for about half a second, takes a lock for stale that was
not touched for ten, and does not write without it. It is held here while the file is replaced, and never longer than
that takes. A client that knows no lock may append to the file that is being replaced: so the new file gets what the
old one has got meanwhile, looked for once more after it was replaced.

A process that sleeps for ten seconds loses the lock to another one, and does not know. So whoever replaces the file
has a lock on the file itself, too, which the system releases when the process ends: no replacement undoes another.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from reread.base import jsontext
from reread.errors import Misuse
from reread.storage.atomic import new_beside, temporary_beside, write_all
from reread.storage.lock import lock
from reread.storage.safe_open import open_descriptor, open_no_link

LOCK_SUFFIX = ".lock"
STALE_SECONDS = 10.0
"""A lock that is older was left by a client that was killed."""
WAIT_SECONDS = 15.0
"""By then a lock that nobody touches is stale."""
MOST_TRIES = 50


class PromptLine(NamedTuple):
    """A line of a history."""

    number: int
    offset: int
    raw: bytes

    @property
    def value(self) -> dict[str, Any]:
        """What it says; empty if it cannot be read."""
        try:
            found = jsontext.loads_clean(self.raw)
        except ValueError:
            return {}
        return cast(dict[str, Any], found) if isinstance(found, dict) else {}

    @property
    def hash(self) -> str:
        """The SHA-256 of its bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    def is_of(self, session: str) -> bool:
        """True if it names a session."""
        return session.encode() in self.raw and self.value.get("sessionId") == session

    def pastes(self) -> set[str]:
        """Return the hashes of the texts that were pasted into it."""
        pasted = self.value.get("pastedContents")
        rows = cast(dict[Any, Any], pasted).values() if isinstance(pasted, dict) else ()
        found = {cast(dict[str, Any], row).get("contentHash") for row in rows if isinstance(row, dict)}
        return {hash for hash in found if isinstance(hash, str)}


class RemovedLines(msgspec.Struct):
    """The lines of a session as they were in a history."""

    path: str
    size: int
    mode: int
    modified: int
    """Nanoseconds since 1970."""
    rest: str
    """The SHA-256 of the other lines."""
    places: list[tuple[int, int, int]] = []
    """Number, offset and length of each line."""
    hashes: list[str] = []
    """The SHA-256 of each line."""


def read_lines(history: Path) -> list[PromptLine]:
    """Return the lines of a history; none if there is no such file."""
    try:
        with os.fdopen(open_descriptor(history), "rb") as file:
            return list(_split(file.read()))
    except FileNotFoundError:
        return []


def _split(data: bytes) -> Iterator[PromptLine]:
    offset = 0
    for number, raw in enumerate(data.splitlines(keepends=True) if b"\r" not in data else _by_newline(data), 1):
        yield PromptLine(number, offset, raw)
        offset += len(raw)


def _by_newline(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [data[data.rfind(b"\n") + 1 :]] * (data[-1:] != b"\n")


def find_lines(history: Path, session: str) -> tuple[RemovedLines, list[PromptLine]] | None:
    """Return the lines of a session, and where they are; None if there is none."""
    try:
        status = os.lstat(history)
    except OSError:
        return None
    lines = read_lines(history)
    own = [line for line in lines if line.is_of(session)]
    if not own:
        return None
    refuse_link(history, session)
    rest = hashlib.sha256(b"".join(line.raw for line in lines if not line.is_of(session))).hexdigest()
    places = [(line.number, line.offset, len(line.raw)) for line in own]
    size = sum(len(line.raw) for line in lines)
    hashes = [line.hash for line in own]
    return RemovedLines(str(history), size, status.st_mode & 0o7777, status.st_mtime_ns, rest, places, hashes), own


def refuse_link(path: Path, session: str) -> None:
    """Raise Misuse if a file from which something is to be taken out is a link."""
    if path.is_symlink():
        raise Misuse(
            f"{path} is a link, and names {session}: nothing behind a link is changed. Put the file itself there.",
            path=str(path),
        )


def has_lines(removed: RemovedLines) -> bool:
    """True if a history still has all lines that are to be taken out."""
    return {*removed.hashes} <= {line.hash for line in read_lines(Path(removed.path))}


def remove_lines(removed: RemovedLines, session: str) -> None:
    """Take the lines of a session that were found out of a history; others were written since."""
    history, held = Path(removed.path), set(removed.hashes)

    def is_gone(line: PromptLine) -> bool:
        return line.is_of(session) and line.hash in held

    def change(data: bytes) -> bytes | None:
        lines = list(_split(data))
        left = b"".join(line.raw for line in lines if not is_gone(line))
        return left if len(left) < len(data) else None

    if any(map(is_gone, read_lines(history))):
        rewrite(history, change)


def restore_lines(removed: RemovedLines, data: bytes) -> None:
    """Put lines back where they were; what was appended since stays behind them.

    If others were taken out meanwhile, each goes before the first line that is later.
    """
    history = Path(removed.path)
    if not os.path.lexists(history):
        os.close(open_no_link(history, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    own: list[bytes] = []
    at = 0
    for _, _, length in removed.places:
        own.append(data[at : at + length])
        at += length

    def change(now: bytes) -> bytes | None:
        there = {line.raw.rstrip(b"\n") for line in _split(now)}
        missing = [raw for raw in own if raw.rstrip(b"\n") not in there]
        if not missing:
            return None  # they were put back by a run that was killed
        size = removed.size - sum(length for _, _, length in removed.places)
        latest = max((_when(PromptLine(0, 0, raw)) for raw in own), default=0.0)
        is_later = all(_when(line) >= latest for line in _split(now[size:]))
        if hashlib.sha256(now[:size]).hexdigest() != removed.rest or not is_later:
            return _merged(now, missing)
        out, taken = bytearray(), 0
        for (_, offset, _), raw in zip(removed.places, own, strict=True):
            rest = offset - len(out)
            out += now[taken : taken + rest] + raw
            taken += rest
        return b"".join(_ended([bytes(out), now[taken:]]))

    rewrite(history, change)
    history.chmod(removed.mode)
    if history.stat().st_size == removed.size:  # nothing was appended since
        os.utime(history, ns=(removed.modified, removed.modified))


def _merged(now: bytes, own: list[bytes]) -> bytes:
    lines = list(_split(now))
    for raw in own:
        when = _when(PromptLine(0, 0, raw))
        before = next((n for n, line in enumerate(lines) if _when(line) > when), len(lines))
        lines.insert(before, PromptLine(0, 0, raw))
    return b"".join(_ended([line.raw for line in lines]))


def _ended(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield pieces of a history, each but the last with the end of its line: the client may not have written one."""
    pieces = list(filter(None, pieces))
    yield from (piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces[:-1])
    yield from pieces[-1:]


def _when(line: PromptLine) -> float:
    value = line.value.get("timestamp")
    return float(value) if isinstance(value, int | float) else 0.0


def rewrite(history: Path, change: Callable[[bytes], bytes | None]) -> bool:
    """Replace a file that others append to; False if there is nothing to change."""
    with _client_lock(history) as held:
        for _ in range(MOST_TRIES):
            held.mkdir(exist_ok=True)
            os.utime(held)
            descriptor = open_no_link(history, os.O_RDWR)
            try:
                if not lock(descriptor, wait=WAIT_SECONDS):
                    raise OSError(0, "another process is changing it; try again", str(history))
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    data = file.read()
                new = change(data)
                if new is None:
                    return False
                status = os.fstat(descriptor)
                with _written(history, new, status.st_mode & 0o7777) as whole:
                    now = os.lstat(history)
                    if (now.st_ino, now.st_size) != (status.st_ino, len(data)):
                        continue  # appended to, or replaced: once more, from what is there now
                    whole.replace(history)
                late = os.pread(descriptor, os.fstat(descriptor).st_size, len(data)) if hasattr(os, "pread") else b""
                if late:
                    _append(history, late)
                return True
            finally:
                os.close(descriptor)
    raise OSError(0, "another program keeps writing to it; try again", str(history))


@contextmanager
def _written(history: Path, data: bytes, mode: int) -> Generator[Path]:
    """Provide a file with some bytes that may replace a history."""
    with new_beside(history) as new:
        new.write(data)
        new.finish(sync=True)
        new.path.chmod(mode)
        yield new.path


def _append(path: Path, data: bytes) -> None:
    out = open_no_link(path, os.O_WRONLY | os.O_APPEND)
    try:
        write_all(out, data)
    finally:
        os.close(out)


@contextmanager
def _client_lock(history: Path) -> Generator[Path]:
    """Hold the lock with which clients append, and yield it; raise OSError if another program does not let go of it."""
    held = history.with_name(history.name + LOCK_SUFFIX)
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            held.mkdir()
            break
        except FileExistsError:
            with suppress(OSError):
                if _is_stale(held):
                    _remove_stale(held)
                    continue
            if time.monotonic() >= deadline:
                raise OSError(0, "another program holds the lock beside it; try again", str(history)) from None
            time.sleep(0.02)
    try:
        yield held
    finally:
        with suppress(OSError):
            held.rmdir()


def _is_stale(held: Path) -> bool:
    return time.time() - held.stat().st_mtime > STALE_SECONDS


def _remove_stale(held: Path) -> None:
    """Remove a stale lock, but not the one that another process has just made in its place."""
    moved = temporary_beside(held)
    held.rename(moved)
    if _is_stale(moved):
        moved.rmdir()
    else:
        moved.rename(held)
