"""Printouts: a session that was never captured, as the lines that Claude Code would have printed of it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from reread.base import jsontext
from reread.base.times import parse_timestamp
from reread.catalog.stored_line import StoredLine
from reread.model.conversation import Agent, Conversation
from reread.model.messages import Message, Turn
from reread.records.decode import Record
from reread.records.dialects import stream_json
from reread.session.session import Session

LONG_AGO = datetime.fromtimestamp(0, UTC)


def as_stream(session: Session) -> Iterator[StoredLine]:
    """The lines in the order of their times; what was printed in the first place is given as it stands."""
    if stream_json.NAME in session.dialects:
        for record in session.records:
            yield _entry(session, record.raw, parse_timestamp(record.envelope.timestamp))
        return
    yield _entry(session, jsontext.dumps(_init(session)), session.started)
    threads = [_main(session), *(_thread(agent, session.id) for agent in session.agents.values() if agent.path)]
    for when, value in heapq.merge(*threads, key=lambda told: told[0]):
        yield _entry(session, jsontext.dumps(value), when if when != LONG_AGO else None)


def _entry(session: Session, raw: bytes, when: datetime | None) -> StoredLine:
    return StoredLine("", session.id, "", when, raw)


Told = tuple[datetime, dict[str, Any]]


def _main(session: Session) -> Iterator[Told]:
    """The main thread, with the result of each turn before the next."""
    ends = {turn.messages[-1].records[-1]: turn for turn in session.turns if turn.messages}
    waiting: Turn | None = None
    starts = {turn.prompt.records[0] for turn in session.turns if turn.prompt is not None}
    when = LONG_AGO
    for index, when, value in _printed(session.conversation, session.id, None):
        if waiting is not None and index in starts:
            yield when, _result(session, waiting)
            waiting = None
        if value is not None:
            yield when, value
        waiting = ends.get(index, waiting)
    if waiting is not None:
        yield when, _result(session, waiting)


def _thread(agent: Agent, session: str) -> Iterator[Told]:
    call = agent.call.id if agent.call is not None else None
    for _, when, value in _printed(agent, session, call):
        if value is not None:
            yield when, value


def _printed(
    conversation: Conversation, session: str, call: str | None
) -> Iterator[tuple[int, datetime, dict[str, Any] | None]]:
    """Every record with the time by which it was there, printed where it is one that is."""
    when = LONG_AGO
    for index, record in enumerate(conversation.records):
        when = max(when, parse_timestamp(record.envelope.timestamp) or when)
        value = stream_json.printed(record.native)
        if value is not None:
            value |= {"session_id": value.get("session_id") or session, "parent_tool_use_id": call}
            if record.type == "user" and not _answers(record) and not value.get("isSynthetic"):
                value["isReplay"] = True
        yield index, when, value


def _answers(record: Record) -> bool:
    content = record.envelope.message.content if record.envelope.message is not None else None
    return isinstance(content, list) and any(block.type == "tool_result" for block in content)


def _init(session: Session) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": session.project,
        "session_id": session.id,
        "tools": [],
        "mcp_servers": [],
        "model": next(iter(session.models), None),
        "permissionMode": next(iter(session.permission_modes), "default"),
        "claude_code_version": next(iter(session.versions), None),
    }


def _result(session: Session, turn: Turn) -> dict[str, Any]:
    """How a turn ended, by what the transcript tells of it."""
    last = next((message for message in reversed(turn.messages) if message.role == "assistant"), None)
    failed = last is None or last.kind == "error"
    return {
        "type": "result",
        "subtype": "success" if last is not None else "error_during_execution",
        "is_error": failed,
        "duration_ms": _milliseconds(turn.messages),
        "num_turns": sum(message.kind == "response" for message in turn.messages),
        "result": last.text if last is not None else "",
        "session_id": session.id,
    }


def _milliseconds(messages: list[Message]) -> int:
    times = [message.timestamp for message in messages if message.timestamp is not None]
    return round((max(times) - min(times)).total_seconds() * 1000) if times else 0
