"""The stub of a file that is kept in a bucket: which objects hold its frames, and where each frame is.

A stub has the place and name of a kept file in the mirror of a bucket. Its lines are those of a map, and after the
frames of each object a line that names it. Lines are only ever appended; what follows the last name does not count.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from reread.storage.frames import STUB_HEADING as HEADING
from reread.storage.frames import ZstdFrame
from reread.storage.read_at_file import ReadAt
from reread.storage.user_paths import is_bucket_url, mirrors_folder

PIECE = b"piece "
SMALLEST_READ, LARGEST_READ = 1 << 16, 1 << 22
"""Bytes of a request: at least so many, and if one read follows the other, twice as many as before, up to so many."""


class Piece(NamedTuple):
    """An object with some of the frames of a file."""

    name: str
    frames: list[ZstdFrame]

    @property
    def packed_end(self) -> int:
        """Where the object ends among the bytes of all."""
        return self.frames[-1].packed_end

    def lines(self) -> bytes:
        """Return its lines in a stub."""
        return b"".join(frame.line() for frame in self.frames) + PIECE + self.name.encode() + b"\n"


def stub_bytes(url: str, pieces: Iterable[Piece]) -> bytes:
    """Return the content of a stub."""
    return HEADING + url.encode() + b"\n" + b"".join(piece.lines() for piece in pieces)


def parse_stub(data: bytes) -> tuple[str, list[Piece]] | None:
    """Return the address and the pieces that a stub names; None if it is none, or is damaged."""
    heading, *lines = data.split(b"\n")
    if not heading.startswith(HEADING):
        return None
    pieces: list[Piece] = []
    frames: list[ZstdFrame] = []
    try:
        for line in lines[:-1]:  # what follows the last line end was being written
            if not line.startswith(PIECE):
                frame = ZstdFrame.parse(line + b"\n")
                if frame is None:
                    return None
                frames.append(frame)
            elif frames:
                pieces.append(Piece(line[len(PIECE) :].decode(), frames))
                frames = []
        return heading[len(HEADING) :].decode(), pieces
    except UnicodeDecodeError:
        return None


def is_in_mirror(path: str | Path) -> bool:
    """True if a file that looks like a stub is one: elsewhere than in a mirror, nothing is fetched for it."""
    return Path(path).is_relative_to(mirrors_folder())


class Stub:
    """The frames that a stub names, read from the bucket."""

    def __init__(self, read: ReadAt, descriptor: int, path: str) -> None:
        self._read_stub, self._descriptor, self._path = read, descriptor, path
        self._size: int = -1
        self._url, self.pieces = "", list[Piece]()
        self._buffer, self._buffer_start, self._window = b"", 0, SMALLEST_READ
        self.refresh()

    def refresh(self) -> bool:
        """Read the stub again if it has grown; True if it has."""
        size = os.fstat(self._descriptor).st_size
        if size == self._size:
            return False
        found = parse_stub(self._read_stub(0, size))
        if found is None or not is_bucket_url(found[0]):
            raise OSError(errno.EIO, "its stub is damaged; delete it, and it is made again", self._path)
        self._size = size
        self._url, pieces = found
        self.pieces: list[Piece] = pieces
        self._ends = [piece.packed_end for piece in self.pieces]
        return True

    @property
    def frames(self) -> list[ZstdFrame]:
        """All frames."""
        return [frame for piece in self.pieces for frame in piece.frames]

    @property
    def packed_size(self) -> int:
        """Number of bytes of all frames."""
        return self._ends[-1] if self._ends else 0

    def read(self, offset: int, length: int) -> bytes:
        """Return packed bytes at an offset; fewer at the end."""
        length = min(length, self.packed_size - offset)
        parts: list[bytes] = []
        while length > 0:
            part = self._read_some(offset, length)
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_some(self, offset: int, length: int) -> bytes:
        """Return bytes of one piece, from the last request or by another."""
        skip = offset - self._buffer_start
        if 0 <= skip < len(self._buffer):
            return self._buffer[skip : skip + length]
        follows = bool(self._buffer) and skip == len(self._buffer)
        self._window = min(self._window * 2, LARGEST_READ) if follows else SMALLEST_READ
        index = bisect_right(self._ends, offset)
        start = self._ends[index - 1] if index else 0
        wanted = min(max(length, self._window), self._ends[index] - offset)
        name = self.pieces[index].name
        from reread.storage.bucket import store_at  # loaded late: few keep in a bucket

        self._buffer, self._buffer_start = store_at(self._url).read(name, offset - start, wanted), offset
        if len(self._buffer) < min(length, wanted):
            raise OSError(errno.EIO, "the object is shorter than when it was kept", f"{self._url}/{name}")
        return self._buffer[:length]
