"""Where bytes come from: a file on disk, or bytes in memory."""

from __future__ import annotations

import io
import os
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Protocol

from reread.errors import NotFound, Unreadable


class Source(Protocol):
    """Bytes that can be read at any place, and may grow."""

    path: Path | None

    def read(self, offset: int, length: int) -> bytes: ...
    def identity(self) -> object: ...


class MemorySource:
    """Bytes that are already here."""

    def __init__(self, data: bytes) -> None:
        self.path: Path | None = None
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at a place."""
        return self._data[offset : offset + length]

    def identity(self) -> object:
        """Never changes."""
        return None


class Tape:
    """Bytes that come while they are read, kept in a temporary file."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._size = 0
        weakref.finalize(self, self._file.close)

    def append(self, data: bytes) -> None:
        """Take in what has come."""
        self._file.seek(self._size)
        self._file.write(data)
        self._size += len(data)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at a place."""
        self._file.seek(offset)
        return self._file.read(length)

    def identity(self) -> object:
        """Never changes."""
        return None


class FileSource:
    """A file, read by position; never mapped, so that a truncation can do no harm."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        try:
            if path.is_dir():
                raise Unreadable(
                    f"{path}: is a folder; name a .jsonl file in it, or `reread check` all of it",
                    path=str(path),
                )
            self._file = io.FileIO(path, "rb")
        except FileNotFoundError:
            raise NotFound(f"{path}: no such file; `reread ls` lists sessions", path=str(path)) from None
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "; check its permissions" if isinstance(error, PermissionError) else ""
            raise Unreadable(f"{path}: cannot be read: {reason}{hint}", path=str(path)) from error
        self._lock = threading.Lock()
        weakref.finalize(self, self._file.close)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at a place; fewer where the file has shrunk."""
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), length, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(length)

    def identity(self) -> object:
        """Changes when another file is put in this one's place."""
        stat = os.fstat(self._file.fileno())
        return (stat.st_dev, stat.st_ino)


def identity_at(path: Path) -> tuple[object, int]:
    """The identity and size of whatever is at a path now."""
    stat = path.stat()
    return (stat.st_dev, stat.st_ino), stat.st_size
