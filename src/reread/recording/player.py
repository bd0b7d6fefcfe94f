"""The player: captured conversations, and transcripts that never were, played back at the pace they came."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import tee
from pathlib import Path

import msgspec

from reread.base.text import plural
from reread.base.times import parse_time
from reread.catalog.store import StoredConversation, stores
from reread.catalog.stored_line import OUT, StoredLine
from reread.disk import layout
from reread.errors import Misuse, NotFound
from reread.recording.as_stream import as_stream
from reread.recording.recorder import Capture
from reread.session.session import Session
from reread.session.session import open as open_session

INSTANT = float("inf")
LATE = 1.0
"""Seconds that a replay may lag behind and still catch up; after a longer stop it goes on from there."""
_SPAN = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)(ms|s)?)?")

Bound = float | datetime
"""A place in a recording: seconds of its own time, or a moment."""


class PlaybackStep(msgspec.Struct, frozen=True):
    """When one line is played."""

    wait: float
    """Seconds after the line before it."""
    at: float
    """Seconds into the recording: its own time, without the pauses between runs."""


def playback_schedule(
    moments: Iterable[tuple[datetime | None, int]], *, speed: float = 1, max_gap: float | None = None
) -> Iterator[PlaybackStep]:
    """The clock of a replay: when each line is played, from when it came and in which run.

    A gap is cut to `max_gap` seconds and then divided by the speed. The time between runs is not waited for, and a
    clock that went backwards, or a line without a time, gives no gap.
    """
    before: datetime | None = None
    run, at = -1, 0.0
    for when, number in moments:
        gap = 0.0
        if when is not None:
            if before is not None and number == run:
                gap = max(0.0, (when - before).total_seconds())
            before = max(before, when) if before is not None and number == run else when
        at += gap
        run = number
        yield PlaybackStep((gap if max_gap is None else min(gap, max_gap)) / speed, at)


def replay(
    source: str | Path | StoredConversation | Capture | Session,
    *,
    speed: float = 1,
    max_gap: float | None = None,
    start: Bound | None = None,
    stop: Bound | None = None,
    run: int | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[StoredLine]:
    """What was printed, line by line, each when its time has come; `speed` of infinity plays it at once.

    `start` and `stop` choose a part: seconds into the recording, or moments. `run` is one run's number, from 1. A
    transcript that was never captured is played as the lines that its session would have printed.
    """
    if not speed > 0:
        raise Misuse("a speed is more than nothing: 1 is the recorded pace, 4 four times as fast")
    recording = find_recording(source, root=root)
    if run is not None:
        _check_run(recording, run)
    due = time.monotonic()
    began = False
    for entry, beat in _timed(_entries(recording), speed, max_gap):
        if run not in (None, entry.run) or _is_before(entry, beat, start):
            continue
        if stop is not None and not _is_before(entry, beat, stop):
            continue
        now = time.monotonic()
        due = max(due + beat.wait, now - LATE) if began else now
        began = True
        if due > now:
            sleep(due - now)
        yield entry


def _timed(
    entries: Iterable[StoredLine], speed: float, max_gap: float | None
) -> Iterator[tuple[StoredLine, PlaybackStep]]:
    mine, clocks = tee(entries)
    return zip(
        mine, playback_schedule(((it.timestamp, it.run) for it in clocks), speed=speed, max_gap=max_gap), strict=True
    )


def _is_before(entry: StoredLine, beat: PlaybackStep, bound: Bound | None) -> bool:
    if isinstance(bound, datetime):
        return entry.timestamp is not None and entry.timestamp < bound
    return bound is not None and beat.at < bound


def _entries(recording: StoredConversation | Session) -> Iterator[StoredLine]:
    if isinstance(recording, Session):
        return as_stream(recording)
    return (entry for entry in recording.entries() if entry.stream == OUT)


def _check_run(recording: StoredConversation | Session, run: int) -> None:
    count = len(recording.runs) if isinstance(recording, StoredConversation) else 1
    if not 0 < run <= count:
        raise Misuse(f"there is no run {run}: this conversation has {plural(count, 'run')}")


def find_recording(
    source: str | Path | StoredConversation | Capture | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> StoredConversation | Session:
    """What can be replayed under a name: a captured conversation, else a session."""
    if isinstance(source, Capture):
        source.wait()
        return source.kept
    if isinstance(source, StoredConversation | Session):
        return source
    path = layout.expand_path(source)
    if isinstance(source, Path) or os.path.isfile(path):
        kept = StoredConversation(path)
        return kept if os.path.isfile(path) and kept.is_captured else open_session(source, root=root)
    for store in stores(root):
        try:
            return store.open(source)
        except NotFound:
            continue
    return open_session(source, root=root)


def parse_span(text: str) -> float:
    """Seconds, from `2s`, `1m30s`, `500ms` or a number."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or not text.strip():
        raise Misuse(f"{text!r} is no span of time: say 2s, 500ms or 1m30s")
    hours, minutes, rest, unit = found.groups()
    return float(hours or 0) * 3600 + float(minutes or 0) * 60 + float(rest or 0) * (0.001 if unit == "ms" else 1)


def parse_bound(text: str) -> Bound:
    """A place in a recording: a span from its start, or a moment."""
    try:
        return parse_span(text)
    except Misuse:
        return parse_time(text)
