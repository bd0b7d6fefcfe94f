"""Usage in the catalogue: the digest of each file, and the entries of the last sets of files that were counted.

Unchanged files are not read again, and of files that grew only the new part is read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from reread.accounting.digest import FORMAT, READABLE
from reread.disk.cache import CacheTable, Statement
from reread.disk.derived_cache import DerivedValue, DerivedValues

DIGESTS = "usage_digests"
RESULTS = CacheTable("usage_results", "key BLOB PRIMARY KEY, entries BLOB", FORMAT)
RESULTS_KEPT = 16

_INSERT_RESULT = f"REPLACE INTO {RESULTS.name} VALUES (?, ?)"
DELETE_RESULTS = f"DELETE FROM {RESULTS.name}"
_DELETE_OLD_RESULTS = f"""
DELETE FROM {RESULTS.name} WHERE rowid NOT IN (
    SELECT rowid FROM {RESULTS.name} ORDER BY rowid DESC LIMIT {RESULTS_KEPT}
)
"""


class UsageCache(DerivedValues):
    """Digests by path, and usage entries by the set of files they were computed from."""

    def __init__(self) -> None:
        super().__init__(DIGESTS, RESULTS, format=FORMAT, readable=READABLE)

    def result(self, key: bytes) -> bytes | None:
        """Return the encoded entries stored under a key; None if they are not among the last ones stored."""
        rows = self.cache.read(f"SELECT entries FROM {RESULTS.name} WHERE typeof(entries) = 'blob' AND key = ?", key)
        return rows[0][0] if rows else None

    def save(self, derived: Iterable[DerivedValue], gone: Iterable[str] = (), *more: Statement) -> None:
        """Store digests, and forget the files that are gone with all entries that may be of theirs."""
        gone = list(gone)
        super().save(derived, gone, *([Statement(DELETE_RESULTS)] if gone else []), *more)

    def save_result(self, digests: Iterable[DerivedValue], gone: Iterable[str], key: bytes, entries: bytes) -> None:
        """Store digests, forget the files that are gone, and store the encoded entries under a key."""
        unless = self.since_forgotten()  # the entries may be of a file that is forgotten meanwhile
        self.save(digests, gone)
        self.cache.write(Statement(_INSERT_RESULT, [(key, entries)]), Statement(_DELETE_OLD_RESULTS), unless=unless)


@contextmanager
def open_cache(enabled: bool) -> Generator[UsageCache | None]:
    """Open the cache for a while; None if it is not to be used."""
    cache = UsageCache() if enabled else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()
