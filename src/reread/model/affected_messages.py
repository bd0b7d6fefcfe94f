"""The messages that one record touches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from reread.model.compaction_linker import compaction_of
from reread.model.conversation import Conversation, Message
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
