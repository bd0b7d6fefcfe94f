"""What one record changed in a conversation, for whoever follows it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reread.model.conversation import Agent, Call, Conversation, Message
from reread.model.ledger import AGENT, ATTACHED, DUPLICATE, MERGED, PAIRED, REAPPENDED, SHOWN, Fate, call_target
from reread.records.decode import Record


class Change(msgspec.Struct, frozen=True):
    """What one record changed; or, of kind `rewritten`, the first line from which the file differs."""

    kind: str
    line: int
    fate: Fate | None = None
    record: Record | None = None
    message: Message | None = None
    call: Call | None = None
    agent: Agent | None = None
    """The agent that the record belongs to."""


def change_of(conversation: Conversation, index: int) -> Change:
    """Return what the record at `index` changed."""
    ledger = conversation.ledger
    code, target = ledger.code(index), ledger.targets[index]
    record = conversation.records[index]
    message, call, agent = None, None, conversation if isinstance(conversation, Agent) else None
    if code in (SHOWN, MERGED):
        message = conversation.messages[target]
    elif code == PAIRED:
        call = conversation.calls[target]
        message = call.message
    elif code == AGENT:
        agent = conversation.inline_agents[ledger.agents[target]]
        message = agent.find_message(record.envelope.uuid or "")
    return Change("record", record.line, ledger[index], record, message, call, agent)


def touched_messages(conversation: Conversation, index: int) -> Iterator[Message]:
    """Return the messages that a record is part of, answers calls of, takes back or is attached to."""
    ledger = conversation.ledger
    code, target = ledger.code(index), ledger.targets[index]
    if code in (DUPLICATE, REAPPENDED):
        code, target = ledger.code(target), ledger.targets[target]
    if code in (SHOWN, MERGED) or (code == ATTACHED and target >= 0):
        message = conversation.messages[target]
        compaction = conversation.compaction_of(message) if message.kind == "summary" else None
        yield from (m for m in (message, compaction and compaction.boundary) if m is not None)
    elif code == PAIRED or (code == ATTACHED and target < -1):
        yield conversation.calls[target if code == PAIRED else call_target(target)].message
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
