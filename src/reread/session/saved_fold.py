"""Saved folds: a large session that was opened once opens again without being read.

A fold is saved as columns, with the identity of its file, how far it was read and the bytes before that place. It is
used only if the file is unchanged or was appended to; then the rest is read as if the session had been followed. Folds
that another version of the code made are never used.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from reread.disk.atomic import write_atomic
from reread.disk.cache import FileState, cache_folder
from reread.disk.regular import make_private_folder, open_regular
from reread.model.conversation import Agent, Call, Compaction, Conversation, Message
from reread.model.fold import Fold
from reread.model.metadata import UniqueList

SMALLEST = 16 << 20
"""Smaller files are read faster than a fold is restored."""
BUDGET = 512 << 20
"""Bytes that all saved folds may take; those not used for longest are deleted."""
NAME = "folds"
SUFFIX = ".fold"
MESSAGE, CALL, FOLD = 1, 2, 3
"""The codes of references to objects."""
LINKS = frozenset({"bodies", "conversation", "calls", "message", "linked_agents", "partial", "prints"})
"""The fields of messages and calls that are not columns."""
NOT_STATE = frozenset(
    {
        *("messages", "calls", "calls_by_id", "messages_by_id", "compactions", "inline_agents", "_agents"),
        *("_linked", "_link_agents", "_branches", "_turns", "_tool_call", "_limits", "_leads", "_rows"),
        *("read", "call", "parent", "path", "meta", "_lines_of_file", "_made"),
    }
)
"""Attributes that are restored by themselves, can be computed again, or belong to the source."""
PART_MODULES = ("reread.model.", "reread.records.decode")

ReadAt = Callable[[int, int], bytes]
Refer = Callable[["Message | Call | Fold"], msgspec.msgpack.Ext]
"""Returns a reference to an object."""


class NotSavable(Exception):
    """A fold holds something that cannot be saved, such as a response that is still streamed."""


class SavedFold(msgspec.Struct, array_like=True):
    """A fold of a file."""

    format: str
    path: str
    state: FileState
    size: int
    """Bytes that the fold covers: whole lines."""
    proof: bytes
    starts: bytes
    """The offsets of all lines."""
    objects: list[ConversationObjects]
    """The messages and calls of the main conversation, and of the agents in its file."""
    states: bytes
    """The attributes of all parts, which refer to messages and calls."""


class ConversationObjects(NamedTuple):
    """The messages and calls of a conversation, and how many agents are in its file."""

    agent: tuple[str, str | None] | None
    """Id and first parent of an agent; None for the main conversation."""
    agents: int
    messages: dict[str, Any]
    calls: dict[str, Any]
    call_messages: list[int]
    """The message that made each call."""
    named: dict[str, int]
    """Responses by the API's id."""


@cache
def code_format() -> str:
    """Return a value that changes with the code that folds records."""
    digest = hashlib.blake2b(digest_size=12)
    root = Path(__file__).parent.parent
    for folder in ("model", "records", "session"):
        for path in sorted((root / folder).rglob("*.py")):
            stat = path.stat()
            digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def fold_path(path: Path) -> Path:
    """Return where the fold of a file is saved."""
    name = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
    return cache_folder() / NAME / f"{name}{SUFFIX}"


def save_fold(path: Path, fold: Fold, starts: array[int], size: int, proof: bytes) -> bool:
    """Save the fold of a file; False if it cannot be saved."""
    folds = list(_folds(fold))
    numbers = {id(one.conversation): number for number, one in enumerate(folds)}

    def refer(value: Message | Call | Fold) -> msgspec.msgpack.Ext:
        code = FOLD if isinstance(value, Fold) else MESSAGE if isinstance(value, Message) else CALL
        index = 0 if isinstance(value, Fold) else value.index
        return msgspec.msgpack.Ext(code, struct.pack(">II", numbers[id(value.conversation)], index))

    try:
        parts = [[*(_state(part, one, refer) for part in _parts(one)), _compactions(one, refer)] for one in folds]
        states = msgspec.msgpack.encode(parts, enc_hook=_refuse)
        objects = [_objects(one) for one in folds]
        where = (code_format(), str(path.absolute()), FileState.at(path), size, proof)
        saved = msgspec.msgpack.encode(SavedFold(*where, starts.tobytes(), objects, states))
        target = fold_path(path)
        make_private_folder(target.parent)
        write_atomic(target, [zlib.compress(saved, 1)])
        target.chmod(0o600)
        _evict(target.parent)
    except (NotSavable, OSError, OverflowError, UnicodeError):
        return False
    return True


