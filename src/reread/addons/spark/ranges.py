"""Ranges of a transcript: a record belongs to the range in which its line begins, so ranges can be read apart."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path

from reread.accounting.digest import file_owner
from reread.base.times import month_of, timestamp_ms
from reread.dataset.freshness import path_text
from reread.dataset.transcripts import FileOrigin
from reread.disk.agent_files import agent_id
from reread.records.arrays import is_array
from reread.records.decode import Record, decode_lines
from reread.records.lines import LineSplitter, ReadAt

TASK_BYTES = 32 << 20
"""A task reads about this many raw bytes, or one larger file."""
CHUNK = 1 << 18
HEAD = 1 << 20
"""How many bytes are read to learn what the rows of a file share; 1 MB is one frame of a kept file."""
MOST_RANGES = 8
"""A task counts the line ends before its range, so a file has at most so many: then all tasks together read it 3.5
times for that, which takes less time than making its rows."""


def split_ranges(size: int, task_bytes: int) -> list[tuple[int, int]]:
    """Split a file of this size into ranges of about as many bytes as a task reads, all of one length."""
    count = max(1, min(MOST_RANGES, round(size / task_bytes)))
    edges = [size * number // count for number in range(count + 1)]
    return list(pairwise(edges))


def head_origin(path: Path, machine: str, read: ReadAt) -> FileOrigin | None:
    """Return what the rows of a file share if its first bytes tell; None if all of it has to be read.

    The result is that of `dataset.transcripts`, which asks the whole conversation.
    """
    head = read(0, HEAD)
    if is_array(head) is not False:
        return None
    agent, stem = file_owner(str(path))
    month = owner = None
    for line in BytesIO(head[: head.rfind(b"\n") + 1]):
        for record in decode_lines([line], [0], [0]):
            envelope = record.envelope
            month = month or month_of(timestamp_ms(envelope.timestamp))
            in_main_thread = not envelope.isSidechain and not envelope.parentToolUseID
            if owner is None and (agent is not None or (envelope.sessionId == stem and in_main_thread)):
                owner = envelope.sessionId
        if month is not None and owner is not None:
            own = agent_id(path) if agent is not None else None
            return FileOrigin(machine, month, path_text(str(path)), owner, own)
    return None


def range_records(read: ReadAt, start: int, end: int, *, numbered: bool = True) -> Iterator[Record]:
    """Yield the records whose lines begin in a range; unless `numbered`, their lines are counted from its start."""
    first = line_start(read, start, end)
    line = 1 + (_count_lines(read, first) if numbered else 0)
    for offset, lines in whole_lines(read, first, end):
        starts = accumulate(map(len, lines[:-1]), initial=offset)
        yield from decode_lines(lines, range(line, line + len(lines)), starts)
        line += len(lines)


def line_start(read: ReadAt, start: int, end: int) -> int:
    """Return where the first line begins that begins in a range; its end if none does."""
    at = start - 1
    while 0 <= at < end - 1:
        data = read(at, min(CHUNK, end - 1 - at))
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        if not data:
            break
        at += len(data)
    return 0 if start == 0 else end


def whole_lines(read: ReadAt, first: int, end: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines that begin before an offset, some at a time, with the offset of the first of them.

    The first begins at `first`. The last may be longer, and lacks its line end only at the end of the file.
    """
    splitter, offset, at = LineSplitter(), first, first
    while offset < end and (data := read(at, CHUNK)):
        at += len(data)
        lines = splitter.feed(data)
        if at > end:
            lines = _before(lines, end - offset)
        if lines:
            yield offset, lines
            offset += sum(map(len, lines))
    if offset < end and (tail := splitter.flush()):
        yield offset, [tail]


def _before(lines: list[bytes], length: int) -> list[bytes]:
    """Return the lines that begin within so many bytes of the first one's beginning."""
    starts = accumulate(map(len, lines), initial=0)
    return [line for line, start in zip(lines, starts, strict=False) if start < length]


def _count_lines(read: ReadAt, end: int) -> int:
    """Return the number of line ends before an offset."""
    count = at = 0
    while at < end and (data := read(at, min(HEAD, end - at))):
        count += data.count(b"\n")
        at += len(data)
    return count
