"""Sources of bytes that can be read at any offset: a file, a stream, bytes in memory."""

from __future__ import annotations

import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from reread.disk.transcript_file import hold_transcript, stat_transcript
from reread.errors import Misuse, NotFound, Unreadable
from reread.storage.kept_file import stat_file
from reread.storage.pooled_file import PooledFile
from reread.storage.prompt_history import PromptsFile
from reread.storage.read_at_file import ReadAtFile
from reread.storage.safe_open import check_regular

if TYPE_CHECKING:
    from reread.disk.joined import JoinedFile

CHUNK = 1 << 20
LIVE_SECONDS = 30.0
"""A file that was modified this recently is probably still being written."""
LARGEST_WHOLE = 16 << 20
"""Larger files are never read as a whole."""
_whole = ContextVar("whole", default=False)


@contextmanager
def whole_files() -> Generator[None]:
    """Read each file that is opened meanwhile at once: for work on all of its records, each read costs more."""
    token = _whole.set(True)
    try:
        yield
    finally:
        _whole.reset(token)


class Source(Protocol):
    """Bytes that can be read at any offset, and may grow."""

    path: Path | None

    def read(self, offset: int, length: int) -> bytes: ...
    def identity(self) -> object: ...
    def close(self) -> None: ...


def source_pieces(source: Source) -> Iterator[bytes]:
    """Yield all bytes of a source."""
    at = 0
    while data := source.read(at, CHUNK):
        yield data
        at += len(data)


class MemorySource:
    """Bytes in memory."""

    def __init__(self, data: bytes, path: Path | None = None) -> None:
        self.path = path
        """The file that they were copied from."""
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset."""
        return self._data[offset : offset + length]

    def identity(self) -> object:
        """Return a constant: the source cannot be replaced."""
        return None

    def close(self) -> None:
        """Do nothing: what is in memory stays readable."""


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

    def close(self) -> None:
        """Delete the copy."""
        self._file.close()


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


def _read_error(path: Path | None, file: ReadAtFile, error: OSError | ValueError) -> Exception:
    """Return the error to raise when a file cannot be read."""
    if isinstance(error, OSError):
        return Unreadable.at(path or "", error)
    return Misuse(f"{path} is closed; open the session again to read more of it.") if file.closed else error


class FileSource:
    """A file, read by offset, whether it is there or kept, with what only its earlier states have.

    It is never mapped into memory, because truncating a mapped file kills the process.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        try:
            self._file = hold_transcript(path)
            status = self._file.status()
        except FileNotFoundError:
            raise NotFound(f"No file {path}; run `reread ls` to list sessions.", path=str(path)) from None
        except OSError as error:
            raise Unreadable.at(path, error) from error
        self._identity = (status.st_dev, status.st_ino)
        self._bytes: bytes | None = None
        """All bytes, as they were when it was opened."""
        if _whole.get() and status.st_size <= LARGEST_WHOLE:
            self._bytes = self.read(0, status.st_size)

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer if the file has shrunk."""
        if self._bytes is not None:
            return self._bytes[offset : offset + length]
        try:
            return self._file.read_at(offset, length)
        except (OSError, ValueError) as error:
            raise _read_error(self.path, self._file, error) from error

    def close(self) -> None:
        """Close the file: nothing more can be read."""
        self._file.close()

    @property
    def is_whole(self) -> bool:
        """True if all of it is in memory."""
        return self._bytes is not None

    @property
    def kept_as(self) -> str | None:
        """The file with the frames that are read; None if the file itself is."""
        file = self._file if self.joined is None else self.joined.file
        return file.path if isinstance(file, PooledFile) and file.is_kept else None

    @property
    def joined(self) -> JoinedFile | None:
        """The file and its earlier states, if these have something that it has not."""
        return None if isinstance(self._file, PooledFile | PromptsFile) else self._file

    def identity(self) -> object:
        """Return a value that changes if another file replaces this one."""
        return self._identity


class OwnSource:
    """A file itself, without what only its earlier states have."""

    def __init__(self, source: Source, joined: JoinedFile) -> None:
        self.path: Path | None = source.path
        self._source, self._joined = source, joined

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer if the file has shrunk."""
        try:
            return self._joined.read_own(offset, length)
        except (OSError, ValueError) as error:
            raise _read_error(self.path, self._joined, error) from error

    def close(self) -> None:
        """Close the file: nothing more can be read."""
        self._source.close()

    def identity(self) -> object:
        """Return a value that changes if another file replaces this one."""
        return self._source.identity()


def own_source(source: Source) -> Source:
    """Return a source without what only earlier states of its file have."""
    joined = source.joined if isinstance(source, FileSource) else None
    return source if joined is None else OwnSource(source, joined)


def identity_at(path: Path) -> tuple[object, int]:
    """Return the identity and size of the file at a path now."""
    status = stat_transcript(path)
    return (status.st_dev, status.st_ino), status.st_size


def file_fingerprint(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes whenever the file does; None if there is no file."""
    try:
        stat = stat_transcript(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def is_being_written(path: Path) -> bool:
    """True if a file was modified within the last `LIVE_SECONDS`."""
    try:
        return time.time() - stat_file(path).st_mtime < LIVE_SECONDS
    except OSError:
        return False
