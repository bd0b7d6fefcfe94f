"""One kept file on disk: examine it, append to it, begin another generation, pack it anew.

A frame counts as kept once its line is in the map. What follows the last such frame was being written when the
process ended: whole frames are taken over, anything else is cut off before more is appended. Nothing before that place
is ever changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from reread.storage.atomic import name_unless_taken, new_beside, write_all
from reread.storage.frames import (
    FRAME_SIZE,
    BadFrame,
    FrameBuilder,
    Hash,
    ZstdFrame,
    map_bytes,
    measure_frame,
    parse_map,
    read_frames,
    unpack_session,
)
from reread.storage.kept_file import opened, read_map_file
from reread.storage.kept_names import MAP_SUFFIX
from reread.storage.read_at_file import ReadAt
from reread.storage.safe_open import open_no_link

QUICK_LEVEL, QUIET_LEVEL = 3, 9
"""Compression levels of bytes that were just written, and of a file that nobody has written to for a day."""


class KeptCopy(NamedTuple):
    """A generation as it is on disk."""

    path: str
    generation: int
    frames: list[ZstdFrame]
    """The whole frames."""
    size: int
    """Bytes of the file; more than the frames have if the last one was not finished."""
    map_is_right: bool
    """True if the map says exactly this."""
    damage: str = ""
    """The fault of the frames, if any: nothing is appended to them then."""
    doubt: str = ""
    """Why the frames, although they can be read, may not be those that were kept."""
    map_is_behind: bool = False
    """True if the map lacks only its last lines, as after a run that was killed."""

    @property
    def raw_size(self) -> int:
        """Number of raw bytes."""
        return self.frames[-1].raw_end if self.frames else 0

    @property
    def packed_size(self) -> int:
        """Number of bytes of the whole frames."""
        return self.frames[-1].packed_end if self.frames else 0


def examine(path: str, generation: int, *, decode: bool = False) -> KeptCopy:
    """Return what a kept file has; every packed byte is read, and compared with the map if there is one.

    `decode` also unpacks what agrees with the map, so that the map's other figures are compared, too.
    """
    with opened(path) as (read, status):
        size, written = status.st_size, read_map_file(path)
        mapped = parse_map(written) if written is not None else None
        if mapped is None:
            return KeptCopy(path, generation, *_rebuild(read, size))
        if not _agree(mapped, read, size):
            return KeptCopy(path, generation, *_rebuild(read, size), "its frames are not those of its map")
        try:
            frames = _with_following(mapped, read, size)
        except BadFrame:  # a map that vouches for frames that cannot be read
            return KeptCopy(path, generation, *_rebuild(read, size), "its map is that of damaged frames")
        damage = ""
        if decode:
            frames, *_, damage = _rebuild(read, frames[-1].packed_end if frames else 0)
        right = map_bytes(frames)
        behind = written is not None and written != right and right.startswith(written)
        return KeptCopy(path, generation, frames, size, written == right, damage, map_is_behind=behind)


def _agree(frames: list[ZstdFrame], read: ReadAt, size: int) -> bool:
    """True if the file has exactly the frames of a map."""
    start = 0
    for frame in frames:
        if frame.packed_end > size:
            return False
        packed = read(start, frame.packed_end - start)
        if hashlib.sha256(packed).digest() != frame.packed_hash:
            return False
        start = frame.packed_end
    return True


def _rebuild(read: ReadAt, size: int) -> tuple[list[ZstdFrame], int, bool, str]:
    """Return what the bytes of a file say: the frames up to the first that is damaged, and what is wrong with it."""
    builder = FrameBuilder(QUICK_LEVEL)
    try:
        for raw, packed in read_frames(read, size):
            builder.note(raw, packed)
    except BadFrame as error:
        return builder.frames, size, False, f"damaged at byte {builder.packed_size} ({error})"
    return builder.frames, size, False, ""


def _with_following(frames: list[ZstdFrame], read: ReadAt, size: int) -> list[ZstdFrame]:
    """Return the frames and the whole ones that follow them: they were written just before the process ended."""
    if (frames[-1].packed_end if frames else 0) == size:
        return frames
    builder = FrameBuilder(QUICK_LEVEL, frames, _prefix_hash(frames, read))
    with suppress(BadFrame):
        while (shape := measure_frame(read, builder.packed_size)) is not None:
            packed = read(builder.packed_size, shape.packed_size)
            builder.note(unpack_session(packed), packed)
    return builder.frames


def _prefix_hash(frames: list[ZstdFrame], read: ReadAt) -> Hash:
    """Return a hash that was fed the raw bytes of some frames."""
    prefix, start = hashlib.sha256(), 0
    for frame in frames:
        prefix.update(unpack_session(read(start, frame.packed_end - start)))
        start = frame.packed_end
    return prefix


Write = Callable[[bytes], None]
"""Writes all of the bytes."""


@contextmanager
def appending(copy: KeptCopy) -> Generator[Write]:
    """Write after the frames of a copy; an exception leaves the file as it was."""
    descriptor = open_no_link(copy.path, os.O_WRONLY)
    try:
        if os.fstat(descriptor).st_size != copy.size:
            raise OSError(errno.EBUSY, "another program is writing to it", copy.path)
        os.ftruncate(descriptor, copy.packed_size)
        os.lseek(descriptor, copy.packed_size, os.SEEK_SET)
        try:
            yield lambda data: write_all(descriptor, data)
            os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, copy.packed_size)
            raise
    finally:
        os.close(descriptor)


@contextmanager
def new_file(path: str, *, replace: bool = False, flush: bool = True) -> Generator[Write]:
    """Write a file that gets its name when it is whole; an exception leaves nothing.

    Without `flush`, a power failure may lose it.
    """
    with new_beside(Path(path)) as new:
        yield new.write
        new.finish(sync=flush)
        if replace:
            new.path.replace(path)
        else:
            name_unless_taken(new.path, Path(path))


def write_map(path: str, frames: Sequence[ZstdFrame], *, appended: int = 0) -> None:
    """Write the map of a kept file; only the last lines if `appended` says that the others are there."""
    if not appended:
        with new_file(path + MAP_SUFFIX, replace=True, flush=False) as write:  # it can be made again
            write(map_bytes(frames))
        return
    descriptor = open_no_link(path + MAP_SUFFIX, os.O_WRONLY | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, b"".join(frame.line() for frame in frames[-appended:]))
        except BaseException:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


class NotSmaller(Exception):
    """Packing a file anew would not make it smaller."""


def repack(copy: KeptCopy, level: int = QUIET_LEVEL) -> None:
    """Pack a file anew, in frames of full size; raise NotSmaller if that gains nothing.

    The map is removed first: a file without one is read by its frames.
    """
    builder, pending = FrameBuilder(level), bytearray()
    with opened(copy.path) as (read, status), new_file(copy.path, replace=True) as write:
        for raw, _ in read_frames(read, copy.packed_size):
            pending += raw
            while len(pending) >= FRAME_SIZE:
                write(builder.add(bytes(pending[:FRAME_SIZE])))
                del pending[:FRAME_SIZE]
        if pending or not builder.frames:
            write(builder.add(bytes(pending)))
        if builder.packed_size >= copy.packed_size:
            raise NotSmaller
        if builder.frames[-1].prefix_hash != copy.frames[-1].prefix_hash:
            raise BadFrame("the bytes are not those of the map")
        os.unlink(copy.path + MAP_SUFFIX)  # noqa: PTH108
    os.utime(copy.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    write_map(copy.path, builder.frames)


class KeptFolder:
    """Writes kept files into folders of this machine, each by its path."""

    def examine(self, path: str, generation: int) -> KeptCopy:
        """Return what is kept, without a tail that a killed run has left."""
        copy = examine(path, generation)
        if copy.damage or copy.doubt:
            return copy
        if copy.size != copy.packed_size:
            with appending(copy):
                pass
        if copy.map_is_behind:
            write_map(path, copy.frames)
        return copy._replace(
            size=copy.packed_size, map_is_right=copy.map_is_right or copy.map_is_behind, map_is_behind=False
        )

    def append(self, copy: KeptCopy) -> AbstractContextManager[Write]:
        """Write after the frames of a copy; an exception leaves it as it was."""
        return appending(copy)

    def create(self, path: str) -> AbstractContextManager[Write]:
        """Write the frames of a new file; an exception leaves nothing."""
        return new_file(path)

    def finish(self, path: str, frames: Sequence[ZstdFrame], appended: int) -> None:
        """Say which frames a file has now; `appended` are known to be new, or 0."""
        write_map(path, frames, appended=appended)

    def set_time(self, path: str, modified: int) -> None:
        """Say when the original was modified, in nanoseconds since 1970."""
        os.utime(path, ns=(modified, modified))

    def repack(self, path: str, generation: int) -> None:
        """Pack a quiet file anew if that makes it smaller."""
        copy = examine(path, generation)
        if copy.frames and copy.map_is_right and copy.size == copy.packed_size:
            with suppress(NotSmaller, BadFrame):
                repack(copy)

    def save(self) -> None:
        """Do nothing: what was finished is visible."""
