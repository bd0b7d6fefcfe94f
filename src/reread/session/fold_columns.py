"""The messages and calls of a conversation as columns: one for each field, in whatever form is read fastest."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import repeat
from typing import Any, NamedTuple, cast

import msgspec

from reread.model.conversation import Agent, Call, Conversation, Message
from reread.model.fold import Fold

LINKS = frozenset({"bodies", "conversation", "calls", "message", "linked_agents", "absent_agent", "partial", "prints"})
"""The fields of messages and calls that are not columns."""
NUMBERS, WORDS, SPARSE, VALUES = range(4)
"""The forms of a column: an array; places in a list of words; the values that are not the default; all values."""
RARE = 4
"""A column is sparse if at most one in so many values is not the default."""
MOST_WORDS = 256

Column = list[Any]
"""A column: its form, and what that form needs."""


class ConversationObjects(NamedTuple):
    """The messages and calls of a conversation, and how many agents are in its file."""

    agent: tuple[str, str | None] | None
    """Id and first parent of an agent; None for the main conversation."""
    agents: int
    messages: dict[str, Column]
    calls: dict[str, Column]
    counts: tuple[int, int]
    """How many messages and calls there are."""
    call_messages: Column
    """The message that made each call."""
    named: Column
    """The responses that the API named."""
    names: list[str]
    """Their names, if these are not the ids of the messages."""


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return tuple(field for field in msgspec.structs.fields(kind) if field.name not in LINKS)


def pack_objects(fold: Fold) -> ConversationObjects:
    """Return the messages and calls of a fold."""
    conversation = fold.conversation
    messages, calls, by_id = conversation.messages, conversation.calls, conversation.messages_by_id
    is_agent = isinstance(conversation, Agent)
    return ConversationObjects(
        (conversation.id, conversation.parent_uuid) if is_agent else None,
        len(fold.agents),
        {
            field.name: pack_column([getattr(one, field.name) for one in messages], field.default)
            for field in _fields(Message)
        },
        {
            field.name: pack_column([getattr(one, field.name) for one in calls], field.default)
            for field in _fields(Call)
        },
        (len(messages), len(calls)),
        pack_column([call.message.index for call in calls]),
        pack_column([message.index for message in by_id.values()]),
        [] if all(name == message.id for name, message in by_id.items()) else list(by_id),
    )


def unpack_objects(objects: ConversationObjects, conversation: Conversation) -> None:
    """Create the messages and calls of a conversation."""
    bodies, messages, calls = conversation.bodies, conversation.messages, conversation.calls
    columns = _unpack_all(Message, objects.messages, objects.counts[0])
    messages += map(partial(Message, bodies, conversation=conversation), *columns)
    columns = _unpack_all(Call, objects.calls, objects.counts[1])
    owners: list[Message] = [messages[at] for at in unpack_column(objects.call_messages, objects.counts[1])]
    for message, row in zip(owners, zip(*columns, strict=True), strict=True):
        call = Call(bodies, *row, conversation=conversation, message=message)
        calls.append(call)
        if message.calls:
            cast(list[Call], message.calls).append(call)
        else:
            message.calls = [call]
    conversation.calls_by_id.update((call.id, call) for call in calls)
    named: list[Message] = [messages[at] for at in unpack_column(objects.named, 0)]
    names = objects.names or [message.id for message in named]
    conversation.messages_by_id.update(zip(names, named, strict=True))


def _unpack_all(kind: type[msgspec.Struct], columns: dict[str, Column], count: int) -> list[Iterable[Any]]:
    return [unpack_column(columns[field.name], count, field.default) for field in _fields(kind)]


def pack_column(values: Sequence[Any], default: Any = msgspec.NODEFAULT) -> Column:
    """Return a column of values; `default` is what most of them may be."""
    if default is not msgspec.NODEFAULT:
        others = {at: value for at, value in enumerate(values) if value != default}
        if len(others) * RARE <= len(values):
            return [SPARSE, others]
    types = set(map(type, values))
    if types == {int} and min(values) >= -(1 << 31) and max(values) < 1 << 31:
        return [NUMBERS, array("i", values).tobytes()]
    if types <= {str, type(None)}:
        words = {word: at for at, word in enumerate(dict.fromkeys(values))}
        if len(words) <= MOST_WORDS:
            return [WORDS, list(words), bytes(words[value] for value in values)]
    return [VALUES, list(values)]


def unpack_column(column: Column, count: int, default: Any = None) -> Iterable[Any]:
    """Return the values of a column."""
    form, *data = column
    if form == NUMBERS:
        return memoryview(data[0]).cast("i")
    if form == WORDS:
        return map(cast(list[Any], data[0]).__getitem__, data[1])
    if form == SPARSE and data[0]:
        values = [default] * count
        for at, value in cast(dict[int, Any], data[0]).items():
            values[at] = value
        return values
    return repeat(default, count) if form == SPARSE else data[0]
