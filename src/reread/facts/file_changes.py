"""The files that a session changed, and the lines of each that every version changed, as rows."""

from __future__ import annotations

import msgspec

from reread.base import jsontext
from reread.base.text import as_title
from reread.facts.store import Row
from reread.history.changes import CHANGING
from reread.history.line_trace import TracedVersion, trace_lines
from reread.history.versions import FileVersion
from reread.records.dialects import codex
from reread.session.session import Session

PROMPT_LENGTH = 120


def file_change_rows(session: Session) -> list[Row]:
    """Return the path and the versions of each file that a session changed."""
    if not might_change_files(session):
        return []
    prompts = TurnPrompts(session)
    traces = {path: trace_lines(history, prompts.of) for path, history in session.files.items()}
    return [(path, _encoded(trace)) for path, trace in traces.items()]


def _encoded(trace: list[TracedVersion]) -> bytes:
    try:
        return msgspec.msgpack.encode(trace)
    except UnicodeError:  # half of a character, as a broken transcript may have
        return msgspec.msgpack.encode(jsontext.replace_surrogates(msgspec.to_builtins(trace, builtin_types=(bytes,))))


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