def _folds(fold: Fold) -> Iterator[Fold]:
    """Yield a fold and those of the agents in its file."""
    yield fold
    for agent in fold.agents.values():
        yield from _folds(agent)


def _refuse(value: Any) -> Any:
    raise NotSavable(type(value).__name__)


def _objects(fold: Fold) -> ConversationObjects:
    conversation = fold.conversation
    if any(message.partial is not None for message in conversation.messages):
        raise NotSavable("a response that is still streamed")
    is_agent = isinstance(conversation, Agent)
    return ConversationObjects(
        (conversation.id, conversation.parent_uuid) if is_agent else None,
        len(fold.agents),
        _columns(Message, conversation.messages),
        _columns(Call, conversation.calls),
        [call.message.index for call in conversation.calls],
        {id: message.index for id, message in conversation.messages_by_id.items()},
    )


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _columns(kind: type[msgspec.Struct], objects: list[Any]) -> dict[str, Any]:
    """Return the fields of many objects by name; of a field with a default, only the values that differ."""
    columns: dict[str, Any] = {}
    for field in _fields(kind):
        if field.name not in LINKS:
            values = [getattr(one, field.name) for one in objects]
            is_rare = field.default is not msgspec.NODEFAULT
            columns[field.name] = {n: v for n, v in enumerate(values) if v != field.default} if is_rare else values
    return columns


def _parts(fold: Fold) -> list[Any]:
    """Return the objects that make up a fold and its conversation, always in the same order."""
    parts: list[Any] = [fold, fold.conversation]
    for part in parts:
        for value in _attributes(part).values():
            is_part = type(value).__module__.startswith(PART_MODULES) and hasattr(value, "__dict__")
            is_other = isinstance(value, Fold | Conversation | Message | Call | list | dict)
            if is_part and not is_other and all(value is not other for other in parts):
                parts.append(value)
    return parts


def _attributes(part: Any) -> dict[str, Any]:
    return cast(dict[str, Any], vars(part))


def _state(part: Any, fold: Fold, refer: Refer) -> dict[str, Any]:
    """Return the attributes of a part that hold its state; containers that another part owns are left out."""
    conversation = fold.conversation
    shared = (conversation.messages, conversation.calls, conversation.calls_by_id, conversation.messages_by_id)
    found: dict[str, Any] = {}
    for name, value in _attributes(part).items():
        if name in NOT_STATE or callable(value) or any(value is one for one in shared):
            continue
        if isinstance(value, Fold | Conversation) and name not in FOLD_REFERENCES:
            continue
        if type(value).__module__.startswith(PART_MODULES) and not isinstance(value, Message | Call | Fold | list):
            continue
        found[name] = _plain(value, refer)
    return found


FOLD_REFERENCES = frozenset({"_latest_agent"})
"""Attributes that refer to the fold of an agent."""


def _plain(value: Any, refer: Refer) -> Any:
    """Return a value that can be encoded; messages, calls and folds become references."""
    if isinstance(value, array):
        return cast("array[Any]", value).tobytes()
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, Message | Call | Fold):
        return refer(value)
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value)
        has_objects = isinstance(next(iter(items.values()), None), Message | Call | Fold)
        return {key: refer(item) for key, item in items.items()} if has_objects else items
    if isinstance(value, list | set):
        values = list(cast(list[Any], value))
        return [refer(item) for item in values] if values and isinstance(values[0], Message | Call | Fold) else values
    return value


def _compactions(fold: Fold, refer: Refer) -> list[Any]:
    found = fold.conversation.compactions
    return [[one.boundary and refer(one.boundary), one.summary and refer(one.summary), one.micro] for one in found]


def _evict(folder: Path) -> None:
    """Delete folds until all together are within the budget: those not used for longest first."""
    stats = [(path.stat(), path) for path in folder.glob(f"*{SUFFIX}")]
    total = 0
    for stat, path in sorted(stats, key=lambda pair: pair[0].st_mtime, reverse=True):
        total += stat.st_size
        if total > BUDGET:
            path.unlink(missing_ok=True)


def forget_folds(paths: list[str]) -> None:
    """Delete the folds of files that are gone."""
    for path in paths:
        with suppress(OSError):
            fold_path(Path(path)).unlink(missing_ok=True)


_decode_saved = msgspec.msgpack.Decoder(SavedFold).decode


