"""Sources of bytes that can be read at any offset: a file, a stream, bytes in memory."""

from __future__ import annotations

import os
import threading
import time
import weakref
from pathlib import Path
from typing import IO, Any, Protocol

from reread.disk.kept import KeptFile, stat_file
from reread.disk.regular import check_regular, open_regular, status_of
from reread.errors import Misuse, NotFound, Unreadable

LIVE_SECONDS = 30.0
"""A file that was modified this recently is probably still being written."""


class Source(Protocol):
    """Bytes that can be read at any offset, and may grow."""

    path: Path | None

    def read(self, offset: int, length: int) -> bytes: ...
    def identity(self) -> object: ...


class MemorySource:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self.path: Path | None = None
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset."""
        return self._data[offset : offset + length]

    def identity(self) -> object:
        """Return a constant: the source cannot be replaced."""
        return None


class TempFileSource:
    """Bytes of a stream, copied to a temporary file as they arrive."""

    def __init__(self) -> None:
        self.path: Path | None = None
        import tempfile  # takes some milliseconds

        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._size = 0
        weakref.finalize(self, self._file.close)

    def append(self, data: bytes) -> None:
        """Append bytes that have arrived."""
        self._file.seek(self._size)
        self._file.write(data)
        self._size += len(data)

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset."""
        self._file.seek(offset)
        return self._file.read(length)

    def identity(self) -> object:
        """Return a constant: the source cannot be replaced."""
        return None


def require_regular_file(path: Path) -> Path:
    """Return the path; raise Unreadable for a folder, a pipe or device, which might be read forever, and for damage."""
    try:
        check_regular(stat_file(path).st_mode, path)
    except OSError as error:
        raise Unreadable.at(path, error) from error
    return path


def read_all(stream: IO[bytes]) -> bytes:
    """Return the rest of a binary stream."""
    try:
        data: Any = stream.read()
    except (OSError, ValueError) as error:
        raise Unreadable(f"Cannot read the file: {error}; pass one that is open for reading.") from error
    if not isinstance(data, bytes):
        raise Misuse("The file is not in binary mode; open it with mode 'rb'.")
    return data


class FileSource:
    """A file, read by offset, whether it is there or kept.

    It is never mapped into memory, because truncating a mapped file kills the process.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        try:
            self._file = open_regular(path)
        except FileNotFoundError:
            raise NotFound(f"No file {path}; run `reread ls` to list sessions.", path=str(path)) from None
        except OSError as error:
            raise Unreadable.at(path, error) from error
        self._lock = threading.Lock()
        weakref.finalize(self, self._file.close)

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer if the file has shrunk."""
        try:
            if isinstance(self._file, KeptFile):
                return self._file.read_at(offset, length)
            if hasattr(os, "pread"):
                return os.pread(self._file.fileno(), length, offset)
            with self._lock:
                self._file.seek(offset)
                return self._file.read(length)
        except OSError as error:
            raise Unreadable.at(self.path or "", error) from error

    @property
    def kept_as(self) -> str | None:
        """The file with the frames that are read; None if the file itself is."""
        return self._file.path if isinstance(self._file, KeptFile) else None

    def identity(self) -> object:
        """Return a value that changes if another file replaces this one."""
        status = status_of(self._file)
        return (status.st_dev, status.st_ino)


def identity_at(path: Path) -> tuple[object, int]:
    """Return the identity and size of the file at a path now."""
    status = stat_file(path)
    return (status.st_dev, status.st_ino), status.st_size


def file_fingerprint(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes whenever the file does; None if there is no file."""
    try:
        stat = stat_file(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def is_being_written(path: Path) -> bool:
    """True if a file was modified within the last `LIVE_SECONDS`."""
    try:
        return time.time() - stat_file(path).st_mtime < LIVE_SECONDS
    except OSError:
        return False
