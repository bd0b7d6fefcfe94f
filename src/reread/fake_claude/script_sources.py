"""Archives: where recordings are found: captured conversations, streams that were printed to a file, transcripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from reread.base import jsontext
from reread.base.claude_argv import call_of
from reread.catalog.store import FOLDER, Store, StoredConversation
from reread.catalog.stored_line import NEWLINE, OUT, StoredLine
from reread.disk.layout import expand_path, transcripts_in
from reread.errors import NotFound
from reread.fake_claude.script import Frame, Recording, frame_of, frames_of, prompt_frame
from reread.records.dialects import stream_json

BEGINNING = datetime.min.replace(tzinfo=UTC)


def read_recordings(places: Sequence[str]) -> Iterator[Recording]:
    """What was recorded in files, folders and captured conversations; everything in the store where none is named."""
    if not places:
        yield from _of_store(Store())
    for place in places:
        path = expand_path(place)
        if os.path.isdir(path / FOLDER):
            yield from _of_store(Store(path))
        elif os.path.isdir(path):
            for file in transcripts_in(path):
                yield from _at(file)
        else:
            yield from _at(path if os.path.isfile(path) else place)


def _of_store(store: Store) -> Iterator[Recording]:
    """Everything in a store, in the order in which it was captured."""
    kept = [(kept.runs[0].started or BEGINNING, kept.id, kept) for kept in store.conversations() if kept.runs]
    for *_, conversation in sorted(kept, key=lambda item: item[:2]):
        yield from _of_kept(conversation)


def _at(place: Path | str) -> Iterator[Recording]:
    """What is there under a name or a path: a captured conversation, else a session."""
    kept = _kept(place)
    if kept is not None:
        return _of_kept(kept)
    from reread.session.session import open  # noqa: A004  # most recordings are captured, and do without all that it needs

    session = open(place)
    path = session.path or Path()
    if stream_json.NAME in session.dialects:
        return iter([Recording(str(path), path, load=partial(_stream, path))])
    return iter([Recording(session.id, path, load=partial(_transcript, path))])


def _kept(place: Path | str) -> StoredConversation | None:
    if isinstance(place, Path):
        return StoredConversation(place) if StoredConversation(place).is_captured else None
    try:
        return Store().open(place)
    except NotFound:
        return None


def _of_kept(kept: StoredConversation) -> Iterator[Recording]:
    """The runs of a captured conversation."""
    for number, run in enumerate(kept.runs):
        name = kept.id if number == 0 else f"{kept.id}:{number + 1}"
        started = run.started.timestamp() if run.started else None
        yield Recording(name, kept.path, number, partial(_run, kept, number), call_of(run.argv), run.exit_code, started)


def _run(kept: StoredConversation, number: int) -> Sequence[Frame]:
    return _runs(kept)[number]


@lru_cache(maxsize=1)
def _runs(kept: StoredConversation) -> list[list[Frame]]:
    """The lines of a captured conversation, run by run; its runs are asked for one after the other."""
    frames: list[list[Frame]] = [[] for _ in kept.runs]
    for entry in kept.entries():
        frames[entry.run - 1] += frames_of(entry.stream, entry.raw + entry.end, _seconds(entry))
    return frames


def _stream(path: Path) -> list[Frame]:
    """What was printed into a file."""
    with path.open("rb") as file:
        return [frame for line in file for frame in frames_of(OUT, line)]


def _transcript(path: Path) -> list[Frame]:
    """What the client wrote to disk, as if it had printed it: each prompt is answered by an `init` and a result."""
    from reread.recording.as_stream import as_stream
    from reread.session.session import open  # noqa: A004

    told = [frame_of(OUT, entry.raw + NEWLINE, _seconds(entry)) for entry in as_stream(open(path))]
    opening, frames, waits = told[0], list[Frame](), True
    for frame in told[1:]:
        if waits and frame.value.get("isReplay") and frame.value.get("parent_tool_use_id") is None:
            frames += [prompt_frame(frame.value.get("message"), frame.at), replace(opening, at=frame.at)]
            waits = False
        frames.append(_complete(frame) if frame.kind == "result" else frame)
        waits |= frame.kind == "result"
    return frames


def _complete(result: Frame) -> Frame:
    """A result with all that a reader of results asks for."""
    blank: dict[str, Any] = {"duration_api_ms": 0, "total_cost_usd": 0, "usage": {}, "permission_denials": []}
    return frame_of(OUT, jsontext.dumps({**blank, **result.value}) + NEWLINE, result.at)


def _seconds(entry: StoredLine) -> float | None:
    return entry.timestamp.timestamp() if entry.timestamp else None
