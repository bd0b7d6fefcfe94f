"""Lookups: the message, the call or the records that a name or a line number stands for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from reread.model.changes import touched_messages
from reread.model.conversation import Call, Conversation, Message
from reread.reader.timeline import RECORD

NEAR = 50
"""How many records before one that shows nothing are asked for what they show."""


def records_at(conversation: Conversation, line: int) -> list[int]:
    """The records that begin on a line, else the last before it."""
    records = conversation.records
    start = bisect_left(range(len(records)), line, key=records.line)
    end = bisect_right(range(len(records)), line, key=records.line)
    return list(range(start, end)) or ([start - 1] if 0 < start <= len(records) else [])


def find_message(conversation: Conversation, name: str) -> Message | None:
    """A message by its key, its id, or the uuid of one of its records."""
    word, _, number = name.partition(" ")
    if word == RECORD and number.isdecimal() and int(number) < len(conversation.records):
        return next((m for m in touched_messages(conversation, int(number)) if int(number) in m.records), None)
    return conversation.find_message(name)


def look_up(
    conversation: Conversation, message: str | None, call: str | None, line: int | None
) -> tuple[Message | None, Call | None]:
    """The message that something is in, and the call that it is."""
    if call is not None:
        made = conversation.find_call(call)
        return (made.message, made) if made is not None else (None, None)
    if message is not None:
        return find_message(conversation, message), None
    for index in records_at(conversation, line or 0):
        fate = conversation.ledger[index]
        made = conversation.find_call(fate.call) if fate.call is not None else None
        if made is not None:
            return made.message, made
        for at in range(index, max(-1, index - NEAR), -1):
            for found in touched_messages(conversation, at):
                return found, None
    return None, None


def records_of(conversation: Conversation, message: str | None, call: str | None, line: int | None) -> list[int]:
    """The records that something was made of."""
    if line is not None:
        return records_at(conversation, line)
    if call is not None:
        made = conversation.find_call(call)
        return [] if made is None else sorted({made.use, *made.attached, *([made.answer] * (made.answer >= 0))})
    said = find_message(conversation, message or "")
    return [] if said is None else sorted({*said.records, *said.attached})
