"""Usage in the catalogue: the digest of each file.

Unchanged files are not read again, and of files that grew only the new part is read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from reread.accounting.digest import FORMAT, READABLE
from reread.disk.derived_cache import DerivedValues

DIGESTS = "usage_digests"


class UsageCache(DerivedValues):
    """Digests by path."""

    def __init__(self) -> None:
        super().__init__(DIGESTS, format=FORMAT, readable=READABLE)


@contextmanager
def open_cache(enabled: bool) -> Generator[UsageCache | None]:
    """Open the cache for a while; None if it is not to be used."""
    cache = UsageCache() if enabled else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()
