"""Bytes to lines: a line ends with a newline byte and nothing else; what has no end yet stays pending."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from typing import overload

import msgspec

NEWLINE = 0x0A
ReadAt = Callable[[int, int], bytes]
"""Reads `length` bytes at `offset`, wherever the bytes live."""


class Line(msgspec.Struct, frozen=True):
    """One physical line, exactly as it stands, its line end included."""

    number: int
    offset: int
    raw: bytes


class LineSplitter:
    """Cuts a stream of chunks into lines, line ends included; knows where each began."""

    def __init__(self, offset: int = 0) -> None:
        self.starts = array("Q")
        """The offset of each line given out so far."""
        self.offset = offset
        """Where the pending line begins."""
        self._pending: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes."""
        if b"\n" not in data:
            if data:
                self._pending.append(data)
            return []
        buffer = BytesIO(data)  # cuts at newline bytes alone, and twice as fast as bytes.split
        self._pending.append(buffer.readline())
        lines = [b"".join(self._pending), *buffer.readlines()]
        self._pending.clear()
        if data[-1] != NEWLINE:
            self._pending.append(lines.pop())
        *starts, self.offset = accumulate(map(len, lines), initial=self.offset)
        self.starts.extend(starts)
        return lines

    def line_at(self, offset: int) -> int:
        """The number of the line that an offset stands in; the pending line counts."""
        return bisect_right(self.starts, offset) + (offset >= self.offset)

    def flush(self) -> bytes:
        """The pending bytes, given out as a last line without end."""
        tail = b"".join(self._pending)
        self._pending.clear()
        if tail:
            self.starts.append(self.offset)
            self.offset += len(tail)
        return tail


class Lines(Sequence[Line]):
    """The lines of one source, read when asked."""

    def __init__(self, starts: array[int], end: Callable[[], int], read: ReadAt) -> None:
        self._starts = starts
        self._end = end
        self._read = read

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start = self._starts[index]
        stop = self._starts[index + 1] if index + 1 < len(self) else self._end()
        return Line(index + 1, start, self._read(start, stop - start))

    def __iter__(self) -> Iterator[Line]:
        for n in range(len(self)):
            yield self[n]
