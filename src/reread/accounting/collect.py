"""What to count, and the digests of it: from the cache if possible."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

from reread.accounting.billing import Usage, sum_entries
from reread.accounting.digest import FileDigest, UsageCache, decode_digest, file_digest
from reread.accounting.prices import Prices
from reread.accounting.responses import resolve
from reread.accounting.workers import Progress, ScanJob, scan_all
from reread.base.gc_pause import gc_paused
from reread.disk.agent_files import AgentFolders, agent_files, first_envelope
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue
from reread.disk.file_set import FileSet, stored_state
from reread.errors import NotFound, Unreadable

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""A file with such a name is that of this session, although its first rows may be copied from another one."""
CACHED_FROM = 8 << 20
"""Size in bytes from which looking into the cache takes less time than reading a session."""


class Inputs(FileSet):
    """Everything to count: files, and data that is in no file."""

    data: list[bytes] = []

    def add(self, other: Inputs) -> None:
        """Add all that other inputs have."""
        self.states.update(other.states)
        self.folders.extend(other.folders)
        self.data.extend(other.data)

    def add_session(self, path: Path, folders: AgentFolders | None = None) -> None:
        """Add the file of a session and those of its agents."""
        self.add_file(str(path.absolute()))
        head = None if _UUID.fullmatch(path.stem) else first_envelope(path)
        name = head.sessionId if head is not None and head.sessionId else path.stem
        for agent in agent_files(path, [name], folders).values():
            self.add_file(str(agent.absolute()))

    def add_file(self, path: str) -> None:
        """Add one file by its absolute path."""
        if path in self.states:
            return
        try:
            self.states[path] = FileState.at(path)
        except FileNotFoundError:
            message = f"Cannot read {path}: no such file; run `reread ls` to list sessions."
            raise NotFound(message, path=path) from None
        except OSError as error:
            raise Unreadable.at(path, error) from error


def session_state(path: Path, folders: AgentFolders) -> bytes:
    """Return the state of all files of a session: of everything that is derived of it."""
    inputs = Inputs()
    inputs.add_session(path, folders)
    return stored_state(inputs)


class Digests:
    """The digests of files, from the cache as far as it has them."""

    def __init__(
        self, states: dict[str, FileState], cache: UsageCache | None, *, progress: Progress | None = None
    ) -> None:
        self.states = states
        self.cache = cache
        self.progress = progress
        self.unread: set[str] = set()
        """Files that could not be read."""

    def read(self, paths: Collection[str]) -> Iterator[FileDigest]:
        """Yield the digests of some of the files; those that were read now are stored. Files that are gone come first.

        Of one that is gone, only the cache can have a digest.
        """
        cached = self.cache.derived(paths) if self.cache is not None else {}
        jobs: list[ScanJob] = []
        for path in paths:
            state, known = self.states.get(path), cached.get(path)
            is_current = known is not None and (state is None or (known.state == state and known.is_complete))
            digest = decode_digest(known.value) if known is not None and is_current else None
            if digest is not None:
                yield file_digest(path, digest)
            elif state is not None:
                jobs.append(ScanJob(path, state.size, known))
        self.unread |= {job.path for job in jobs}
        fresh: list[DerivedValue] = []
        for known, digest in scan_all(jobs, self.progress):
            self.unread.discard(known.path)
            fresh.append(known)
            yield file_digest(known.path, digest)
        if self.cache is not None and fresh:
            self.cache.save(fresh)


def total_usage(inputs: Inputs, prices: Prices) -> Usage:
    """Return the total usage of some inputs."""
    size = sum(state.size for state in inputs.states.values())
    with gc_paused(), closing(UsageCache()) if size >= CACHED_FROM else nullcontext() as cache:
        digests = [*Digests(inputs.states, cache).read(inputs.states), *map(data_digest, inputs.data)]
        return sum_entries(resolve(digests, prices), prices).to_usage()


def data_digest(data: bytes) -> FileDigest:
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    from reread.accounting.scan import Scanner

    scanner = Scanner()
    scanner.feed(data)
    scanner.flush()
    return FileDigest(scanner.digest, f"<{blake2b(data, digest_size=8).hexdigest()}>")
