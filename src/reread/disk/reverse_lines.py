"""Read the lines of a file from the last to the first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reread.storage.kept_file import OpenFile, open_regular

CHUNK = 1 << 20


def lines_backwards(path: Path) -> Iterator[bytes]:
    """Yield the lines without their newline, the last first; the first item is what follows the last newline."""
    with open_regular(path) as file:
        yield from open_lines_backwards(file)


def open_lines_backwards(file: OpenFile, most: int | None = None) -> Iterator[bytes]:
    """Yield the lines of an open file, the last first, of the last `most` bytes only those that are whole."""
    end = file.seek(0, os.SEEK_END)
    stop = 0 if most is None else max(0, end - most)
    rest: list[bytes] = []  # the end of the chunk's last line, in pieces, the last piece first
    while end > stop:
        start = max(stop, end - CHUNK)
        file.seek(start)
        first, *lines = file.read(end - start).split(b"\n")
        if lines:
            rest.append(lines.pop())
            yield b"".join(reversed(rest))
            yield from reversed(lines)
            rest = []
        rest.append(first)
        end = start
    if stop == 0:
        yield b"".join(reversed(rest))
