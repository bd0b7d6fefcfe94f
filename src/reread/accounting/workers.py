"""Read files into digests, in several processes if there is much to read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING

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
    from reread.base.worker import Say, Worker

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
    workers = [(_started(share, buffer), share) for share in other_jobs]
    try:
        yield from _read_jobs(own_jobs, buffer, progress)
        for worker, share in workers:
            found = _received(worker)
            yield from found if found is not None else _read_jobs(share, buffer)  # it died
            if progress is not None:
                progress(sum(job.remaining for job in share))
    finally:
        for worker, _ in workers:
            worker.close()


def _started(jobs: list[ScanJob], buffer: ReadBuffer) -> Worker:
    """Have a process read some of the files; forked, because starting another Python costs more than it saves."""
    from reread.base.worker import Worker  # loaded late: most verbs read little

    return Worker.forked(partial(send_results, jobs, buffer))


def send_results(jobs: list[ScanJob], buffer: ReadBuffer, _: Iterator[None], say: Say) -> None:
    """Read files and send the results."""
    say(encoded([(cached, None if cached.is_complete else digest) for cached, digest in _read_jobs(jobs, buffer)]))


def _received(worker: Worker) -> list[ReadResult] | None:
    """Return the digests that a worker sent; None if one is broken, or it sent nothing."""
    from reread.base.worker import WorkerLost

    try:
        sent = msgspec.msgpack.decode(worker.receive() or b"", type=list[SentResult])
    except (WorkerLost, *jsontext.DECODE_ERRORS):
        return None
    results: list[ReadResult] = []
    for cached, digest in sent:
        digest = digest or decode_digest(cached.value)
        if digest is None:
            return None
        results.append((cached, digest))
    return results


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
