"""Read the lines of a file from the last to the first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reread.disk.regular import open_regular

CHUNK = 1 << 20


def lines_backwards(path: Path) -> Iterator[bytes]:
    """Yield the lines without their newline, the last first; the first item is what follows the last newline."""
    with open_regular(path) as file:
        end = file.seek(0, os.SEEK_END)
        rest: list[bytes] = []  # the end of the chunk's last line, in pieces, the last piece first
        while end > 0:
            start = max(0, end - CHUNK)
            file.seek(start)
            first, *lines = file.read(end - start).split(b"\n")
            if lines:
                rest.append(lines.pop())
                yield b"".join(reversed(rest))
                yield from reversed(lines)
                rest = []
            rest.append(first)
            end = start
        yield b"".join(reversed(rest))
