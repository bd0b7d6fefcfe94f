"""Find a message, a call or records by id, uuid or line number, and the messages that a record touches."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from reread.model.compaction_linker import compaction_of
from reread.model.conversation import Call, Conversation, Message
from reread.model.ledger import (
    ATTACHED,
    DUPLICATE,
    MALFORMED,
    MERGED,
    ORPHAN,
    PAIRED,
    REAPPENDED,
    SHOWN,
    STATE,
    UNKNOWN,
    call_target,
)
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


def touched_messages(conversation: Conversation, index: int) -> Iterator[Message]:
    """Return the messages that a record is part of, answers calls of, takes back, is attached to or ends."""
    ledger = conversation.ledger
    code, target = ledger.code(index), ledger.targets[index]
    if code in (DUPLICATE, REAPPENDED):
        code, target = ledger.code(target), ledger.targets[target]
    if code in (SHOWN, MERGED) or (code in (ATTACHED, ORPHAN) and target >= 0):
        message = conversation.messages[target]
        compaction = compaction_of(message) if message.kind == "summary" else None
        yield from (m for m in (message, compaction and compaction.boundary) if m is not None)
    elif code == PAIRED or (code == ATTACHED and target < -1):
        yield conversation.calls[target if code == PAIRED else call_target(target)].message
    if index in conversation.marks.ended:
        yield conversation.messages[conversation.marks.ended[index]]
    elif code in (STATE, UNKNOWN, MALFORMED) and conversation.messages:
        after = bisect_right(conversation.messages, index, key=lambda message: message.records[0])
        yield conversation.messages[max(0, after - 1)]
    yield from (conversation.messages[at] for at in conversation.marks.requeued.get(index, ()))
    yield from _named_messages(conversation, index)


def _named_messages(conversation: Conversation, index: int) -> Iterator[Message]:
    """Return the messages that a record names: by results, calls, position or `supersedes`."""
    envelope = conversation.records[index].envelope
    content = envelope.message.content if envelope.message is not None else None
    for block in content if type(content) is list else ():
        answered = conversation.find_call(block.tool_use_id)
        if answered is not None:
            yield answered.message
        made = conversation.find_call(block.id)
        if made is not None and 0 <= made.answer < index:
            yield conversation.messages[0]  # its result came before it, in any message
    if index in conversation.bodies.positional_results:
        yield from (call.message for call in conversation.calls if call.answer == index)
    for uuid in envelope.supersedes or ():
        message = conversation.find_message(uuid)
        if message is not None:
            yield message
