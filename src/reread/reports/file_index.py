"""Which sessions changed which files, and which lines of them, from the catalogue if their files have not changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.base import jsontext
from reread.base.paths import comparable_path
from reread.base.text import as_title
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, DerivedValues, encoded
from reread.disk.layout import expand_path, jsonl_files
from reread.disk.states import one_moment
from reread.errors import RereadError
from reread.history.changes import CHANGING
from reread.history.line_trace import TracedVersion, trace_lines
from reread.history.paths import path_ends_with
from reread.history.versions import FileVersion
from reread.records.dialects import codex
from reread.session.session import Session
from reread.session.session_pass import FILES, SessionPass, newest_first

Progress = Callable[[int], None]
"""Called with the number of sessions that were looked at."""
PATHS, TRACES, FORMAT = "file_paths", "file_traces", 3
"""The tables of the catalogue; change the format when values would be found differently now."""
PROMPT_LENGTH = 120


class SessionFiles(msgspec.Struct, array_like=True):
    """The files that a session changed."""

    state: bytes
    """A hash of the state of the session's files."""
    paths: list[str]


class FileIndex(NamedTuple):
    """The changes that sessions made to files."""

    paths: dict[str, list[str]]
    """The paths of files that each session changed, by the session's path."""
    values: DerivedValues
    derive: Callable[[str], bytes]
    """Reads a session again, and returns what `values` should have of it."""

    def sessions_of(self, test: Callable[[str], bool]) -> Iterator[str]:
        """Yield the sessions that changed a file whose path passes a test."""
        yield from (session for session, paths in self.paths.items() if any(map(test, paths)))

    def has(self, path: str) -> bool:
        """True if a session changed this file."""
        wanted = comparable_path(path)
        return any(self.sessions_of(lambda other: comparable_path(other) == wanted))

    def traces_of(self, path: str) -> list[tuple[str, Sequence[TracedVersion]]]:
        """Return the versions of a file in each session that changed it."""
        wanted = comparable_path(path)
        sessions = list(self.sessions_of(lambda other: comparable_path(other) == wanted))
        stored = self.values.values(sessions)
        out: list[tuple[str, Sequence[TracedVersion]]] = []
        for session in sessions:
            for value in (stored.get(session), None):
                with suppress(*jsontext.DECODE_ERRORS):
                    files = decode_files(self.derive(session) if value is None else value)
                    own = [raw for name, raw in files.items() if comparable_path(name) == wanted]
                    out += [(session, trace) for trace in map(decode_trace, own)]
                    break
        return out


_decode_paths = msgspec.msgpack.Decoder(SessionFiles).decode
decode_files: Callable[[bytes], dict[str, msgspec.Raw]] = msgspec.msgpack.Decoder(dict[str, msgspec.Raw]).decode
decode_trace: Callable[[bytes | msgspec.Raw], list[TracedVersion]] = msgspec.msgpack.Decoder(list[TracedVersion]).decode


def names_file(typed: str) -> Callable[[str], bool]:
    """Return a test for paths of sessions: that of a file on this machine, or one that ends like this."""
    here = os.path.normpath(expand_path(typed).absolute())
    wanted = {comparable_path(path) for path in (here, os.path.realpath(here))}
    return lambda path: comparable_path(path) in wanted or path_ends_with(comparable_path(path), comparable_path(typed))


class FileIndexReader:
    """Brings the values of sessions up to date, and reads them; close it after use."""

    def __init__(self) -> None:
        self._paths = DerivedValues(PATHS, format=FORMAT)
        self._traces = DerivedValues(TRACES, format=FORMAT)

    def read(
        self, sessions: Iterable[str], *, progress: Progress | None = None, unread: list[str] | None = None
    ) -> FileIndex:
        """Return what these sessions did to files; those that cannot be read are left out, and go to `unread`."""
        names = list(sessions)
        known = self._current(names)
        if progress is not None:
            progress(len(known))
        with SessionPass() as opened:
            for path in newest_first(Path(name) for name in names if name not in known):
                try:
                    known[str(path)] = opened.derive(path, FILES)[0]
                except (RereadError, OSError):
                    if unread is not None:
                        unread.append(str(path))
                if progress is not None:
                    progress(1)
        found = {name: known[name].paths for name in names if name in known and known[name].paths}
        return FileIndex(found, self._traces, _derive_again)

    def _current(self, names: list[str]) -> dict[str, SessionFiles]:
        """Return what the catalogue has of sessions as they are."""
        found: dict[str, SessionFiles] = {}
        with one_moment():
            for name, value in self._paths.values(names).items():
                with suppress(OSError):  # whoever opens it then says why it cannot be read
                    files = _known(value, files_state(name))
                    found |= {name: files} if files is not None else {}
        return found

    def close(self) -> None:
        """Close the catalogue."""
        with closing(self._paths), closing(self._traces):
            pass


