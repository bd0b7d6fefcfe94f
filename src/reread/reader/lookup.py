"""Find a message, a call or records by id, uuid or line number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from reread.model.affected_messages import touched_messages
from reread.model.conversation import Call, Conversation, Message
from reread.reader.timeline import RECORD

NEAR = 50
"""How many records before a line are searched for one that is part of a message."""


def records_at(conversation: Conversation, line: int) -> list[int]:
    """The records that begin on a line, else the last one before it."""
    records = conversation.records
    start = bisect_left(range(len(records)), line, key=records.line)
    end = bisect_right(range(len(records)), line, key=records.line)
    return list(range(start, end)) or ([start - 1] if 0 < start <= len(records) else [])


def find_message(conversation: Conversation, name: str) -> Message | None:
    """Find a message by its key, its id or the uuid of one of its records."""
    word, _, number = name.partition(" ")
    if word == RECORD and number.isdecimal() and int(number) < len(conversation.records):
        return next((m for m in touched_messages(conversation, int(number)) if int(number) in m.records), None)
    return conversation.find_message(name)


def find_place(
    conversation: Conversation, message: str | None, call: str | None, line: int | None
) -> tuple[Message | None, Call | None]:
    """Find the message and the call that a message's name, a call's id or a line number belongs to."""
    if call is not None:
        found_call = conversation.find_call(call)
        return (found_call.message, found_call) if found_call is not None else (None, None)
    if message is not None:
        return find_message(conversation, message), None
    for index in records_at(conversation, line or 0):
        fate = conversation.ledger[index]
        found_call = conversation.find_call(fate.call) if fate.call is not None else None
        if found_call is not None:
            return found_call.message, found_call
        for at in range(index, max(-1, index - NEAR), -1):
            for found in touched_messages(conversation, at):
                return found, None
    return None, None


def find_records(conversation: Conversation, message: str | None, call: str | None, line: int | None) -> list[int]:
    """The records that a message or a call consists of, or those on a line."""
    if line is not None:
        return records_at(conversation, line)
    if call is not None:
        found_call = conversation.find_call(call)
        if found_call is None:
            return []
        answer = [found_call.answer] if found_call.answer >= 0 else []
        return sorted({found_call.use, *found_call.attached, *answer})
    found = find_message(conversation, message or "")
    return [] if found is None else list(dict.fromkeys([*found.records, *found.attached]))
