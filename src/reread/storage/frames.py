"""The zstd frames of a kept file, and the map beside it that tells where they are.

A kept file is nothing but frames, so `zstd -d` alone gives its bytes back. The map has a line for each frame; it can
be made again from the frames, and a map that does not fit is not used.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from reread.base.late_pattern import late_pattern
from reread.storage.read_at_file import ReadAt

FRAME_SIZE = 1 << 20
"""Raw bytes in a frame."""
LARGEST_FRAME = 1 << 27
"""A frame with more raw bytes is not read: reread writes none, and it could fill the memory."""
LARGEST_RATIO = 200
"""A frame of more than `FRAME_SIZE` may have so many raw bytes for each packed one. Sessions have about eight; what has
more was made to fill the memory, or to be read for hours."""
LARGEST_SURPRISE = 1 << 26
"""Raw bytes that a whole file may have whatever its ratio."""
MAGIC = b"\x28\xb5\x2f\xfd"
MAP_HEADING, STUB_HEADING = b"reread-map 1\n", b"reread-stub 1 "
LONGEST_LINE = 256
"""A line of a map is shorter than this."""

_SKIPPABLE = late_pattern(rb"[\x50-\x5f]\x2a\x4d\x18")
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3
"""Types of blocks: one byte that is repeated, and one that no file has."""
_LINE = late_pattern(rb"(0|[1-9]\d{0,18}) ([1-9]\d{0,18}) ([0-9a-f]{64}) ([0-9a-f]{64})\n")

_compressors = threading.local()
"""The compressor for each level; no two threads may use one at once."""


class Hash(Protocol):
    """A hash that more bytes can be fed to."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class BadFrame(ValueError):
    """Bytes that are not a frame, or not one that can be read."""


class TornFrame(BadFrame):
    """A frame that ends too early."""


class TooLarge(Exception):
    """A file that unpacks to more than any session has."""


class ZstdFrame(NamedTuple):
    """Where a frame ends, and what the bytes up to there are."""

    raw_end: int
    packed_end: int
    prefix_hash: bytes
    """SHA-256 of all raw bytes up to the end of this frame."""
    packed_hash: bytes
    """SHA-256 of the frame itself."""

    def line(self) -> bytes:
        """Return the line of the map."""
        return b"%d %d %s %s\n" % (
            self.raw_end,
            self.packed_end,
            self.prefix_hash.hex().encode(),
            self.packed_hash.hex().encode(),
        )

    @classmethod
    def parse(cls, line: bytes) -> ZstdFrame | None:
        """Return the frame of a line; None if it is not exactly one that `line` returns."""
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        return cls(int(found[1]), int(found[2]), bytes.fromhex(found[3].decode()), bytes.fromhex(found[4].decode()))


class FrameShape(NamedTuple):
    """The header of a frame and those of its blocks."""

    packed_size: int
    raw_size: int | None
    """None if the header does not say."""


def pack(data: bytes, level: int) -> bytes:
    """Return a frame with its size and a checksum."""
    from reread.storage.zstd import CompressionParameter, ZstdCompressor

    options: dict[int, int] = {CompressionParameter.compression_level: level, CompressionParameter.checksum_flag: 1}
    if not hasattr(_compressors, str(level)):  # making one takes as long as packing half a megabyte
        setattr(_compressors, str(level), ZstdCompressor(options=options))
    compressor: ZstdCompressor = getattr(_compressors, str(level))
    return compressor.compress(data, mode=ZstdCompressor.FLUSH_FRAME)


def largest_raw(packed: int, least: int = LARGEST_SURPRISE) -> int:
    """Return how many raw bytes so many packed ones may have."""
    return max(least, LARGEST_RATIO * packed)