def read_fold(path: Path, read: ReadAt) -> SavedFold | None:
    """Return the saved fold of a file if this code made it and the file begins with what it covers."""
    target = fold_path(path)
    try:
        if not os.path.exists(target):
            return None
        with open_regular(target) as file:
            state, saved = FileState.at(path), _decode_saved(zlib.decompress(file.readall()))
        if saved.format != code_format() or saved.path != str(path.absolute()) or state.size < saved.size:
            return None
        is_same = saved.state == state or (saved.state.is_same_file(state) and state.size > saved.state.size)
        start = max(0, saved.size - len(saved.proof))
        if not is_same or read(start, len(saved.proof)) != saved.proof:
            return None
        os.utime(target)
    except (OSError, zlib.error, msgspec.DecodeError, UnicodeError):
        return None
    return saved


def restore_fold(saved: SavedFold, fold: Fold) -> None:
    """Fill an empty fold and its conversation as they were when they were saved."""
    rest = iter(saved.objects)
    folds = list(_restore_agents(fold, next(rest), rest))
    for objects, one in zip(saved.objects, folds, strict=True):
        _restore_objects(objects, one.conversation)

    def resolve(code: int, data: memoryview) -> Any:
        number, index = struct.unpack(">II", data)
        conversation = folds[number].conversation
        if code == FOLD:
            return folds[number]
        return conversation.messages[index] if code == MESSAGE else conversation.calls[index]

    states: list[list[Any]] = msgspec.msgpack.Decoder(ext_hook=resolve).decode(saved.states)
    for (*parts, compactions), one in zip(states, folds, strict=True):
        for state, part in zip(parts, _parts(one), strict=True):
            for name, value in state.items():
                _restore(part, name, value)
        conversation = one.conversation
        conversation.compactions += [
            Compaction(conversation, first, second, micro) for first, second, micro in compactions
        ]


def _restore_agents(fold: Fold, objects: ConversationObjects, rest: Iterator[ConversationObjects]) -> Iterator[Fold]:
    """Create the folds of the agents in a file, in the order in which they were saved."""
    yield fold
    for _ in range(objects.agents):
        inner = next(rest)
        assert inner.agent is not None
        id, parent_uuid = inner.agent
        yield from _restore_agents(fold.add_agent(id, parent_uuid=parent_uuid), inner, rest)


def _restore_objects(objects: ConversationObjects, conversation: Conversation) -> None:
    """Create the messages and calls of a conversation."""
    bodies, messages, calls = conversation.bodies, conversation.messages, conversation.calls
    count = len(objects.messages["index"])
    columns = _rows(Message, objects.messages, count)
    messages += [Message(bodies, *row, conversation=conversation) for row in columns]
    count = len(objects.call_messages)
    for row, at in zip(_rows(Call, objects.calls, count), objects.call_messages, strict=True):
        message = messages[at]
        call = Call(bodies, *row, conversation=conversation, message=message)
        calls.append(call)
        if message.calls:
            cast(list[Call], message.calls).append(call)
        else:
            message.calls = [call]
    conversation.calls_by_id.update((call.id, call) for call in calls)
    conversation.messages_by_id.update((id, messages[index]) for id, index in objects.named.items())


def _rows(kind: type[msgspec.Struct], columns: dict[str, Any], count: int) -> Iterator[tuple[Any, ...]]:
    """Yield the positional fields of objects, without the first, from their columns."""
    fields = [field for field in _fields(kind) if field.name not in LINKS]
    values = [_column(columns[field.name], field.default, count) for field in fields]
    return zip(*values, strict=True)


def _column(values: Any, default: Any, count: int) -> list[Any]:
    if isinstance(values, list):
        return cast(list[Any], values)
    column = [default] * count
    for index, value in cast(dict[int, Any], values).items():
        column[index] = value
    return column


def _restore(part: Any, name: str, value: Any) -> None:
    """Set an attribute, in place if it is a container: other parts may hold it too."""
    current = getattr(part, name)
    match current:
        case UniqueList():
            for item in value:
                current.add(item)
        case list():
            kept = cast(list[Any], current)
            is_struct = bool(kept) and isinstance(kept[0], msgspec.Struct)
            kept[:] = msgspec.convert(value, list[type(kept[0])]) if is_struct else value
        case dict() | set():
            cast(Any, current).clear()
            cast(Any, current).update(value)
        case array():
            current.frombytes(value)
        case bytearray():
            current.extend(value)
        case tuple():
            setattr(part, name, tuple(value))
        case _:
            setattr(part, name, value)
