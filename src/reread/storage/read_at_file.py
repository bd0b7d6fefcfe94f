"""Files that are read at any offset."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from typing import Any

ReadAt = Callable[[int, int], bytes]
"""Reads `length` bytes at `offset`."""


def reader(descriptor: int) -> ReadAt:
    """Return a function that reads an open file by offset; fewer bytes only at its end."""

    def read(offset: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            data = os.pread(descriptor, length, offset)
            while 0 < len(data) < length and (more := os.pread(descriptor, length - len(data), offset + len(data))):
                data += more
            return data
        os.lseek(descriptor, offset, os.SEEK_SET)
        data = b""
        while len(data) < length and (more := os.read(descriptor, length - len(data))):
            data += more
        return data

    return read


def restated(status: os.stat_result, size: int, inode: int | None = None) -> os.stat_result:
    """Return a status with another size, or as that of another file; times in nanoseconds are kept."""
    fields = list(status)
    fields[stat.ST_SIZE] = size
    fields[stat.ST_INO] = status.st_ino if inode is None else inode
    names = ("st_atime", "st_mtime", "st_ctime", "st_atime_ns", "st_mtime_ns", "st_ctime_ns")
    return os.stat_result(fields, {name: getattr(status, name) for name in names})


class ReadAtFile(io.RawIOBase):
    """A file of which the bytes can be read at any offset, and which is more than the bytes of one descriptor.

    Python closes what it frees, also one that could not be opened: `close` must not need what only an open one has.
    """

    path: str
    """Where it is read from."""
    _at = 0

    @property
    def size(self) -> int:
        """Number of bytes."""
        raise NotImplementedError

    def status(self) -> os.stat_result:
        """Return its status, with that size."""
        raise NotImplementedError

    def read_at(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        self._at = max(0, (self.size if base is None else base) + offset)
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        length = max(0, self.size - self._at) if size is None or size < 0 else size
        data = self.read_at(self._at, length)
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
