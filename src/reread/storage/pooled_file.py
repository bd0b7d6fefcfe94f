"""Files that stay readable without staying open: few have a descriptor, the others are opened again to be read.

A process can hold thousands of sessions, but only some hundred descriptors. A file is opened again by its path, and
only if it is still the file that it was: another one under the same name is never read in its place.
"""

from __future__ import annotations

import errno
import io
import os
import threading
import weakref
from collections import OrderedDict
from pathlib import Path

from reread.storage.kept_file import KeptFile, open_regular, reader_of, status_of
from reread.storage.read_at_file import ReadAt, ReadAtFile, reader

MOST_OPEN = 32
"""Files that keep their descriptor; the one that was read longest ago loses it."""
SAMPLES, SAMPLE = 8, 2048
"""So many pieces of so many bytes are compared when a file is opened again: an inode alone may have been reused."""


class PooledFile(ReadAtFile):
    """A regular file or what is kept of it, read at any offset, by any thread."""

    _file: io.FileIO | KeptFile | None = None
    _read: ReadAt

    def __init__(self, path: str | Path) -> None:
        self._name = os.fspath(path)
        self._lock = threading.Lock()
        self._file = file = open_regular(path)
        self._read = reader_of(file)
        self.path: str = file.path if isinstance(file, KeptFile) else self._name
        self.is_kept: bool = isinstance(file, KeptFile)
        """True if the file itself is gone, and what is kept of it is read."""
        self._identity = _identity(file)
        self._seen = (0, b"")
        """How many bytes it had when its descriptor was closed, and a digest of samples of them."""
        _pool.touch(self)

    @property
    def size(self) -> int:
        return self.status().st_size

    def status(self) -> os.stat_result:
        with self._lock:
            status = status_of(self._open())
        _pool.touch(self)
        return status

    def read_at(self, offset: int, length: int) -> bytes:
        with self._lock:
            if self._file is None:
                self._open()
            data = self._read(offset, length)
        _pool.touch(self)
        return data

    def _open(self) -> io.FileIO | KeptFile:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self._file is None:
            file = open_regular(self._name)
            size, digest = self._seen
            if _identity(file) != self._identity or _digest(file, size) != digest:
                file.close()
                reason = "it was replaced or rewritten after it was opened; open it again"
                raise OSError(errno.ESTALE, reason, self._name)
            self._file, self._read = file, reader_of(file)
        return self._file

    def release(self) -> bool:
        """Close the descriptor until the file is read again; False if another thread is reading just now."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._file is not None:
                size = os.fstat(self._file.fileno()).st_size
                self._seen = (size, _digest(self._file, size))
                self._file.close()
                self._file = None
        finally:
            self._lock.release()
        return True

    def close(self) -> None:
        if not self.closed:
            super().close()
            _pool.forget(self)
            with self._lock:
                if self._file is not None:
                    self._file.close()
                    self._file = None


def _identity(file: io.FileIO | KeptFile) -> tuple[object, ...]:
    status = os.fstat(file.fileno())
    born = getattr(status, "st_birthtime", None)  # Linux does not tell
    return type(file), status.st_dev, status.st_ino, born


def _digest(file: io.FileIO | KeptFile, size: int) -> bytes:
    """Return a digest of pieces all over the first bytes of what is on disk."""
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    read, found = reader(file.fileno()), blake2b(digest_size=16)
    last = max(0, size - SAMPLE)
    for start in sorted({last * n // (SAMPLES - 1) for n in range(SAMPLES)}):
        found.update(read(start, min(SAMPLE, size - start)))
    return found.digest()


class _Pool:
    """The files that have a descriptor, the one read last at the end."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a file may be freed, and so closed, by whoever holds it
        self._files: OrderedDict[int, weakref.ref[PooledFile]] = OrderedDict()
        self._last = 0

    def touch(self, file: PooledFile) -> None:
        """Note that a file was read; release the ones read longest ago if there are too many."""
        if self._last == id(file):
            return
        with self._lock:
            self._last = id(file)
            self._files[self._last] = weakref.ref(file)
            self._files.move_to_end(self._last)
            for key in [*self._files][: max(0, len(self._files) - MOST_OPEN)]:
                other = self._files[key]()
                if other is None or other.release():
                    self._files.pop(key, None)

    def forget(self, file: PooledFile) -> None:
        """Leave out a file that is closed for good."""
        with self._lock:
            self._files.pop(id(file), None)
            self._last = 0


_pool = _Pool()
