"""Read a captured conversation: its runs, its sessions and every line."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reread.base import jsontext
from reread.catalog.stored_line import OUT, START, CaptureRun, RunMarker, StoredLine, decode_line
from reread.disk import layout
from reread.disk.filenames import id_from_filename
from reread.disk.transcript_file import open_transcript
from reread.errors import Unreadable

CHUNK = 1 << 20
RUN_FIELD = b'"run":{'


class StoredConversation:
    """A captured conversation on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._scanned: tuple[int, _Contents] | None = None
        """The size of the file when it was scanned, and what it contained."""

    @property
    def id(self) -> str:
        """The conversation's id."""
        name = self.path.stem
        return _id_or(id_from_filename(name), lambda: self._first_line().conversation_id or name)

    @property
    def agent(self) -> str:
        """The agent it belongs to."""
        name = self.path.parent.name
        return _id_or(id_from_filename(name), lambda: self._first_line().agent_id or name)

    @property
    def workspace(self) -> str:
        """The workspace it belongs to."""
        name = self.path.parent.parent.name
        return _id_or(id_from_filename(name), lambda: next((run.workspace for run in self.runs if run.workspace), name))

    @property
    def root(self) -> Path | None:
        """The folder of its store; None if the file is not in one."""
        folders = self.path.absolute().parents
        return folders[3] if len(folders) > 3 and folders[2].name == layout.CONVERSATIONS else None

    @property
    def is_captured(self) -> bool:
        """True if the file starts with a line of a captured conversation."""
        return decode_line(next(self._raw_lines(), b"")) is not None

    @property
    def title(self) -> str | None:
        """The title given last, if any."""
        return next((run.title for run in reversed(self.runs) if run.title), None)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the Claude Code sessions in it, in order, without repeats."""
        return self._contents().session_ids

    @property
    def runs(self) -> list[CaptureRun]:
        """Its runs; a conversation written by another program has one, with only a start time."""
        return self._contents().runs

    def lines(self) -> Iterator[StoredLine]:
        """Yield every captured line in order, reading the file as it goes; damaged lines are skipped."""
        run = 0
        for raw in self._raw_lines():
            line = decode_line(raw, max(run, 1))
            if isinstance(line, RunMarker):
                run += line.event == START
            elif line is not None:
                run = line.run
                yield line

    def _raw_lines(self) -> Iterator[bytes]:
        try:
            with io.BufferedReader(open_transcript(self.path), CHUNK) as file:
                yield from file
        except OSError as error:
            raise Unreadable.at(self.path, error) from error

    def _first_line(self) -> StoredLine:
        return next(self.lines(), StoredLine("", "", "", None, b""))

    def _contents(self) -> _Contents:
        """Return the runs and sessions, scanning the file again if it has grown."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise Unreadable.at(self.path, error) from error
        if self._scanned is None or self._scanned[0] != size:
            self._scanned = (size, _scan(self._raw_lines()))
        return self._scanned[1]

    def __repr__(self) -> str:
        return f"<StoredConversation {self.id} {self.path}>"


def _id_or(id: str | None, read: Callable[[], str]) -> str:
    """Return an id from a file name, or read it from the file if the name has only a hash of it."""
    return id if id is not None else read()


class _Contents(NamedTuple):
    """The runs and the session ids in a conversation's file."""

    runs: list[CaptureRun]
    session_ids: list[str]


def _scan(raw_lines: Iterable[bytes]) -> _Contents:
    """Find the runs and session ids in one pass."""
    runs: list[CaptureRun] = []
    session_ids: dict[str, None] = {}
    last_id: bytes | None = None
    for raw in raw_lines:
        if last_id is not None and last_id in raw and RUN_FIELD not in raw:
            continue  # decoding a line that names the same session again would find nothing new
        line = decode_line(raw)
        if isinstance(line, RunMarker):
            _apply(line, runs)
        elif line is not None:
            if not runs:
                runs.append(CaptureRun(started=line.timestamp))
            if session_id := _session_id(line):
                session_ids[session_id] = None
                last_id = session_id.encode("utf-8", "replace")
    return _Contents(runs, list(session_ids))


def _apply(marker: RunMarker, runs: list[CaptureRun]) -> None:
    """Add a run that starts, or complete the one that ends."""
    if marker.event == START:
        runs.append(
            CaptureRun(
                argv=marker.argv,
                cwd=marker.cwd,
                title=marker.title,
                started=marker.timestamp,
                workspace=marker.workspace,
                version=marker.version,
            )
        )
    elif runs:
        runs[-1].ended, runs[-1].exit_code = marker.timestamp, marker.exit_code


class _SessionFields(msgspec.Struct):
    """The fields of a message that name its session."""

    session_id: Any = None
    sessionId: Any = None


_decode_session = msgspec.json.Decoder(_SessionFields).decode


def _session_id(line: StoredLine) -> str | None:
    """Return the session id in a printed line."""
    if line.stream != OUT:
        return None
    try:
        fields = _decode_session(line.raw)
    except jsontext.DECODE_ERRORS:
        return None
    session_id = fields.session_id or fields.sessionId
    return session_id if isinstance(session_id, str) else None
