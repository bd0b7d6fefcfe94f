"""Turn a session into the lines that Claude Code would have printed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from reread.base import jsontext
from reread.base.times import parse_timestamp
from reread.catalog.stored_line import StoredLine
from reread.model.conversation import Agent, Conversation, Message, Turn
from reread.records.decode import Record
from reread.records.dialects import stream_json
from reread.session.session import Session

UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)

TimedMessage = tuple[datetime, dict[str, Any]]


def as_stream(session: Session) -> Iterator[StoredLine]:
    """Yield the lines in order of time; a session that is a printed stream already is returned unchanged."""
    if stream_json.NAME in session.dialects:
        for record in session.records:
            yield _line(session, record.raw, parse_timestamp(record.envelope.timestamp))
        return
    yield _line(session, jsontext.dumps(_init(session)), session.started)
    threads = [_main_thread(session), *(_agent_thread(a, session.id) for a in session.agents.values() if a.path)]
    for time, message in heapq.merge(*threads, key=lambda timed: timed[0]):
        yield _line(session, jsontext.dumps(message), time if time != UNKNOWN_TIME else None)


def _line(session: Session, raw: bytes, time: datetime | None) -> StoredLine:
    return StoredLine("", session.id, "", time, raw)


def _main_thread(session: Session) -> Iterator[TimedMessage]:
    """Yield the main thread's messages, with the result of each turn before the next prompt."""
    turn_by_last_record = {turn.messages[-1].records[-1]: turn for turn in session.turns if turn.messages}
    prompts = {turn.prompt.records[0] for turn in session.turns if turn.prompt is not None}
    ended: Turn | None = None
    time = UNKNOWN_TIME
    for index, time, message in _printed_records(session.conversation, session.id, None):
        if ended is not None and index in prompts:
            yield time, _result(session, ended)
            ended = None
        if message is not None:
            yield time, message
        ended = turn_by_last_record.get(index, ended)
    if ended is not None:
        yield time, _result(session, ended)


def _agent_thread(agent: Agent, session_id: str) -> Iterator[TimedMessage]:
    call_id = agent.call.id if agent.call is not None else None
    for _, time, message in _printed_records(agent, session_id, call_id):
        if message is not None:
            yield time, message


def _printed_records(
    conversation: Conversation, session_id: str, call_id: str | None
) -> Iterator[tuple[int, datetime, dict[str, Any] | None]]:
    """Yield each record's index, the latest time so far, and its printed form; None if it is not printed."""
    time = UNKNOWN_TIME
    for index, record in enumerate(conversation.records):
        time = max(time, parse_timestamp(record.envelope.timestamp) or time)
        message = stream_json.from_native(record.native)
        if message is not None:
            message |= {"session_id": message.get("session_id") or session_id, "parent_tool_use_id": call_id}
            if record.type == "user" and not _has_tool_result(record) and not message.get("isSynthetic"):
                message["isReplay"] = True
        yield index, time, message


def _has_tool_result(record: Record) -> bool:
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
    """Return the result message of a turn, as far as the transcript has it."""
    last = next((message for message in reversed(turn.messages) if message.role == "assistant"), None)
    return {
        "type": "result",
        "subtype": "success" if last is not None else "error_during_execution",
        "is_error": last is None or last.kind == "error",
        "duration_ms": _milliseconds(turn.messages),
        "num_turns": sum(message.kind == "response" for message in turn.messages),
        "result": last.text if last is not None else "",
        "session_id": session.id,
    }


def _milliseconds(messages: list[Message]) -> int:
    times = [message.timestamp for message in messages if message.timestamp is not None]
    return round((max(times) - min(times)).total_seconds() * 1000) if times else 0
