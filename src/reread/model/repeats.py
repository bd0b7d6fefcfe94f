"""Records that say again what others said: of one response, and of an agent in the progress records of its parent."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.coerce import as_dict
from reread.model.conversation import Message
from reread.model.partial import BlockPrints
from reread.model.record_kinds import CALL_BLOCKS, own_fields
from reread.model.value_texts import strings
from reread.records.decode import Record, inner_record
from reread.records.envelope import BlockEnvelope, ProgressEnvelope, written_progress

TEXT_BIT, THINKING_BIT, OTHER_BIT, MANY_BIT = 1, 2, 4, 8
BLOCK_BITS = {"text": TEXT_BIT, "thinking": THINKING_BIT, "redacted_thinking": THINKING_BIT}
"""The bit of each type of block in `Message.seen`; MANY_BIT if a record held several blocks."""


def find_holder(message: Message, index: int, content: list[BlockEnvelope] | str) -> int:
    """Return the record of the same message that holds all these blocks already, or -1."""
    conversation = message.conversation
    if type(content) is list and len(content) == 1 and not message.seen & MANY_BIT:
        block = content[0]
        if block.type in CALL_BLOCKS:
            call = conversation.calls_by_id.get(block.id or "")
            return call.use if call is not None and call.message is message else -1
        if not message.seen & BLOCK_BITS.get(block.type, OTHER_BIT):
            return -1
    records = conversation.records
    if message.prints is None:
        message.prints = BlockPrints()
        for earlier in message.records:
            message.prints.add(records[earlier].native, earlier)
    native = records[index].native
    holder = message.prints.holder(native)
    if holder < 0:
        message.prints.add(native, index)
    return holder


def says_again(record: Record, first: Record) -> bool:
    """True if a record is of the type of an earlier one with its uuid and has no words that are not there.

    Copies differ in their other fields: a compaction and a resume write some anew, a stream has its own.
    """
    if record.envelope.type != first.envelope.type:
        return False
    return record.body == first.body or set(_words(record)) <= set(_words(first))


def _words(record: Record) -> Iterator[str]:
    """Yield what a record says; a text that is the whole content is the same as a block of it."""
    native = record.native
    content = as_dict(native.get("message")).get("content") if "message" in native else own_fields(native)
    yield from strings([{"type": "text", "text": content}] if isinstance(content, str) else content)


def retold_records(outer: Record, payload: ProgressEnvelope) -> Iterator[Record]:
    """Yield the messages in a progress record, in order; earlier ones may be retold again.

    `normalizedMessages` has all of them; `message` is the last one, with its time.
    """
    payload = written_progress(outer.body) or payload
    last = inner_record(outer, bytes(payload.message)) if payload.message else None
    named = last.envelope.uuid if last is not None else None
    at = max(0, outer.body.find(b'"normalizedMessages"'))
    for raw in payload.others:
        one = inner_record(outer, bytes(raw), at)
        at = max(at, one.offset - outer.offset)
        if last is None or named is None or one.envelope.uuid != named:
            yield one
    if last is not None:
        yield last
