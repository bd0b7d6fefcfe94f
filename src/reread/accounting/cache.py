"""Cached usage: the digest of each file, and the entries of the last sets of files that were counted.

Unchanged files are not read again, and of files that grew only the new part is read.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager

import msgspec

from reread.accounting.digest import FORMAT
from reread.disk.cache import CacheFile, CacheTable, FileState, Statement

FILES = CacheTable(
    "usage_files",
    "path TEXT PRIMARY KEY, device INTEGER, inode INTEGER, size INTEGER, modified INTEGER,"
    " offset INTEGER, tail BLOB, digest BLOB",
    FORMAT,
)
RESULTS = CacheTable("usage_results", "key BLOB PRIMARY KEY, entries BLOB", FORMAT)
RESULTS_KEPT = 16
FEW_PATHS = 200
"""Up to this many digests are fetched one by one, more with one query for all."""

_INSERT_FILE = f"REPLACE INTO {FILES.name} VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE_FILE = f"DELETE FROM {FILES.name} WHERE path = ?"
_INSERT_RESULT = f"REPLACE INTO {RESULTS.name} VALUES (?, ?)"
_DELETE_OLD_RESULTS = f"""
DELETE FROM {RESULTS.name} WHERE rowid NOT IN (
    SELECT rowid FROM {RESULTS.name} ORDER BY rowid DESC LIMIT {RESULTS_KEPT}
)
"""


class CachedDigest(msgspec.Struct, frozen=True):
    """The digest of one file, with the state of the file when it was read."""

    path: str
    state: FileState
    offset: int
    """Number of bytes that the digest covers: whole lines."""
    tail: bytes
    """The last bytes before the offset: if they are still there, the file was only appended to."""
    digest: bytes = b""
    """The encoded digest; empty in the result of `UsageCache.files`."""

    @property
    def is_complete(self) -> bool:
        """True if the digest covers the whole file."""
        return self.offset == self.state.size and bool(self.digest)

    def may_have_grown_to(self, state: FileState) -> bool:
        """True if the file may be the same one with more at its end; the tail must prove it."""
        same_file = (self.state.device, self.state.inode) == (state.device, state.inode)
        return same_file and state.size > self.state.size


class UsageCache:
    """Digests by path, and usage entries by the set of files they were computed from."""

    def __init__(self) -> None:
        self._cache = CacheFile(FILES, RESULTS)

    def files(self) -> dict[str, CachedDigest]:
        """Return all cached files by path, without their digests."""
        rows = self._cache.read(f"SELECT path, device, inode, size, modified, offset, tail FROM {FILES.name}")
        return {path: CachedDigest(path, FileState(*state), offset, tail) for path, *state, offset, tail in rows}

    def digests(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the encoded digests of some files by path."""
        query = f"SELECT path, digest FROM {FILES.name}"
        if len(paths) <= FEW_PATHS:
            return dict(row for path in paths for row in self._cache.read(f"{query} WHERE path = ?", path))
        asked = set(paths)
        return {path: digest for path, digest in self._cache.read(query) if path in asked}

    def result(self, key: bytes) -> bytes | None:
        """Return the encoded entries stored under a key; None if they are not among the last ones stored."""
        rows = self._cache.read(f"SELECT entries FROM {RESULTS.name} WHERE key = ?", key)
        return rows[0][0] if rows else None

    def save(
        self,
        files: Iterable[CachedDigest],
        deleted: Iterable[str],
        result: tuple[bytes, bytes] | None = None,
    ) -> None:
        """Store digests, drop deleted files, and store a result: its key and its encoded entries."""
        statements = [
            Statement(_INSERT_FILE, [(file.path, *file.state, file.offset, file.tail, file.digest) for file in files]),
            Statement(_DELETE_FILE, [(path,) for path in deleted]),
        ]
        if result is not None:
            statements += [Statement(_INSERT_RESULT, [result]), Statement(_DELETE_OLD_RESULTS)]
        self._cache.write(*statements)

    def close(self) -> None:
        """Close the cache."""
        self._cache.close()


@contextmanager
def open_cache(enabled: bool) -> Generator[UsageCache | None]:
    """Open the cache for a while; None if it is not to be used."""
    cache = UsageCache() if enabled else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()
