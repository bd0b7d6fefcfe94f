"""Manifests: what a machine says of all that it has put, written last.

A machine has a manifest of its own, puts it after everything that it names, and nobody else writes it. So machines
need no lock between them, and who reads a manifest finds all that it names, whole. What no manifest names does not
count.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from reread.storage.byte_store import ByteStore

FOREIGN = "it names files that are not of its tables or machine; delete it, or restore an earlier version of it"
LARGEST_MANIFEST = 1 << 28
"""Bytes that a manifest may have: that of a million files is smaller."""


class OwnManifest(Protocol):
    """The fields of every manifest."""

    @property
    def machine(self) -> str:
        """The machine that has put it."""
        ...


M = TypeVar("M", bound=OwnManifest)


class BadManifest(ValueError):
    """Bytes that are no manifest; the text says why, and what to do."""


def read_manifest(store: ByteStore, name: str, machine: str, decode: Callable[[bytes], M]) -> tuple[M, bytes]:
    """Return the manifest of a machine and its bytes; raise FileNotFoundError if there is none, OSError if it is bad.

    A machine's name becomes that of folders, so a manifest that claims to be that of another is not used.
    """
    data = store.read_whole(name, LARGEST_MANIFEST)
    try:
        found = decode(data)
        if found.machine != machine:
            raise BadManifest(FOREIGN)
    except BadManifest as error:
        raise OSError(errno.EIO, str(error), store.location(name)) from error
    return found, data


def check_size(content: bytes, where: str) -> bytes:
    """Return the content of a manifest to be put; raise OSError if nobody would read it."""
    if len(content) > LARGEST_MANIFEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), where)
    return content
