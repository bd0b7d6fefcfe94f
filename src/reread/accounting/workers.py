"""Readers: files to digests, from where they were left, in several processes where that pays."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, NoReturn

import msgspec

from reread.accounting.cache import CachedDigest
from reread.accounting.digest import FORMAT, Digest, owner, packed
from reread.disk.cache import FileState

if TYPE_CHECKING:
    from reread.accounting.scan import ReadBuffer

Progress = Callable[[int], None]
SHARE_FROM = 32 << 20
"""From so many bytes on, another process that reads half of them pays for its start."""
MOST_PROCESSES = 8
TAIL = 64
"""How many bytes before the offset are compared to see that a file was only appended to."""

Read = tuple[CachedDigest, Digest]
"""What is to be kept of a file, and what it says, a torn tail included."""
Sent = tuple[CachedDigest, Digest | None]
"""The same between processes: what it says only where what is kept does not say all of it."""
decode_digest = msgspec.msgpack.Decoder(Digest).decode


class ScanJob(msgspec.Struct):
    """A file to read, and what is known of its beginning."""

    path: str
    size: int
    entry: CachedDigest | None = None

    @property
    def rest(self) -> int:
        """How many bytes are to be read, if the beginning is as it was."""
        return self.size - (self.entry.offset if self.entry is not None else 0)


def kept_digest(blob: bytes) -> Digest | None:
    """A digest that was kept; None where it is of another format or broken."""
    try:
        digest = decode_digest(blob)
    except (msgspec.DecodeError, UnicodeError):
        return None
    return digest if digest.format == FORMAT else None


def read_all(jobs: list[ScanJob], progress: Progress | None = None) -> Iterator[Read]:
    """What the files say; those that cannot be read are passed over."""
    from reread.accounting.scan import ReadBuffer

    room = ReadBuffer()
    count = min(processes(sum(job.rest for job in jobs)), max(1, len(jobs)))
    mine, *others = _shares(jobs, count)
    helpers = [_Worker(share, room) for share in others]
    try:
        yield from _read_some(mine, room, progress)
        for helper in helpers:
            yield from helper.result(progress)
    finally:
        for helper in helpers:
            helper.end()


class _Worker:
    """Another process that reads a share of the files: forked, for to load a second Python costs more than it saves."""

    def __init__(self, share: list[ScanJob], room: ReadBuffer) -> None:
        self.share = share
        self.room = room
        here, there = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            help_out(there, share, room)
        os.close(there)
        self.pipe = FileIO(here)

    def result(self, progress: Progress | None) -> Iterator[Read]:
        """What it read; where it died, the files are read here."""
        try:
            sent = msgspec.msgpack.decode(self.pipe.readall(), type=list[Sent])
            found = [(entry, digest or decode_digest(entry.digest)) for entry, digest in sent]
        except (OSError, msgspec.DecodeError):
            found = _read_some(self.share, self.room)
        yield from found
        if progress is not None:
            progress(sum(job.rest for job in self.share))

    def end(self) -> None:
        """End the process, if it has not ended by itself."""
        self.pipe.close()
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def help_out(pipe: int, jobs: list[ScanJob], room: ReadBuffer) -> NoReturn:
    """Read some files and send what they say; what is wrong with a process shows in that it sends nothing."""
    with suppress(BaseException), os.fdopen(pipe, "wb") as out:
        sent: list[Sent] = [(entry, None if entry.is_complete else digest) for entry, digest in _read_some(jobs, room)]
        out.write(packed(sent) or b"")
    os._exit(0)  # nothing of the parent's is to be done or written twice


def processes(size: int) -> int:
    """How many processes to read so many bytes with: one where others cannot be forked safely."""
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES, size // (SHARE_FROM // 2)))


def _shares(jobs: list[ScanJob], count: int) -> list[list[ScanJob]]:
    """The jobs in shares of about the same size."""
    shares: list[list[ScanJob]] = [[] for _ in range(count)]
    sizes = [0] * count
    for job in sorted(jobs, key=lambda job: job.rest, reverse=True):
        least = sizes.index(min(sizes))
        shares[least].append(job)
        sizes[least] += job.rest
    return shares


def _read_some(jobs: list[ScanJob], room: ReadBuffer, progress: Progress | None = None) -> Iterator[Read]:
    for job in jobs:
        try:
            yield read(job, room)
        except OSError:
            continue
        if progress is not None:
            progress(job.rest)


def read(job: ScanJob, room: ReadBuffer | None = None) -> Read:
    """Read a file from where it was left, or from its start where it is another."""
    from reread.accounting.scan import Scanner

    agent, session = owner(job.path)
    with FileIO(job.path) as file:
        state = FileState.of(os.fstat(file.fileno()))
        before = kept_digest(job.entry.digest) if job.entry is not None and _goes_on(file, job.entry, state) else None
        scanner = Scanner(before, session=session, agent=agent, room=room)
        if before is not None and job.entry is not None:
            scanner.offset = job.entry.offset
        file.seek(scanner.offset)
        while count := file.readinto(scanner.room()):
            scanner.filled(count)
        tail = _tail(file, scanner.offset)
    if not scanner.digest.resumable:
        scanner.flush()
        scanner.offset, tail = state.size, b""
    blob = scanner.digest.packed()
    scanner.flush()
    return CachedDigest(job.path, state, scanner.offset, tail, blob), scanner.digest


def _tail(file: FileIO, end: int) -> bytes:
    file.seek(max(0, end - TAIL))
    return file.read(min(TAIL, end)) or b""


def _goes_on(file: FileIO, entry: CachedDigest, state: FileState) -> bool:
    """Whether a file is the one that was read, and at most longer."""
    if not entry.tail or not (entry.state == state or entry.may_have_grown_to(state)):
        return False
    return _tail(file, entry.offset) == entry.tail
