"""The fields of a message's records that its parts do not show, and those of the session state after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reread.base.coerce import as_dict
from reread.model.bodies import written_blocks
from reread.model.call import USE_FIELDS
from reread.model.conversation import Conversation, Message
from reread.model.parts import CompactionPoint, MessageCall, MessagePart, NoticeDetails, part_texts
from reread.model.record_kinds import CALL_BLOCKS, own_fields
from reread.tools.unshown_fields import ShownText, leftover

MESSAGE_FIELDS = ("id", "role", "type", "content")
"""The fields of an API message that are its identity or its blocks."""


def other_fields(message: Message, parts: Iterable[MessagePart]) -> dict[str, Any]:
    """Return what is recorded of a message and shown by none of these parts, by path.

    Calls show their own results and attached records, and parts show the attached records of the message. What several
    records of one response repeat is listed once.
    """
    parts = list(parts)
    if any(isinstance(part, NoticeDetails) for part in parts):
        return {}
    shown = ShownText(text for part in parts for text in _texts(part))
    known: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for number, index in enumerate(message.records):
        native = message.conversation.bodies.native(index)
        if native.get("type") == "stream_event":
            continue
        left = leftover(_recorded(native, message), shown)
        prefix = f"record {number + 1}: " if found else ""
        found |= {prefix + path: value for path, value in left.items() if known.get(path) != value}
        known |= left
    return found


def state_after(message: Message) -> dict[str, Any]:
    """Return what the records of session state after a message say; after the last one, also a setup of no message."""
    marks = message.conversation.marks
    setups = marks.waiting if message.index == marks.last else []
    return state_fields(message.conversation, [*marks.states.get(message.index, ()), *setups])


def state_fields(conversation: Conversation, records: Iterable[int]) -> dict[str, Any]:
    """Return what records of session state say, by type, line and path: of each only what the one before does not."""
    found: dict[str, Any] = {}
    bodies, before = conversation.bodies, conversation.marks.before
    for index in records:
        state = bodies.state(index)
        changed = state.changes(bodies.state(before[index]) if index in before else None)
        line = conversation.records.line(index)
        found |= {f"line {line}, {state.name}.{path}": value for path, value in changed.items()}
    return found


def _texts(part: MessagePart) -> Iterable[str]:
    """Return the fields of a part that views show; calls show themselves, a compaction's boundary only its figures."""
    if isinstance(part, CompactionPoint):
        return [part.summary]
    return () if isinstance(part, MessageCall) else part_texts(part)


def _recorded(native: dict[str, Any], message: Message) -> dict[str, Any]:
    own = own_fields(native)
    api = as_dict(own.pop("message", None))
    blocks = [_unpaired(block, message) for block in written_blocks(native)]
    if None in blocks:  # a result that its call shows
        own.pop("toolUseResult", None)
    fields = {name: value for name, value in api.items() if name not in MESSAGE_FIELDS}
    return {**fields, **own, "message.content": blocks}


def _unpaired(block: Any, message: Message) -> Any:
    """Return a block without what a call shows of it."""
    fields = as_dict(block)
    kind = fields.get("type")
    if isinstance(kind, str) and kind in CALL_BLOCKS:
        return {name: value for name, value in fields.items() if name not in (*USE_FIELDS, "name")}
    id = fields.get("tool_use_id")
    if isinstance(id, str) and message.conversation.find_call(id) is not None:
        return None
    return {name: value for name, value in fields.items() if name != "type"} if fields else block
