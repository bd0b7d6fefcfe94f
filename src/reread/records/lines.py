"""Split bytes into lines at newline bytes, and read the lines of a source on demand."""

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
"""Reads `length` bytes at `offset` from any source."""


class Line(msgspec.Struct, frozen=True):
    """One physical line, with its line end."""

    number: int
    offset: int
    raw: bytes


class LineSplitter:
    """Split a stream of chunks into lines, line ends included.

    With `max_length`, a line that grows longer than that is returned in pieces, so that memory stays bounded.
    """

    def __init__(self, max_length: int | None = None) -> None:
        self._max_length = max_length
        self._pending: list[bytes] = []
        self._pending_size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes."""
        if not data:
            return []
        lines = BytesIO(data).readlines()  # cuts at newline bytes alone, and twice as fast as bytes.split
        rest = lines.pop() if data[-1] != NEWLINE else b""
        if lines and self._pending:
            lines[0] = b"".join((*self._pending, lines[0]))
            self._pending, self._pending_size = [], 0
        if rest:
            self._pending.append(rest)
            self._pending_size += len(rest)
            if self._max_length is not None and self._pending_size > self._max_length:
                lines.append(self.flush())
        return lines

    def flush(self) -> bytes:
        """Return the bytes after the last line end, as a last line without one."""
        tail = b"".join(self._pending)
        self._pending, self._pending_size = [], 0
        return tail


class IndexedLineSplitter(LineSplitter):
    """A line splitter that records the offset of each line."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: array[int] = array("Q")
        """The offset of each line returned so far."""
        self.offset: int = 0
        """The offset of the pending line."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes."""
        lines = super().feed(data)
        if lines:
            *starts, self.offset = accumulate(map(len, lines), initial=self.offset)
            self.starts.extend(starts)
        return lines

    @property
    def is_at_line_start(self) -> bool:
        """True if no line is pending."""
        return not self._pending

    def line_at(self, offset: int) -> int:
        """Return the number of the line that contains an offset; the pending line counts."""
        return bisect_right(self.starts, offset) + (offset >= self.offset)

    def flush(self) -> bytes:
        """Return the bytes after the last line end, as a last line without one."""
        tail = super().flush()
        if tail:
            self.starts.append(self.offset)
            self.offset += len(tail)
        return tail


class Lines(Sequence[Line]):
    """The lines of one source, read on demand."""

    def __init__(self, starts: Callable[[], array[int]], end: Callable[[], int], read: ReadAt) -> None:
        self._starts = starts
        self._end = end
        self._read = read

    def count_within(self, size: int) -> int:
        """Return how many whole lines the first `size` bytes contain."""
        return len(self) if self._end() <= size else max(0, bisect_right(self._starts(), size) - 1)

    def __len__(self) -> int:
        return len(self._starts())

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        starts = self._starts()
        index = range(len(starts))[index]
        start = starts[index]
        stop = starts[index + 1] if index + 1 < len(starts) else self._end()
        return Line(index + 1, start, self._read(start, stop - start))

    def __iter__(self) -> Iterator[Line]:
        for n in range(len(self)):
            yield self[n]