def _derive_again(name: str) -> bytes:
    """Derive the values of a session that the catalogue lost, or could not keep; nothing if it cannot be read."""
    with suppress(RereadError, OSError), SessionPass() as opened:
        return opened.derive(name, FILES)[1]
    return b""


class FilesPart:
    """The files that sessions changed, as a part of the pass over them."""

    def __init__(self) -> None:
        self._paths = DerivedValues(PATHS, format=FORMAT)
        self._traces = DerivedValues(TRACES, format=FORMAT)
        self._unsaved: list[tuple[DerivedValue, DerivedValue]] = []

    def state(self, path: Path) -> bytes:
        """Return a hash of the state of a session's files."""
        return files_state(str(path))

    def is_current(self, path: Path, state: bytes) -> bool:
        """True if the files of a session in this state are known."""
        return _known(self._paths.values([str(path)]).get(str(path)), state) is not None

    def derive(self, session: Session, state: bytes) -> tuple[SessionFiles, bytes]:
        """Return the files that a session changed, and their traces."""
        files = SessionFiles(state, [])
        traces: dict[str, list[TracedVersion]] = {}
        if might_change_files(session):
            prompts = TurnPrompts(session)
            traces = {name: trace_lines(history, prompts.of) for name, history in session.files.items()}
            files.paths = list(traces)
        assert session.path is not None
        file, value = FileState.at(session.path), encoded(traces) or b""
        where = (str(session.path), file, file.size, b"")
        self._unsaved.append((DerivedValue(*where, encoded(files) or b""), DerivedValue(*where, value)))
        return files, value

    def save(self) -> None:
        """Write the traces to the catalogue, and then which sessions have them."""
        if self._unsaved:
            self._traces.save(traces for _, traces in self._unsaved)
            self._paths.save(paths for paths, _ in self._unsaved)
            self._unsaved.clear()

    def close(self) -> None:
        """Close the catalogue."""
        with closing(self._paths), closing(self._traces):
            pass


def files_state(path: str) -> bytes:
    """Return a hash of the state of a session's file, and of the files in its own folder.

    Agents' files beside it, as older clients wrote them, are left out: the session's file grows when an agent ends.
    """
    states = [FileState.at(path)]
    folder = path.removesuffix(".jsonl")
    if folder != path and os.path.isdir(folder):
        states += [FileState.at(agent) for agent, _ in sorted(jsonl_files(folder))]
    return hashlib.blake2b(repr(states).encode(), digest_size=16).digest()


def _known(value: bytes | None, state: bytes) -> SessionFiles | None:
    with suppress(*jsontext.DECODE_ERRORS):
        files = _decode_paths(value) if value else None
        return files if files is not None and files.state == state else None
    return None


def might_change_files(session: Session) -> bool:
    """True if a session or one of its agents made a call that can change a file."""
    conversations = [session.conversation, *session.agents.values()]
    names = {call.name for conversation in conversations for call in conversation.calls}
    return not names.isdisjoint(CHANGING) or codex.NAME in session.dialects  # its commands may have patches


class TurnPrompts:
    """The beginning of the prompt of each turn."""

    def __init__(self, session: Session) -> None:
        self._turns = {turn.index: turn.prompt for turn in session.turns}
        self._made: dict[int, str] = {}

    def of(self, version: FileVersion) -> str:
        """Return the beginning of the prompt that led to a version."""
        turn = version.turn or 0
        if turn not in self._made:
            prompt = self._turns.get(turn)
            self._made[turn] = as_title(prompt.text)[:PROMPT_LENGTH] if prompt is not None else ""
        return self._made[turn]
