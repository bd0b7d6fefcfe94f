"""Where bytes come from: a file on disk, or bytes in memory."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from reread.errors import Misuse, NotFound, Unreadable

LIVE_SECONDS = 30.0
"""A file written to within so long counts as being written."""


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


class TempFileSource:
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


_NOT_REGULAR: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "is a folder; name a .jsonl file in it, or `reread check` all of it"),
    (stat.S_ISFIFO, "is a pipe; pass it on as standard input, as in `reread show - < FILE`"),
    (lambda mode: not stat.S_ISREG(mode), "is a device or a socket; name a file"),
)
"""What cannot be read at any place, and what to do instead."""


def require_regular_file(path: Path) -> Path:
    """A path, unless it leads to what is no file: a pipe or a device would be waited for, or read, without end."""
    mode = path.stat().st_mode
    reason = next((reason for is_such, reason in _NOT_REGULAR if is_such(mode)), None)
    if reason is not None:
        raise Unreadable(f"{path}: {reason}", path=str(path))
    return path


def read_all(stream: IO[bytes]) -> bytes:
    """All that a binary file has left."""
    try:
        data: Any = stream.read()
    except (OSError, ValueError) as error:
        raise Unreadable(f"the file cannot be read: {error}; give one that is open for reading") from error
    if not isinstance(data, bytes):
        raise Misuse("open the file in binary mode: reread reads bytes")
    return data


class FileSource:
    """A file, read by position; never mapped, so that a truncation can do no harm."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        try:
            self._file = io.FileIO(require_regular_file(path), "rb")
        except FileNotFoundError:
            raise NotFound(f"{path}: no such file; `reread ls` lists sessions", path=str(path)) from None
        except OSError as error:
            raise Unreadable.at(path, error) from error
        self._lock = threading.Lock()
        weakref.finalize(self, self._file.close)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at a place; fewer where the file has shrunk."""
        try:
            if hasattr(os, "pread"):
                return os.pread(self._file.fileno(), length, offset)
            with self._lock:
                self._file.seek(offset)
                return self._file.read(length)
        except OSError as error:
            raise Unreadable.at(self.path or "", error) from error

    def identity(self) -> object:
        """Changes when another file is put in this one's place."""
        status = os.fstat(self._file.fileno())
        return (status.st_dev, status.st_ino)


def identity_at(path: Path) -> tuple[object, int]:
    """The identity and size of whatever is at a path now."""
    status = path.stat()
    return (status.st_dev, status.st_ino), status.st_size


def file_fingerprint(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def is_being_written(path: Path) -> bool:
    """Whether a file was written to just now."""
    try:
        return time.time() - path.stat().st_mtime < LIVE_SECONDS
    except OSError:
        return False
