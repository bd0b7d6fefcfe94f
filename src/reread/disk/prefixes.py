"""Which files begin with what other files have: all bytes are compared, once for each state of both.

What was found is remembered in memory, and on disk as soon as finding it again would take a while.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.storage.atomic import write_atomic
from reread.storage.file_times import is_settled
from reread.storage.frames import FRAME_SIZE, ZstdFrame, parse_map
from reread.storage.kept_file import SUFFIX, read_map_file, read_stub
from reread.storage.safe_open import OpenFile, make_own_folder, open_regular, read_own
from reread.storage.user_paths import cache_folder

NAME, FORMAT = "prefixes", 1
REMEMBERED = 1 << 14
"""Comparisons that are remembered; the oldest are forgotten."""
LARGEST = 1 << 22
"""Bytes that the file of all that is remembered may have."""
WORTH_SAVING = 1 << 22
"""Bytes that were read since the last time: so many are not read again."""
OPENING = 1 << 16
"""Bytes that are read in the time that opening two files takes."""

Status = tuple[int, ...]


class SavedPrefixes(msgspec.Struct, frozen=True, array_like=True):
    """The values remembered on disk."""

    format: int
    found: dict[bytes, bool]


class Prefixes:
    """Whether files begin with others, as far as it was found out before."""

    def __init__(self) -> None:
        self._found: dict[bytes, bool] = {}
        self._loaded: Path | None = None
        """The file that was read."""
        self._read = 0
        """Bytes that were read since the last time that something was saved."""
        self._lock = threading.Lock()

    def begins_with(self, path: str, now: os.stat_result, other: str, then: Status) -> bool:
        """True if a file, with this status, begins with all that another has; `then` is what changes with that one."""
        from hashlib import blake2b  # loaded late: it loads OpenSSL

        times = now.st_mtime_ns, now.st_ctime_ns
        shown = (os.fsencode(path), now.st_dev, now.st_ino, now.st_size, *times, os.fsencode(other), *then)
        key = blake2b(repr(shown).encode(), digest_size=16).digest()
        if key not in self._found:
            self._load()
        found = self._found.get(key)
        if found is None:
            try:
                found = self._compare(path, now.st_size, other)
            except OSError:  # it is damaged: what can be read of it is read
                return False
            if is_settled(max(times)):
                self._remember({key: found})
        return found

    def _compare(self, path: str, size: int, other: str) -> bool:
        frames = _frames(other) if other.endswith(SUFFIX) else None
        self._read += OPENING
        with closing(open_regular(path)) as file:
            if frames:  # their hashes say what the bytes are, so that nothing is unpacked or fetched
                return frames[-1].raw_end <= size and self._matches(file, frames)
            with closing(open_regular(other)) as kept:
                return self._is_prefix(file, kept)

    def _matches(self, file: OpenFile, frames: list[ZstdFrame]) -> bool:
        from hashlib import sha256  # loaded late: it loads OpenSSL

        found, at = sha256(), 0
        for frame in frames:
            while at < frame.raw_end and (data := file.read(min(FRAME_SIZE, frame.raw_end - at))):
                found.update(data)
                at += len(data)
                self._read += len(data)
            if found.digest() != frame.prefix_hash:
                return False
        return True

    def _is_prefix(self, file: OpenFile, kept: OpenFile) -> bool:
        while data := kept.read(FRAME_SIZE):
            self._read += len(data)
            if file.read(len(data)) != data:
                return False
        return True

    def _remember(self, found: dict[bytes, bool]) -> None:
        self._found |= found
        while len(self._found) > REMEMBERED:
            with suppress(KeyError, StopIteration, RuntimeError):  # another thread was faster
                del self._found[next(iter(self._found))]

    def _load(self) -> None:
        path = cache_folder() / NAME
        if self._loaded == path:
            return
        self._loaded = path
        with suppress(OSError, *jsontext.DECODE_ERRORS):
            saved = msgspec.msgpack.decode(read_own(path, LARGEST), type=SavedPrefixes)
            self._remember(saved.found if saved.format == FORMAT else {})

    def save(self) -> None:
        """Save what was found, if it would take a while to find it again."""
        if self._read < WORTH_SAVING or not self._lock.acquire(blocking=False):
            return
        try:
            self._read = 0
            with suppress(OSError):  # without it, files are compared again
                make_own_folder(cache_folder())
                saved = SavedPrefixes(FORMAT, dict(self._found))
                write_atomic(cache_folder() / NAME, [msgspec.msgpack.encode(saved)], follow=False)
        finally:
            self._lock.release()


def _frames(kept: str) -> list[ZstdFrame] | None:
    """Return the frames of a kept file by its map; None if that is missing or does not fit."""
    data = read_map_file(kept)
    frames = parse_map(data) if data is not None else None
    is_whole = frames and (frames[-1].packed_end == os.lstat(kept).st_size or read_stub(kept) is not None)
    return frames if is_whole else None