def unpack(frame: bytes, most: int | None = None) -> bytes:
    """Return the raw bytes of a frame, at most so many; raise BadFrame if it is damaged or too large."""
    from reread.storage.zstd import ZstdDecompressor, ZstdError

    if _SKIPPABLE.match(frame):
        return b""
    most = min(LARGEST_FRAME, max(1, most)) if most is not None else LARGEST_FRAME
    decompressor = ZstdDecompressor()
    try:
        data = decompressor.decompress(frame, most)
        if not decompressor.eof and decompressor.decompress(b"", 1):
            raise BadFrame(f"a frame of {len(frame):,} bytes has more than {most:,}")
    except ZstdError as error:
        raise BadFrame(str(error)) from error
    if not decompressor.eof or decompressor.unused_data:
        raise TornFrame("a frame ends too early")
    return data


def unpack_session(frame: bytes) -> bytes:
    """Return the raw bytes of a frame of a kept file; raise BadFrame also if it has more than any that was kept."""
    return unpack(frame, largest_raw(len(frame), FRAME_SIZE))


def measure_frame(read: ReadAt, offset: int) -> FrameShape | None:
    """Return the sizes of the frame at an offset; None at the end of the file."""
    # The library tells where a frame ends only by unpacking it. The headers tell it, too (RFC 8878, 3.1.1), so the
    # frames of a file that has lost its map are found without unpacking them.
    head = read(offset, 18)
    if not head:
        return None
    if len(head) >= 8 and _SKIPPABLE.match(head):
        size = 8 + int.from_bytes(head[4:8], "little")
        if size > 8 and not read(offset + size - 1, 1):
            raise TornFrame("a frame ends too early")
        return FrameShape(size, 0)
    if head[:4] != MAGIC[: len(head)]:
        raise BadFrame("bytes that are no frame")
    if len(head) < 6:
        raise TornFrame("a frame ends too early")
    descriptor = head[4]
    if descriptor & 0b0001_1000:
        raise BadFrame("a frame of another kind")
    single = bool(descriptor & 0b0010_0000)
    dictionary = _DICTIONARY_BYTES[descriptor & 3]
    size_bytes = _SIZE_BYTES[descriptor >> 6] or (1 if single else 0)
    at = 5 + (0 if single else 1) + dictionary
    if len(head) < at + size_bytes:
        raise TornFrame("a frame ends too early")
    raw_size = int.from_bytes(head[at : at + size_bytes], "little") + (256 if size_bytes == 2 else 0)
    if size_bytes and raw_size > LARGEST_FRAME:
        raise BadFrame(f"a frame has more than {LARGEST_FRAME >> 20} MB")
    end = _blocks_end(read, offset + at + size_bytes) + (4 if descriptor & 4 else 0)
    if not read(end - 1, 1):
        raise TornFrame("a frame ends too early")
    return FrameShape(end - offset, raw_size if size_bytes else None)


def _blocks_end(read: ReadAt, at: int) -> int:
    """Return where the blocks end that begin at an offset."""
    while True:
        head = read(at, 3)
        if len(head) < 3:
            raise TornFrame("a frame ends too early")
        value = int.from_bytes(head, "little")  # 1 bit: the last block; 2 bits: its type; 21 bits: its size
        kind = value >> 1 & 3
        if kind == _RESERVED:
            raise BadFrame("a block of another kind")
        at += 3 + (1 if kind == _RLE else value >> 3)  # of a repeated byte, the size is how often
        if value & 1:
            return at


