"""Read files into digests, in several processes if there is much to read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, NoReturn

import msgspec

from reread.accounting.digest import UsageDigest, decode_digest
from reread.base import jsontext
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, ReadAt, encoded
from reread.disk.transcript_file import open_transcript
from reread.storage.byte_store import has_connected
from reread.storage.kept_file import status_of
from reread.storage.read_at_file import ReadAtFile

if TYPE_CHECKING:
    from reread.accounting.file_scan import ReadResult
    from reread.accounting.scan import ReadBuffer

Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""
BYTES_PER_PROCESS = 16 << 20
"""A second process pays for its start if both have this much to read."""
MAX_PROCESSES = 8

SentResult = tuple[DerivedValue, UsageDigest | None]
"""A `ReadResult` as workers send it: None if both digests are the same."""


class ScanJob(msgspec.Struct):
    """A file to read, and the cached digest of its beginning."""

    path: str
    size: int
    cached: DerivedValue | None = None

    @property
    def remaining(self) -> int:
        """Number of bytes to read, provided that the beginning has not changed."""
        return self.size - (self.cached.offset if self.cached is not None else 0)


def scan_all(jobs: list[ScanJob], progress: Progress | None = None) -> Iterator[ReadResult]:
    """Yield the digests of files, skipping those that cannot be read."""
    from reread.accounting.scan import ReadBuffer

    buffer = ReadBuffer()
    count = min(process_count(sum(job.remaining for job in jobs)), max(1, len(jobs)))
    own_jobs, *other_jobs = _split_jobs(jobs, count)
    workers = [_Worker(share, buffer) for share in other_jobs]
    try:
        yield from _read_jobs(own_jobs, buffer, progress)
        for worker in workers:
            yield from worker.results(progress)
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that reads some of the files; forked, because starting another Python costs more than it saves."""

    def __init__(self, jobs: list[ScanJob], buffer: ReadBuffer) -> None:
        self.jobs = jobs
        self.buffer = buffer
        read_end, write_end = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            run_worker(write_end, jobs, buffer)
        os.close(write_end)
        self.pipe = FileIO(read_end)

    def results(self, progress: Progress | None) -> Iterator[ReadResult]:
        """Yield the results of the process; if it died, read the files in this one."""
        found: list[ReadResult] | None = None
        with suppress(OSError, *jsontext.DECODE_ERRORS):
            found = _received(msgspec.msgpack.decode(self.pipe.readall(), type=list[SentResult]))
        yield from found if found is not None else _read_jobs(self.jobs, self.buffer)
        if progress is not None:
            progress(sum(job.remaining for job in self.jobs))

    def stop(self) -> None:
        """Stop the process if it is still running."""
        self.pipe.close()
        import signal  # loaded late: few workers are ended

        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def _received(sent: list[SentResult]) -> list[ReadResult] | None:
    """Decode the digests that a worker sent; None if one is broken."""
    results: list[ReadResult] = []
    for cached, digest in sent:
        digest = digest or decode_digest(cached.value)
        if digest is None:
            return None
        results.append((cached, digest))
    return results


def run_worker(pipe: int, jobs: list[ScanJob], buffer: ReadBuffer) -> NoReturn:
    """Read files and send the results. A process that fails sends nothing."""
    with suppress(BaseException), os.fdopen(pipe, "wb") as out:
        sent: list[SentResult] = [
            (cached, None if cached.is_complete else digest) for cached, digest in _read_jobs(jobs, buffer)
        ]
        out.write(encoded(sent) or b"")
    os._exit(0)  # skip the parent's exit handlers and buffers


def process_count(size: int) -> int:
    """Return how many processes to use for this many bytes: one if forking is impossible or unsafe."""
    if not hasattr(os, "fork") or threading.active_count() > 1 or has_connected():
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MAX_PROCESSES, size // BYTES_PER_PROCESS))


def _split_jobs(jobs: list[ScanJob], count: int) -> list[list[ScanJob]]:
    """Split jobs into shares of about the same size."""
    shares: list[list[ScanJob]] = [[] for _ in range(count)]
    sizes = [0] * count
    for job in sorted(jobs, key=lambda job: job.remaining, reverse=True):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(job)
        sizes[smallest] += job.remaining
    return shares


def _read_jobs(jobs: list[ScanJob], buffer: ReadBuffer, progress: Progress | None = None) -> Iterator[ReadResult]:
    for job in jobs:
        try:
            yield read(job, buffer)
        except Exception:  # one file must not stop the others; the report names those that are missing
            continue
        if progress is not None:
            progress(job.remaining)


def read(job: ScanJob, buffer: ReadBuffer | None = None) -> ReadResult:
    """Read a file from where its cached digest ends, or from the start if it is not the same file."""
    from reread.accounting.file_scan import FileScan

    with open_transcript(job.path) as file:
        scan = FileScan(job.path, FileState.of(status_of(file)), _reader(file), job.cached, buffer)
        scanner = scan.scanner
        file.seek(scanner.offset)
        while count := file.readinto(scanner.free_space()):
            scanner.commit(count)
        return scan.finish()


def _reader(file: FileIO | ReadAtFile) -> ReadAt:
    """Return a function that reads from an open file by offset."""

    def read_at(offset: int, length: int) -> bytes:
        file.seek(offset)
        return file.read(length) or b""

    return read_at
