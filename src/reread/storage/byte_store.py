"""Something that holds bytes under names: a folder or a bucket.

Names have `/` between their parts. What is put appears whole or not at all, and a name that ends up with two writers
at once has the bytes of one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

TEMPORARY = ".tmp-"
"""How the last part of a name begins, or ends before a few random letters, while something is being written."""


class StoreError(OSError):
    """A bucket did not answer, or refused; it concerns all objects in it."""


class ObjectState(NamedTuple):
    """An object in a listing."""

    name: str
    size: int
    modified: int
    """Nanoseconds since 1970."""


class ByteStore(Protocol):
    """A folder or a bucket."""

    def list(self, below: str) -> Sequence[ObjectState]:
        """Return everything below a folder, unfinished files of others included; nothing if there is no folder."""
        ...

    def folders(self, below: str) -> Sequence[str]:
        """Return the names of the folders in a folder."""
        ...

    def stat(self, names: Iterable[str]) -> dict[str, ObjectState]:
        """Return the state of each of some names that is there."""
        ...

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return bytes at an offset, fewer at the end; for what is never put again with other bytes."""
        ...

    def read_whole(self, name: str, largest: int) -> bytes:
        """Return all bytes as they are now; raise OSError if there are more than `largest`."""
        ...

    def put_whole(self, name: str, pieces: Iterable[bytes]) -> None:
        """Put bytes, instead of those that have the name; after an exception, the name is as it was, or gone."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Put bytes and return True; False if something has the name. Of many who try at once, one succeeds."""
        ...

    def delete(self, name: str) -> None:
        """Delete what has a name; raise FileNotFoundError if nothing has."""
        ...

    def location(self, name: str) -> str:
        """Return the path or address of a name, as a person writes it."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


def has_connected() -> bool:
    """True if this process has threads of pyarrow's clients, which a forked process would lack."""
    return "pyarrow._s3fs" in sys.modules