class FrameMap:
    """Where each frame of a file begins and ends, raw and packed."""

    def __init__(self, raw_ends: list[int], packed_ends: list[int]) -> None:
        self.raw_ends = raw_ends
        self.packed_ends = packed_ends

    @property
    def raw_size(self) -> int:
        """Number of raw bytes."""
        return self.raw_ends[-1] if self.raw_ends else 0

    @property
    def packed_size(self) -> int:
        """Number of bytes in the frames."""
        return self.packed_ends[-1] if self.packed_ends else 0

    def frame_at(self, offset: int) -> int:
        """Return the index of the frame that contains a raw offset."""
        return bisect_right(self.raw_ends, offset)

    def packed_range(self, index: int) -> tuple[int, int]:
        """Return where a frame begins and ends in the file."""
        return (self.packed_ends[index - 1] if index else 0), self.packed_ends[index]

    def raw_start(self, index: int) -> int:
        """Return the raw offset at which a frame begins."""
        return self.raw_ends[index - 1] if index else 0

    def extend(self, read: ReadAt, size: int) -> None:
        """Add the whole frames that follow; stop at the end, or at the first bytes that are not a whole frame.

        Raise TooLarge if a file of this size has more raw bytes than it may.
        """
        most = largest_raw(size)
        while self.raw_size <= most:
            try:
                shape = measure_frame(read, self.packed_size)
                if shape is None:
                    return
                raw = shape.raw_size
                if raw is None:
                    raw = len(unpack_session(read(self.packed_size, shape.packed_size)))
            except BadFrame:
                return
            self.raw_ends.append(self.raw_size + raw)
            self.packed_ends.append(self.packed_size + shape.packed_size)
        raise TooLarge(f"{size:,} bytes unpack to more than {most:,}")


def parse_map(data: bytes) -> list[ZstdFrame] | None:
    """Return the frames of a map; None if it is not whole. A last line that is cut off does not count."""
    if not data.startswith(MAP_HEADING):
        return None
    frames: list[ZstdFrame] = []
    raw = packed = 0
    for line in data[len(MAP_HEADING) :].splitlines(keepends=True):
        frame = ZstdFrame.parse(line)
        if frame is None:
            return frames if not line.endswith(b"\n") else None
        if frame.raw_end < raw or frame.packed_end <= packed:
            return None
        raw, packed = frame.raw_end, frame.packed_end
        frames.append(frame)
    return frames


def map_bytes(frames: Iterable[ZstdFrame]) -> bytes:
    """Return the content of a map."""
    return MAP_HEADING + b"".join(frame.line() for frame in frames)


def last_frame(read: ReadAt, size: int) -> ZstdFrame | None:
    """Return the frame of the last line of a map with this many bytes; None if it has none."""
    lines = read(max(0, size - LONGEST_LINE), LONGEST_LINE).split(b"\n")
    return ZstdFrame.parse(lines[-2] + b"\n") if len(lines) > 1 and not lines[-1] else None


class FrameBuilder:
    """Makes frames of raw bytes, and knows the hash of all bytes so far."""

    def __init__(self, level: int, frames: Iterable[ZstdFrame] = (), prefix: Hash | None = None) -> None:
        """Begin after some frames; `prefix` has hashed their raw bytes."""
        from hashlib import sha256  # loaded late: it loads OpenSSL

        self.frames: list[ZstdFrame] = list(frames)
        self.prefix: Hash = prefix if prefix is not None else sha256()
        self._level = level

    @property
    def raw_size(self) -> int:
        """Number of raw bytes so far."""
        return self.frames[-1].raw_end if self.frames else 0

    @property
    def packed_size(self) -> int:
        """Number of packed bytes so far."""
        return self.frames[-1].packed_end if self.frames else 0

    def add(self, data: bytes) -> bytes:
        """Return a new frame with these bytes."""
        packed = pack(data, self._level)
        self.note(data, packed)
        return packed

    def note(self, data: bytes, packed: bytes) -> None:
        """Count a frame that exists already."""
        from hashlib import sha256  # loaded late: it loads OpenSSL

        self.prefix.update(data)
        self.frames.append(
            ZstdFrame(
                self.raw_size + len(data),
                self.packed_size + len(packed),
                self.prefix.digest(),
                sha256(packed).digest(),
            )
        )


def read_frames(read: ReadAt, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the raw and the packed bytes of each frame of a file with this many bytes; raise BadFrame for others.

    All together may be larger than what is read as a session: whoever keeps something gets it back.
    """
    at = 0
    while at < size:
        shape = measure_frame(read, at)
        if shape is None:
            raise TornFrame("the file ends too early")
        packed = read(at, shape.packed_size)
        yield unpack_session(packed), packed
        at += shape.packed_size
