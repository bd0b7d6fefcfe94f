"""Replay captured conversations, and sessions that were never captured, at the recorded pace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import tee
from pathlib import Path
from typing import IO

import msgspec

from reread.base.format import duration_text
from reread.base.text import plural
from reread.base.times import LONGEST_WAIT
from reread.catalog.resolve import require_whole
from reread.catalog.store import stores
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import OUT, StoredLine
from reread.disk import layout
from reread.errors import Misuse, NotFound
from reread.recording.as_stream import as_stream
from reread.recording.recorder import Capture
from reread.session.session import Session, open_whole

INSTANT = float("inf")
MAX_LAG = 1.0
"""Seconds that a replay may be late and still catch up; after a longer stop it continues from there."""

Position = float | datetime
"""A position in a recording: seconds from its start, or a point in time."""


class PlaybackStep(msgspec.Struct, frozen=True):
    """When one line is played."""

    wait: float
    """Seconds after the previous line."""
    elapsed: float
    """Seconds from the start of the recording at the recorded pace, without the time between runs."""


def playback_schedule(
    times: Iterable[tuple[datetime | None, int]], *, speed: float = 1, max_gap: float | None = None
) -> Iterator[PlaybackStep]:
    """Compute when each line is played, from its time and the number of its run.

    A gap is cut to `max_gap` seconds and then divided by the speed. There is no gap between runs, after a clock that
    went backwards, or before a line without a time.
    """
    latest: datetime | None = None
    run, elapsed = -1, 0.0
    for timestamp, number in times:
        gap = 0.0
        if timestamp is not None:
            if latest is not None and number == run:
                gap = max(0.0, (timestamp - latest).total_seconds())
            latest = max(latest, timestamp) if latest is not None and number == run else timestamp
        elapsed += gap
        run = number
        yield PlaybackStep((gap if max_gap is None else min(gap, max_gap)) / speed, elapsed)


def replay(
    source: str | os.PathLike[str] | bytes | IO[bytes] | StoredConversation | Capture | Session,
    *,
    speed: float = 1,
    max_gap: float | None = None,
    start: Position | None = None,
    stop: Position | None = None,
    run: int | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[StoredLine]:
    """Yield the printed lines, each when its time has come; a `speed` of infinity does not wait.

    `start` and `stop` choose a part: seconds into the recording, or points in time. `run` is the number of one run,
    from 1. A pause is at most `max_gap` seconds of the recording; `sleep` is what waits. Raises Misuse if no line lies
    in that part. A session that was never captured is replayed as the lines that Claude Code would have printed.
    """
    if not speed > 0:
        raise Misuse("--speed must be greater than 0.")
    recording = find_recording(source, root=root)
    if run is not None:
        _check_run(recording, run)
    due = time.monotonic()
    started, length = False, None
    for line, step in _with_steps(_printed_lines(recording), speed, max_gap):
        length = step.elapsed
        if run not in (None, line.run) or _is_before(line, step, start):
            continue
        if stop is not None and not _is_before(line, step, stop):
            continue
        now = time.monotonic()
        due = max(due + step.wait, now - MAX_LAG) if started else now
        started = True
        if due > now:
            sleep(min(due - now, LONGEST_WAIT))
        yield line
    if not started and length is not None and (start is not None or stop is not None):
        raise Misuse(f"No line lies in that part; the recording takes {duration_text(length)}.")


def _with_steps(
    lines: Iterable[StoredLine], speed: float, max_gap: float | None
) -> Iterator[tuple[StoredLine, PlaybackStep]]:
    lines, timed = tee(lines)
    steps = playback_schedule(((line.timestamp, line.run) for line in timed), speed=speed, max_gap=max_gap)
    return zip(lines, steps, strict=True)


def _is_before(line: StoredLine, step: PlaybackStep, position: Position | None) -> bool:
    if isinstance(position, datetime):
        return line.timestamp is not None and line.timestamp < position
    return position is not None and step.elapsed < position


def _printed_lines(recording: StoredConversation | Session) -> Iterator[StoredLine]:
    if isinstance(recording, Session):
        return as_stream(recording)
    return (line for line in recording.lines() if line.stream == OUT)


def _check_run(recording: StoredConversation | Session, run: int) -> None:
    count = len(recording.runs) if isinstance(recording, StoredConversation) else 1
    if not 0 < run <= count:
        raise Misuse(f"No run {run}; this conversation has {plural(count, 'run')}.")


def find_recording(
    source: str | os.PathLike[str] | bytes | IO[bytes] | StoredConversation | Capture | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> StoredConversation | Session:
    """Find what to replay: a captured conversation, else a session."""
    if isinstance(source, Capture):
        source.wait()
        return source.stored
    if isinstance(source, StoredConversation):
        return source
    if isinstance(source, Session) or not isinstance(source, str | os.PathLike):
        return _open_whole(source, root)
    path = layout.expand_path(source if isinstance(source, str) else Path(source))
    if not isinstance(source, str) or os.path.isfile(path):
        stored = StoredConversation(path)
        return stored if os.path.isfile(path) and stored.is_captured else _open_whole(source, root)
    for store in stores(root):
        try:
            return store.open(source)
        except NotFound:
            continue
    return _open_whole(source, root)


def _open_whole(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session, root: str | Path | Sequence[str | Path] | None
) -> Session:
    session = open_whole(source, root=root)
    require_whole(session.at)
    return session
