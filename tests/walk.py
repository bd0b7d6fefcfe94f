"""Read every attribute of a session, and check the laws that hold for every session."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

LINE = ("number", "offset", "raw")
RECORD = ("line", "offset", "raw", "value", "entry", "type", "dialect")
MESSAGE = ("id", "role", "kind", "blocks", "text", "model", "usage", "uuids", "timestamp", "stop_reason")
CALL = ("id", "name", "title", "input", "result", "data", "ok", "agent", "message")
TURN = ("prompt", "messages", "calls", "usage")
BRANCH = ("active", "messages", "turns")
CONVERSATION = ("messages", "turns", "calls", "branches", "compactions", "ledger", "usage")
SESSION = (*CONVERSATION, "lines", "records", "agents", "problems", "title", "project", "id", "ids")
AGENT = (*CONVERSATION, "lines", "records", "id", "type", "prompt", "call", "parent")
ENTRY = ("fate", "line", "reason")

BLANK = b" \t\r\n\0"


def touch(thing: Any, names: Iterable[str]) -> None:
    """Read the attributes that an object must have, and every other public one."""
    for name in names:
        getattr(thing, name)
    for name in dir(thing):
        if not name.startswith("_"):
            getattr(thing, name)


def walk(session: Any) -> None:
    """Read every attribute of the model."""
    touch(session, SESSION)
    walk_conversation(session)
    for agent_id, agent in session.agents.items():
        touch(agent, AGENT)
        assert agent.id == agent_id
        walk_conversation(agent)
    for problem in session.problems:
        touch(problem, ("code", "level", "line", "text"))


def walk_conversation(conversation: Any) -> None:
    """Read every attribute of a session's or an agent's conversation."""
    for line in conversation.lines:
        touch(line, LINE)
    for record in conversation.records:
        touch(record, RECORD)
        touch(record.entry, ())
    for message in conversation.messages:
        walk_message(message)
    for call in conversation.calls:
        walk_call(call)
    for turn in [*conversation.turns, *(turn for branch in conversation.branches for turn in branch.turns)]:
        touch(turn, TURN)
        assert turn.prompt is None or turn.prompt.kind != "meta"
    for branch in conversation.branches:
        touch(branch, BRANCH)
    for compaction in conversation.compactions:
        touch(compaction, ())
    for entry in conversation.ledger:
        touch(entry, ENTRY)


def walk_message(message: Any) -> None:
    """Read every attribute of a message and of its blocks, and check their types."""
    touch(message, MESSAGE)
    assert message.role in {"user", "assistant", "system"}
    assert isinstance(message.kind, str) and message.kind
    assert isinstance(message.text, str)
    assert message.records
    assert message.timestamp is None or is_aware(message.timestamp)
    for block in message.blocks:
        touch(block, ("type",))
        assert isinstance(block.type, str)


def is_aware(time: Any) -> bool:
    """True for a datetime with a time zone."""
    return isinstance(time, datetime) and time.tzinfo is not None


def walk_call(call: Any) -> None:
    """Read every attribute of a call, and check their types."""
    touch(call, CALL)
    assert call.ok in {True, False, None}
    assert isinstance(call.title, str) and "\n" not in call.title
    if call.result is None:
        assert call.ok is None
    else:
        touch(call.result, ("type",))


def holds_together(conversation: Any, data: bytes) -> None:
    """Check that a session or an agent lost none of the bytes it was read from."""
    assert b"".join(line.raw for line in conversation.lines) == data
    assert [line.number for line in conversation.lines] == list(range(1, len(conversation.lines) + 1))
    assert all(data.startswith(line.raw, line.offset) for line in conversation.lines)
    assert all(line.raw.endswith(b"\n") for line in conversation.lines[:-1])
    for record in conversation.records:
        assert data[record.offset : record.offset + len(record.raw)] == record.raw
        assert not record.raw.endswith(b"\n")
    accounts(conversation)
    if not data.removeprefix(b"\xef\xbb\xbf").lstrip(BLANK).startswith(b"["):
        kept = {record.line for record in conversation.records}
        filled = {line.number for line in conversation.lines if line.raw.strip(BLANK)}
        assert filled <= kept


def accounts(conversation: Any) -> None:
    """Check that every record has one entry in the ledger, with a fate and a reason."""
    ledger = conversation.ledger
    fates = ledger.fates
    assert len(list(ledger)) == len(conversation.records)
    assert sum(fates.values()) == len(conversation.records)
    assert [entry.line for entry in ledger] == [record.line for record in conversation.records]
    assert all(entry.fate in fates and isinstance(entry.reason, str) for entry in ledger)


def types(session: Any) -> list[str]:
    """Return the types of a session's records, in order."""
    return [record.type for record in session.records]


def texts(session: Any) -> list[str]:
    """Return the texts of a session's messages, in order."""
    return [message.text for message in session.messages]


def answers(conversation: Any) -> dict[str, Any]:
    """Return the model's own responses by their API id, without those that the client made up."""
    return {m.id: m for m in conversation.messages if m.role == "assistant" and m.model != "<synthetic>"}
