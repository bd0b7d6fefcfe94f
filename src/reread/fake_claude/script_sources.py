"""Find recordings: captured conversations, streams that were printed to a file, transcripts."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from reread.base import jsontext
from reread.base.claude_argv import find_invocation
from reread.catalog.store import SUFFIX, Store
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import NEWLINE, OUT, StoredLine
from reread.disk.layout import CONVERSATIONS, expand_path, transcripts_in
from reread.errors import NotFound
from reread.fake_claude.script import Frame, Recording, frame_of, frames_of, prompt_frame
from reread.records.dialects import stream_json
from reread.storage.kept_file import open_regular

UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)


def read_recordings(sources: Sequence[str], *, may_be_missing: bool = False) -> Iterator[Recording]:
    """Yield the recordings in files, folders and captured conversations; everything in the store if none is named.

    A file that lies in the store's folder itself is a recording, too, whatever wrote it; its name needs no suffix.
    """
    if not sources:
        yield from _from_store(Store())
    for source in sources:
        path = expand_path(source)
        if os.path.isdir(path / CONVERSATIONS):
            yield from _from_store(Store(path))
        elif os.path.isdir(path):
            for file in transcripts_in(path):
                yield from _from_source(file)
        elif os.path.isfile(path):
            yield from _from_source(path)
        else:
            yield from _from_name(source, may_be_missing=may_be_missing)


def _from_name(name: str, *, may_be_missing: bool) -> Iterator[Recording]:
    """Yield what has a name: a file in the store's folder, a captured conversation, a session."""
    store = Store()
    files = [file for file in _plain_files(store) if name in (file.name, file.stem)]
    for file in files:
        yield from _from_source(file)
    if files and not os.path.isfile(store.path_of(name)):
        return
    try:
        yield from _from_source(name)
    except NotFound as error:
        if may_be_missing:
            return
        known = sorted({*(file.stem for file in _plain_files(store)), *(one.id for one in store.conversations())})
        there = f"there are {', '.join(known)}" if known else "there are no recordings"
        close = get_close_matches(name, known, n=2)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        raise NotFound(f"No recording {name!r}; in {store.root} {there}.{meant}") from error


def _plain_files(store: Store) -> list[Path]:
    """Return the recordings that were put into the store's folder as they are, by name."""
    return sorted(file for file in store.root.glob(f"*{SUFFIX}") if os.path.isfile(file))


def _from_store(store: Store) -> Iterator[Recording]:
    """Yield everything in a store: plain files by name, then conversations in the order in which they were captured."""
    for file in _plain_files(store):
        yield from _from_source(file)
    started = [
        (stored.runs[0].started or UNKNOWN_TIME, stored.id, stored) for stored in store.conversations() if stored.runs
    ]
    for *_, stored in sorted(started, key=lambda item: item[:2]):
        yield from _from_conversation(stored)


def _from_source(source: Path | str) -> Iterator[Recording]:
    """Return the recordings in one source: a captured conversation, else a session."""
    stored = _find_conversation(source)
    if stored is not None:
        return _from_conversation(stored)
    from reread.session.session import open  # noqa: A004  # slow to import, and most recordings do not need it

    session = open(source)
    path = session.path or Path()
    if stream_json.NAME in session.dialects:
        return iter([Recording(str(path), path, load=partial(_load_stream, path))])
    return iter([Recording(session.id, path, load=partial(_load_transcript, path))])


def _find_conversation(source: Path | str) -> StoredConversation | None:
    if isinstance(source, Path):
        stored = StoredConversation(source)
        return stored if stored.is_captured else None
    try:
        return Store().open(source)
    except NotFound:
        return None


def _from_conversation(stored: StoredConversation) -> Iterator[Recording]:
    """Yield the runs of a captured conversation."""
    for number, run in enumerate(stored.runs):
        yield Recording(
            name=stored.id if number == 0 else f"{stored.id}:{number + 1}",
            source=stored.path,
            number=number,
            load=partial(_load_run, stored, number),
            invocation=find_invocation(run.argv),
            exit_code=run.exit_code,
            started=run.started.timestamp() if run.started else None,
        )


def _load_run(stored: StoredConversation, number: int) -> Sequence[Frame]:
    return _load_runs(stored)[number]


@lru_cache(maxsize=1)
def _load_runs(stored: StoredConversation) -> list[list[Frame]]:
    """Read the lines of a captured conversation, run by run; its runs are loaded one after the other."""
    frames: list[list[Frame]] = [[] for _ in stored.runs]
    for line in stored.lines():
        frames[line.run - 1] += frames_of(line.stream, line.raw + line.end, _seconds(line))
    return frames


def _load_stream(path: Path) -> list[Frame]:
    """Read a stream that was printed into a file."""
    with io.BufferedReader(open_regular(path)) as file:
        return [frame for line in file for frame in frames_of(OUT, line)]


def _load_transcript(path: Path) -> list[Frame]:
    """Read a transcript as if it had been printed: each prompt is followed by an `init` and ends with a result."""
    from reread.recording.as_stream import as_stream
    from reread.session.session import open  # noqa: A004

    init, *printed = [frame_of(OUT, line.raw + NEWLINE, _seconds(line)) for line in as_stream(open(path))]
    frames, expects_prompt = list[Frame](), True
    for frame in printed:
        if expects_prompt and frame.value.get("isReplay") and frame.value.get("parent_tool_use_id") is None:
            frames += [prompt_frame(frame.value.get("message"), frame.at), replace(init, at=frame.at)]
            expects_prompt = False
        frames.append(_complete(frame) if frame.kind == "result" else frame)
        expects_prompt |= frame.kind == "result"
    return frames


def _complete(result: Frame) -> Frame:
    """Add the fields that readers of results expect."""
    defaults: dict[str, Any] = {"duration_api_ms": 0, "total_cost_usd": 0, "usage": {}, "permission_denials": []}
    return frame_of(OUT, jsontext.dumps({**defaults, **result.value}) + NEWLINE, result.at)


def _seconds(line: StoredLine) -> float | None:
    return line.timestamp.timestamp() if line.timestamp else None
