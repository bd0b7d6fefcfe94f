"""Kept files: a file that `reread keep` has copied is read through its frames, under its own name.

`folder/name.jsonl` is the file itself or, if there is none, what `folder/name.jsonl.zst` keeps of it. Whoever opens,
lists or examines files through `disk` need not know which.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reread.storage.frames import (
    STUB_HEADING,
    BadFrame,
    FrameMap,
    TooLarge,
    largest_raw,
    last_frame,
    map_bytes,
    measure_frame,
    parse_map,
    unpack,
)
from reread.storage.kept_names import MAP_SUFFIX, SUFFIX, is_kept_transcript, stand_in
from reread.storage.prompt_history import is_prompts
from reread.storage.read_at_file import ReadAt, ReadAtFile, reader, restated
from reread.storage.safe_open import open_no_link, open_plain

if TYPE_CHECKING:
    from reread.storage.stub import Stub

LARGEST_MAP = 1 << 26
"""Bytes that a map may have: that of 400,000 frames. Without it, frames are measured one by one."""
CACHED_BYTES = 8 << 20
"""Raw bytes of frames that an open file remembers; at least one frame."""


def stat_file(path: str | Path) -> os.stat_result:
    """Return the status of a file; of a kept one with the size of its raw bytes."""
    try:
        if not is_kept_transcript(path):
            return os.stat(path)  # noqa: PTH116
        kept = os.fspath(path)
    except (FileNotFoundError, NotADirectoryError):
        prompts = _prompt_status(path)
        if prompts is not None:
            return prompts
        kept = stand_in(path)
        if kept is None:
            raise
        if not kept.endswith(SUFFIX):  # it was superseded, and is there
            return os.stat(kept)  # noqa: PTH116
    status = os.stat(kept, follow_symlinks=False)  # noqa: PTH116
    return restated(status, raw_size(kept, status)) if stat.S_ISREG(status.st_mode) else status


def is_file(path: str | Path) -> bool:
    """True if there is a regular file, a kept one, or the prompts of a session of which nothing else is left."""
    if os.path.isfile(path) or _prompt_status(path) is not None:
        return True
    return not os.path.lexists(path) and stand_in(path) is not None


def file_exists(path: str | Path) -> bool:
    """True if there is a file or folder, or a kept file."""
    return os.path.exists(path) or is_file(path)


def _prompt_status(path: str | Path) -> os.stat_result | None:
    if not is_prompts(path):
        return None
    from reread.storage.prompt_history import prompt_status  # nearly every path is that of a file

    return prompt_status(path)


def is_readable(path: str | Path) -> bool:
    """True if the file, or what is left of it, may be read."""
    path = os.path.split(path)[0] if is_prompts(path) else path
    return os.access(path, os.R_OK) or os.access(stand_in(path) or path, os.R_OK)


def raw_size(kept: str, status: os.stat_result) -> int:
    """Return the number of raw bytes in a kept file: by the end of its map, or by its frames."""
    with suppress(OSError), opened(kept + MAP_SUFFIX) as (read, map_status):
        frame = last_frame(read, map_status.st_size) if stat.S_ISREG(map_status.st_mode) else None
        if frame is not None and frame.packed_end == status.st_size:
            return frame.raw_end
    with KeptFile(kept) as file:
        return file.size


@contextmanager
def opened(path: str | Path) -> Generator[tuple[ReadAt, os.stat_result]]:
    """Open a file that must not be a link; yield a function that reads it by offset, and its status.

    If it is a stub, these are the frames in the bucket.
    """
    descriptor = open_no_link(path)
    try:
        stub, status = _stub(path, descriptor), os.fstat(descriptor)
        yield (reader(descriptor), status) if stub is None else (stub.read, restated(status, stub.packed_size))
    finally:
        os.close(descriptor)


def _stub(path: str | Path, descriptor: int) -> Stub | None:
    """Return the stub that an open file is; None if it is none."""
    read = reader(descriptor)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode) or read(0, len(STUB_HEADING)) != STUB_HEADING:
        return None
    from reread.storage.stub import Stub, is_in_mirror  # few keep in a bucket

    return Stub(read, descriptor, os.fspath(path)) if is_in_mirror(path) else None


def read_map_file(kept: str) -> bytes | None:
    """Return the content of a kept file's map, or what a stub says instead; None if there is neither.

    One that is larger than any that reread writes is none.
    """
    try:
        with opened(kept + MAP_SUFFIX) as (read, status):
            is_map = stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_MAP
            return read(0, status.st_size) if is_map else None
    except OSError:
        stub = read_stub(kept)
        return map_bytes(stub.frames) if stub is not None else None


def read_stub(path: str | Path) -> Stub | None:
    """Return what a stub says; None if the file is none, or cannot be read."""
    try:
        descriptor = open_no_link(path)
    except OSError:
        return None
    try:
        return _stub(path, descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


class KeptFile(ReadAtFile):
    """The raw bytes of a kept file, read at any offset."""

    _descriptor = -1

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = open_no_link(path)
        self._lock = threading.Lock()
        self._cached: OrderedDict[int, bytes] = OrderedDict()
        self._has_map_file = False
        """True if the map was read from the file beside it."""
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.ENODEV, "it is not a regular file", path)
            self._stub = _stub(path, self._descriptor)
            self._read_packed = self._stub.read if self._stub is not None else reader(self._descriptor)
            self._packed_size = status.st_size
            self._map = self._load_map()
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """Number of raw bytes; more once another frame was appended."""
        packed = os.fstat(self._descriptor).st_size
        if packed != self._packed_size:
            with self._lock:
                self._packed_size = packed
                if self._stub is not None and self._stub.refresh():
                    self._map = self._load_map()
                self._extend(self._map)
        return self._map.raw_size

    def status(self) -> os.stat_result:
        """Return the file's status, with the size of its raw bytes."""
        return restated(os.fstat(self._descriptor), self.size)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return the raw bytes at an offset; fewer at the end."""
        if offset + length > self._map.raw_size:
            length = min(length, self.size - offset)
        pieces: list[bytes] = []
        while length > 0:
            data = self._read_frame(offset, length)
            pieces.append(data)
            offset += len(data)
            length -= len(data)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_frame(self, offset: int, length: int) -> bytes:
        """Return raw bytes at an offset, at most up to the end of a frame."""
        with self._lock:
            index = self._map.frame_at(offset)
            try:
                data = self._frame(index)
            except BadFrame as error:
                if not self._has_map_file:
                    raise damaged(self.path, self._map.packed_range(index)[0], error) from error
                data = None
            if data is not None:
                return data[offset - self._map.raw_start(index) :][:length]
            self._has_map_file = False  # the map may be the wrong one, so the frames decide
            self._map = FrameMap([], [])
            self._extend(self._map)
            self._cached.clear()
        if offset >= self._map.raw_size:
            raise damaged(self.path, self._map.packed_size, BadFrame("the next frame is not whole"))
        return self._read_frame(offset, length)

    def _frame(self, index: int) -> bytes:
        """Return the raw bytes of a frame; raise BadFrame if it is damaged or not where the map says."""
        if index in self._cached:
            self._cached.move_to_end(index)
            return self._cached[index]
        start, end = self._map.packed_range(index)
        size = self._map.raw_ends[index] - self._map.raw_start(index)
        data = unpack(self._read_packed(start, end - start), size)
        if len(data) != size:
            raise BadFrame("a frame of another length")
        self._cached[index] = data
        while len(self._cached) > 1 and sum(map(len, self._cached.values())) > CACHED_BYTES:
            self._cached.popitem(last=False)
        return data

    def _load_map(self) -> FrameMap:
        """Return the map: from the file beside it, if that fits the frames, else made of the frames."""
        found = FrameMap([], [])
        if self._stub is not None:
            self._has_map_file = True
            frames = self._stub.frames
            found = FrameMap([frame.raw_end for frame in frames], [frame.packed_end for frame in frames])
            if found.raw_size > largest_raw(found.packed_size):
                raise too_large(self.path, TooLarge(f"{found.packed_size:,} bytes unpack to {found.raw_size:,}"))
            return found
        data = read_map_file(self.path)
        frames = parse_map(data) if data is not None else None
        if frames and frames[-1].packed_end <= self._packed_size:
            found = FrameMap([frame.raw_end for frame in frames], [frame.packed_end for frame in frames])
            self._has_map_file = found.raw_size <= largest_raw(found.packed_size) and self._fits(found)
            if not self._has_map_file:
                found = FrameMap([], [])
        self._extend(found)
        if not found.raw_ends and self._packed_size:
            raise damaged(self.path, 0, BadFrame("it has no whole frame"))
        return found

    def _extend(self, found: FrameMap) -> None:
        """Add the frames that a map lacks."""
        packed = self._stub.packed_size if self._stub is not None else self._packed_size
        try:
            found.extend(self._read_packed, packed)
        except TooLarge as error:
            raise too_large(self.path, error) from error

    def _fits(self, found: FrameMap) -> bool:
        """True if the last frame of a map is where the map says; the others are compared when they are read."""
        index = len(found.raw_ends) - 1
        start, end = found.packed_range(index)
        try:
            shape = measure_frame(self._read_packed, start)
        except BadFrame:
            return False
        raw = found.raw_ends[index] - found.raw_start(index)
        return shape is not None and start + shape.packed_size == end and shape.raw_size in (raw, None)

    def frames(self) -> Iterator[tuple[int, int]]:
        """Yield where each frame begins and ends in the raw bytes, whether or not it can be read."""
        ends = list(self._map.raw_ends)
        yield from zip([0, *ends], ends, strict=False)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._descriptor >= 0:
                os.close(self._descriptor)


OpenFile = io.FileIO | ReadAtFile
"""A file that is open for reading, without a buffer."""


def open_regular(path: str | Path) -> io.FileIO | KeptFile:
    """Open a regular file for reading, without a buffer; one that is gone is read from where it is kept."""
    if is_kept_transcript(path):
        return KeptFile(os.fspath(path))
    try:
        return open_plain(path)
    except (FileNotFoundError, NotADirectoryError):
        kept = stand_in(path)
        if kept is None:
            raise
        return KeptFile(kept) if kept.endswith(SUFFIX) else open_plain(kept)


def status_of(file: OpenFile) -> os.stat_result:
    """Return the status of an open file, with the size of what is read from it."""
    return file.status() if isinstance(file, ReadAtFile) else os.fstat(file.fileno())


def read_whole(path: str | Path, largest: int | None = None) -> bytes:
    """Return the content of a regular file, or of what is kept of it; raise OSError if it is larger."""
    with open_regular(path) as file:
        if largest is not None and status_of(file).st_size > largest:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return file.readall()


def reader_of(file: io.FileIO | KeptFile) -> ReadAt:
    """Return a function that reads an open file by offset."""
    return file.read_at if isinstance(file, KeptFile) else reader(file.fileno())


def damaged(path: str, offset: int, error: BadFrame) -> OSError:
    """Return the error for a kept file that cannot be read."""
    reason = f"damaged at byte {offset} ({error}); run `reread keep --check`"
    return OSError(errno.EIO, reason, path)


def too_large(path: str, error: TooLarge) -> OSError:
    """Return the error for a kept file that is not read, because it could be read for hours."""
    return OSError(errno.EFBIG, f"{error}, and no session does; if you trust it, unpack it with `zstd -d`", path)
