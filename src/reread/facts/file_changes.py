"""The files that a session changed, and the lines of each that every version changed.

Every session's files are known by their paths. Their lines are many and asked for seldom: they are traced for those
sessions that somebody asks about, and stay known from then on.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.base.text import as_title
from reread.disk.sources import FileSource, whole_files
from reread.facts.schema import FILE_CHANGE, SESSION
from reread.facts.store import FactStore, Row
from reread.history.changes import CHANGING
from reread.history.line_trace import TracedVersion, trace_lines
from reread.history.versions import FileVersion
from reread.records.dialects import is_of_addon
from reread.session.session import Session

PROMPT_LENGTH = 120


def file_change_rows(session: Session) -> list[Row]:
    """Return the path of each file that a session changed, without its versions."""
    return [(path, None) for path in session.files] if might_change_files(session) else []


def trace_files(store: FactStore, file: int, path: str) -> dict[str, bytes]:
    """Open a session, and let the store have the versions of the files that it changed; return them by path."""
    of_file = f"FROM {SESSION.name} WHERE file = ?"
    known = store.rows(f"SELECT state {of_file}", (file,))
    with whole_files():
        session = Session(FileSource(Path(path)))
        prompts = TurnPrompts(session)
        traces = {name: _encoded(trace_lines(history, prompts.of)) for name, history in session.files.items()}
    with suppress(sqlite3.OperationalError), store.writing():  # a full disk or somebody else who writes: not kept
        if store.rows(f"SELECT state {of_file}", (file,)) == known:  # else somebody has read more of it meanwhile
            for name, versions in traces.items():
                store.run(
                    f"UPDATE {FILE_CHANGE.name} SET versions = ? WHERE file = ? AND path = ?", (versions, file, name)
                )
    return traces


def _encoded(trace: list[TracedVersion]) -> bytes:
    try:
        return msgspec.msgpack.encode(trace)
    except UnicodeError:  # half of a character, as a broken transcript may have
        return msgspec.msgpack.encode(jsontext.replace_surrogates(msgspec.to_builtins(trace, builtin_types=(bytes,))))


def might_change_files(session: Session) -> bool:
    """True if a session or one of its agents made a call that can change a file."""
    conversations = [session.conversation, *session.agents.values()]
    names = {call.name for conversation in conversations for call in conversation.calls}
    return not names.isdisjoint(CHANGING) or any(map(is_of_addon, session.dialects))  # their commands may have patches


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
