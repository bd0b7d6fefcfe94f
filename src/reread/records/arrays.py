"""Split a JSON array that arrives in chunks into its elements."""

from __future__ import annotations

import re
from collections.abc import Callable

from reread.base.jsontext import ValueScanner

BOM = b"\xef\xbb\xbf"

_FIRST_CHARACTERS = b'{["-0123456789tfn]'
"""The characters after the opening bracket of an array; a log line that starts with a bracket has other characters."""
_ELEMENT = re.compile(r"[^ \t\r\n,]")
_SCALAR_END = re.compile(r"[,\[\]{}]")


def is_array(data: bytes) -> bool | None:
    """True if a file that starts with these bytes is a JSON array; None if that takes more bytes to tell."""
    start = data.removeprefix(BOM).lstrip()
    if not start:
        return None
    if start[:1] != b"[":
        return None if BOM.startswith(data) else False
    first = start[1:].lstrip()[:1]
    return first in _FIRST_CHARACTERS if first else None


class ArraySplitter:
    """Splits a stream of chunks into the elements of one array; reads each byte once."""

    def __init__(self) -> None:
        self._offset = 0
        """Offset of the next chunk."""
        self._is_open = False
        self._start = 0
        """Offset of the current element."""
        self._pieces: list[str] = []
        """The current element so far, as Latin-1, so that positions are offsets."""
        self._find_end: Callable[[str, int], int] | None = None
        """Finds the end of the current element in the next piece, or returns -1; None between elements."""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the elements that `data` completes, each with its offset."""
        out: list[tuple[int, bytes]] = []
        text, at = data.decode("latin-1"), 0
        if not self._is_open:
            at, self._is_open = text.index("[") + 1, True
        while at < len(text):
            if self._find_end is None:
                at = self._begin_element(text, at)
                continue
            end = self._find_end(text, at)
            self._pieces.append(text[at:end] if end >= 0 else text[at:])
            if end < 0:
                break
            out += self.flush()
            at = end
        self._offset += len(text)
        return out

    def flush(self) -> list[tuple[int, bytes]]:
        """Return the current element, complete or not; empty between elements."""
        element = "".join(self._pieces).encode("latin-1")
        self._pieces.clear()
        self._find_end = None
        return [(self._start, element)] if element else []

    def _begin_element(self, text: str, at: int) -> int:
        """Find the next element and return where to continue."""
        found = _ELEMENT.search(text, at)
        if found is None:
            return len(text)
        at = found.start()
        if text[at] == "]":
            return at + 1
        self._start = self._offset + at
        if text[at] in '{["':
            self._find_end = ValueScanner().find_end
            return at
        self._find_end = _find_scalar_end
        self._pieces.append(text[at])
        return at + 1


def _find_scalar_end(text: str, at: int) -> int:
    found = _SCALAR_END.search(text, at)
    return found.start() if found else -1
