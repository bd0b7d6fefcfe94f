"""Collect the digests of the files to count, from the cache if possible, and compute their usage entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from reread.accounting.billing import Usage
from reread.accounting.digest import FORMAT, FileDigest, decode_digest, file_digest
from reread.accounting.entries import UsageEntry, sum_entries
from reread.accounting.prices import Prices
from reread.accounting.responses import resolve
from reread.accounting.usage_cache import UsageCache, open_cache
from reread.accounting.workers import Progress, ScanJob, scan_all
from reread.base import jsontext
from reread.base.gc_pause import gc_paused
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, encoded
from reread.disk.file_set import FileSet
from reread.errors import NotFound, Unreadable

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""A file with such a name is that of this session, although its first rows may be copied from another one."""
CACHED_FROM = 8 << 20
"""Size in bytes from which looking into the cache takes less time than reading a session."""


class Inputs(FileSet):
    """Everything to count: files, and data that is in no file."""

    data: list[bytes] = []

    @property
    def state(self) -> tuple[object, ...]:
        """A value that changes when one of the files does."""
        return tuple((path, *state) for path, state in sorted(self.states.items()))

    def add(self, other: Inputs) -> None:
        """Add all that other inputs have."""
        self.states.update(other.states)
        self.folders.extend(other.folders)
        self.data.extend(other.data)

    def add_session(self, path: Path, folders: layout.AgentFolders | None = None) -> None:
        """Add the file of a session and those of its agents."""
        self.add_file(str(path.absolute()))
        head = None if _UUID.fullmatch(path.stem) else layout.first_envelope(path)
        name = head.sessionId if head is not None and head.sessionId else path.stem
        for agent in layout.agent_files(path, [name], folders).values():
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


class Collection:
    """The usage of some inputs, from the cache as far as it has them."""

    def __init__(
        self,
        inputs: Inputs,
        cache: UsageCache | None,
        prices: Prices,
        *,
        keep_deleted: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.inputs = inputs
        self.cache = cache
        self.prices = prices
        self.progress = progress
        self.cached: dict[str, DerivedValue] = cache.files() if cache is not None else {}
        deleted = inputs.gone(self.cached)
        self.dropped: list[str] = [] if keep_deleted else deleted
        """Deleted files to remove from the cache."""
        self.kept: list[str] = deleted if keep_deleted else []
        """Deleted files to count nevertheless."""
        self.unread: set[str] = set()
        """Files that could not be read."""

    def entries(self, *, exact: bool = False) -> list[UsageEntry]:
        """Return all usage entries; unless exact, responses of the same quarter of an hour are one entry."""
        key = self._key() if self.cache is not None else b""
        known = None if exact else self._cached_entries(key)
        if known is not None:
            return known
        fresh: list[DerivedValue] = []
        files = [*self._digests(fresh), *map(_scan_data, self.inputs.data)]
        entries = self._resolve(files, exact=exact)
        if self.cache is not None:
            result = None if exact or self.inputs.data else encoded(entries)
            if result is not None:
                self.cache.save_result(fresh, self.dropped, key, result)
            elif fresh or self.dropped:
                self.cache.save(fresh, self.dropped)
        return entries

    def _resolve(self, files: list[FileDigest], *, exact: bool) -> list[UsageEntry]:
        """Return the entries of all files, without those of files that cannot be counted."""
        try:
            return resolve(files, self.prices, exact=exact)
        except Exception:  # one file must not stop the others; the report names those that are missing
            good: list[FileDigest] = []
            for file in files:
                try:
                    resolve([file], self.prices, exact=exact)
                except Exception:
                    self.unread.add(file.path)
                else:
                    good.append(file)
            if len(good) == len(files):
                raise
            return resolve(good, self.prices, exact=exact)

    def _cached_entries(self, key: bytes) -> list[UsageEntry] | None:
        """Return the entries that were computed from the same files in the same state."""
        unchanged = all(self._is_unchanged(path, state) for path, state in self.inputs.states.items())
        if self.cache is None or self.inputs.data or self.dropped or not unchanged:
            return None
        encoded = self.cache.result(key)
        try:
            return None if encoded is None else msgspec.msgpack.decode(encoded, type=list[UsageEntry])
        except jsontext.DECODE_ERRORS:
            return None

    def _is_unchanged(self, path: str, state: FileState) -> bool:
        cached = self.cached.get(path)
        return cached is not None and cached.state == state

    def _key(self) -> bytes:
        """Return a hash of everything the entries depend on."""
        from hashlib import blake2b  # loaded late: it loads OpenSSL

        content = (FORMAT, self.inputs.state, sorted(self.kept), msgspec.json.encode(self.prices.table))
        return blake2b(jsontext.dumps(content), digest_size=16).digest()

    def _digests(self, fresh: list[DerivedValue]) -> Iterator[FileDigest]:
        """Yield the digest of every file; those that were read now are added to `fresh`."""
        paths = [path for path in (*self.inputs.states, *self.kept) if path in self.cached]
        encoded = self.cache.values(paths) if self.cache is not None else {}
        jobs: list[ScanJob] = []
        for path, state in self.inputs.states.items():
            cached = self.cached.get(path) if path in encoded else None
            is_complete = cached is not None and cached.state == state and cached.offset == state.size
            digest = decode_digest(encoded[path]) if is_complete else None
            if digest is not None:
                yield file_digest(path, digest)
            else:
                if cached is not None:
                    cached = msgspec.structs.replace(cached, value=encoded[path])
                jobs.append(ScanJob(path, state.size, cached))
        self.unread = {job.path for job in jobs}
        for path in self.kept:
            digest = decode_digest(encoded[path]) if path in encoded else None
            if digest is not None:
                yield file_digest(path, digest)
        for cached, digest in scan_all(jobs, self.progress):
            self.unread.discard(cached.path)
            fresh.append(cached)
            yield file_digest(cached.path, digest)


def total_usage(inputs: Inputs, prices: Prices) -> Usage:
    """Return the total usage of some inputs."""
    size = sum(state.size for state in inputs.states.values())
    with gc_paused(), open_cache(size >= CACHED_FROM) as cache:
        return sum_entries(Collection(inputs, cache, prices).entries()).to_usage()


def _scan_data(data: bytes) -> FileDigest:
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    from reread.accounting.scan import Scanner

    scanner = Scanner()
    scanner.feed(data)
    scanner.flush()
    return FileDigest(scanner.digest, f"<{blake2b(data, digest_size=8).hexdigest()}>")
