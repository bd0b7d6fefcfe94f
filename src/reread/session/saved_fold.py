"""Saved folds: a large session that was opened once opens again without being read.

Its messages and calls are saved as columns, the rest of its state as `fold_schema` says, with the identity of the file,
how far it was read and the bytes before that place. A fold is used only if the file is unchanged or was appended to;
then the rest is read as if the session had been followed. Folds that another version of the code or another user made
are never used.
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, cast

import msgspec

from reread.disk.cache import FileState, cache_folder
from reread.model.conversation import Call, Compaction, Conversation, Message
from reread.model.fold import Fold
from reread.model.metadata import UniqueList
from reread.session.fold_columns import ConversationObjects, pack_objects, unpack_objects
from reread.session.fold_schema import code_format, saved_attributes
from reread.storage.atomic import remove_unfinished, write_atomic
from reread.storage.frames import LARGEST_FRAME, pack, unpack
from reread.storage.kept_file import is_file
from reread.storage.safe_open import make_own_folder, read_own

SMALLEST = 16 << 20
"""Smaller files are read faster than a fold is restored."""
BUDGET = 512 << 20
"""Bytes that all saved folds may take; those not used for longest are deleted."""
NAME = "folds"
SUFFIX = ".fold"
LEVEL = 1
MESSAGE, CALL, FOLD = 1, 2, 3
"""The codes of references to objects."""
HEAD = struct.Struct(">I")
"""The size of the head, at the beginning of a file."""

BROKEN = (AssertionError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError)
"""The errors that a fold of another form raises."""

ReadAt = Callable[[int, int], bytes]
Refer = Callable[..., msgspec.msgpack.Ext]
"""Returns a reference to one object, to several, or to those that some keys stand for."""
States = list[list[Any]]
"""The attributes of the parts of each fold, by name, and its compactions."""


class NotSavable(Exception):
    """A fold holds something that cannot be saved, such as a response that is still streamed."""


class BrokenFold(Exception):
    """A saved fold does not have the form that it is saved in; what it was restored into cannot be used."""


class FoldHead(msgspec.Struct, array_like=True):
    """The head of a saved fold: the file it was made of."""

    format: str
    path: str
    state: FileState
    size: int
    """Bytes that the fold covers: whole lines."""
    proof: bytes
    sections: list[int]
    """The sizes of its sections, which are those of a `SavedFold`."""
    checksum: int
    """Of the last section, which is unpacked only if it is needed."""


class SavedFold(msgspec.Struct):
    """A fold of a file."""

    head: FoldHead
    starts: bytes
    """The offsets of all lines."""
    objects: list[ConversationObjects]
    """The messages and calls of the main conversation, and of the agents in its file."""
    states: bytes
    """The attributes of all parts, which refer to messages and calls."""
    uuids: bytes
    """The uuids of the records of each conversation, still packed: a third of all, needed when records are added."""


def fold_path(path: Path) -> Path:
    """Return where the fold of a file is saved."""
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    name = blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
    return cache_folder() / NAME / f"{name}{SUFFIX}"


def save_fold(path: Path, fold: Fold, starts: array[int], size: int, proof: bytes) -> bool:
    """Save the fold of a file; False if it cannot be saved."""
    folds = list(_folds(fold))
    try:
        if any(message.partial is not None for one in folds for message in one.conversation.messages):
            raise NotSavable("a response that is still streamed")
        for agent in fold.conversation.inline_agents.values():
            fold.conversation.tree.first(agent.parent_uuid)  # asked now, while the uuids are there
        objects = [pack_objects(one) for one in folds]
        states = _without_repeats(_states(folds), _states(_new_folds(objects, Fold(Conversation(_read_nothing)))))
        uuids = [(list(found), array("I", found.values()).tobytes()) for found in map(_uuids, folds)]
        parts = (
            starts.tobytes(),
            *(msgspec.msgpack.encode(part, enc_hook=_refuse) for part in (objects, states, uuids)),
        )
        if max(map(len, parts)) > LARGEST_FRAME:
            raise NotSavable("a section that could not be read again")
        sections = [pack(part, LEVEL) for part in parts]
        where = (code_format(), str(path.absolute()), FileState.at(path), size, proof)
        head = msgspec.msgpack.encode(FoldHead(*where, list(map(len, sections)), zlib.crc32(sections[-1])))
        target = fold_path(path)
        make_own_folder(cache_folder())
        make_own_folder(target.parent)
        write_atomic(target, [HEAD.pack(len(head)), head, *sections], follow=False)
        target.chmod(0o600)
        if not is_file(path):  # it was deleted meanwhile, and what was known of it forgotten
            target.unlink(missing_ok=True)
        _evict(target.parent)
    except (NotSavable, OSError, OverflowError, UnicodeError):
        return False
    return True


def _folds(fold: Fold) -> Iterator[Fold]:
    """Yield a fold and those of the agents in its file."""
    yield fold
    for agent in fold.agents.values():
        yield from _folds(agent)


def _uuids(fold: Fold) -> dict[str, int]:
    return fold.conversation.tree.uuids


def _read_nothing(_: int, __: int) -> bytes:
    return b""


def _refuse(value: Any) -> Any:
    raise NotSavable(type(value).__name__)


def _states(folds: Sequence[Fold]) -> States:
    """Return the attributes of folds and of their parts."""
    numbers = {id(one.conversation): number for number, one in enumerate(folds)}

    def refer(values: Sequence[Message | Call | Fold], keys: list[Any] | None = None) -> msgspec.msgpack.Ext:
        kind = FOLD if isinstance(values[0], Fold) else MESSAGE if isinstance(values[0], Message) else CALL
        places = array("I")
        for value in values:
            places.extend((numbers[id(value.conversation)], 0 if isinstance(value, Fold) else value.index))
        return msgspec.msgpack.Ext(kind, msgspec.msgpack.encode((places.tobytes(), keys)))

    return [
        [
            *({name: _plain(value, refer) for name, value in state.items()} for _, state in saved_attributes(one)),
            _compactions(one, refer),
        ]
        for one in folds
    ]


def _without_repeats(states: States, new: States) -> States:
    """Return the attributes that differ from those of new folds: most are empty, and each one costs time to restore."""
    for (*parts, _), (*others, _) in zip(states, new, strict=True):
        for part, other in zip(parts, others, strict=True):
            for name in [name for name, value in part.items() if name in other and other[name] == value]:
                del part[name]
    return states


def _plain(value: Any, refer: Refer) -> Any:
    """Return a value that can be encoded; messages, calls and folds become references."""
    if isinstance(value, array):
        return cast("array[Any]", value).tobytes()
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, Message | Call | Fold):
        return refer([value])
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value)
        has_objects = isinstance(next(iter(items.values()), None), Message | Call | Fold)
        return refer(list(items.values()), list(items)) if has_objects else items
    if isinstance(value, list | set):
        values = list(cast(list[Any], value))
        return refer(values, []) if values and isinstance(values[0], Message | Call | Fold) else values
    return value


def _compactions(fold: Fold, refer: Refer) -> list[Any]:
    found = fold.conversation.compactions
    return [[one.boundary and refer([one.boundary]), one.summary and refer([one.summary]), one.micro] for one in found]


def _evict(folder: Path) -> None:
    """Delete folds until all together are within the budget, those not used for longest first, and unfinished ones."""
    remove_unfinished(folder)
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


_decode_head = msgspec.msgpack.Decoder(FoldHead).decode
_decode_objects = msgspec.msgpack.Decoder(list[ConversationObjects]).decode
_decode_references = msgspec.msgpack.Decoder(tuple[bytes, list[Any] | None]).decode
_decode_uuids = msgspec.msgpack.Decoder(list[tuple[list[str], bytes]]).decode


def read_fold(path: Path, read: ReadAt) -> SavedFold | None:
    """Return the saved fold of a file if this code made it and the file begins with what it covers."""
    target = fold_path(path)
    try:
        if not os.path.exists(target):
            return None
        data = memoryview(read_own(target, BUDGET))
        start = HEAD.size + HEAD.unpack_from(data)[0]
        state, head = FileState.at(path), _decode_head(data[HEAD.size : start])
        if head.format != code_format() or head.path != str(path.absolute()) or state.size < head.size:
            return None
        is_same = head.state == state or (head.state.is_same_file(state) and state.size > head.state.size)
        if not is_same or read(max(0, head.size - len(head.proof)), len(head.proof)) != head.proof:
            return None
        ends = list(accumulate(head.sections, initial=start))
        starts, objects, states, uuids = (data[first:end] for first, end in pairwise(ends))
        if ends[-1] != len(data) or zlib.crc32(uuids) != head.checksum:
            return None
        os.utime(target)
        decoded = _decode_objects(unpack(bytes(objects)))
        return SavedFold(head, unpack(bytes(starts)), decoded, unpack(bytes(states)), bytes(uuids))
    except (OSError, struct.error, ValueError, RecursionError):  # damaged, or not a fold
        return None


def restore_fold(saved: SavedFold, fold: Fold) -> None:
    """Fill an empty fold and its conversation as they were when they were saved; raise BrokenFold if that fails."""
    try:
        if any(count > saved.head.size for objects in saved.objects for count in objects.counts):
            raise ValueError("more messages or calls than bytes")
        _fill(saved, fold)
    except (*BROKEN, struct.error) as error:
        forget_folds([saved.head.path])
        raise BrokenFold from error


def _fill(saved: SavedFold, fold: Fold) -> None:
    folds = _new_folds(saved.objects, fold)
    for objects, one in zip(saved.objects, folds, strict=True):
        unpack_objects(objects, one.conversation)
    conversations = [one.conversation for one in folds]
    kinds: dict[int, list[Sequence[Any]]] = {
        MESSAGE: [one.messages for one in conversations],
        CALL: [one.calls for one in conversations],
        FOLD: [[one] for one in folds],
    }

    def resolve(kind: int, data: memoryview) -> Any:
        places, keys = _decode_references(data)
        pairs, objects = memoryview(places).cast("I"), kinds[kind]
        found = [objects[number][index] for number, index in zip(pairs[::2], pairs[1::2], strict=True)]
        return found[0] if keys is None else dict(zip(keys, found, strict=True)) if keys else found

    states: States = msgspec.msgpack.Decoder(ext_hook=resolve).decode(saved.states)
    packed = saved.uuids  # the rest of what was saved can leave the memory
    uuids = cache(lambda: _decode_uuids(unpack(packed)))
    for number, ((*parts, compactions), one) in enumerate(zip(states, folds, strict=True)):
        for state, (part, known) in zip(parts, saved_attributes(one), strict=True):
            for name, value in state.items():
                _restore(part, name, known[name], value)
        conversation = one.conversation
        conversation.tree.restore_uuids(partial(_uuids_of, uuids, number))
        conversation.compactions += [
            Compaction(conversation, first, second, micro) for first, second, micro in compactions
        ]


def _uuids_of(uuids: Callable[[], list[tuple[list[str], bytes]]], number: int) -> dict[str, int]:
    names, indexes = uuids()[number]
    return dict(zip(names, memoryview(indexes).cast("I"), strict=True))


def _new_folds(objects: Sequence[ConversationObjects], fold: Fold) -> list[Fold]:
    """Return an empty fold and new ones for the agents in its file, in the order in which they were saved."""
    rest = iter(objects)
    return list(_with_agents(fold, next(rest), rest))


def _with_agents(fold: Fold, objects: ConversationObjects, rest: Iterator[ConversationObjects]) -> Iterator[Fold]:
    yield fold
    for _ in range(objects.agents):
        inner = next(rest)
        assert inner.agent is not None
        id, parent_uuid = inner.agent
        yield from _with_agents(fold.add_agent(id, parent_uuid=parent_uuid), inner, rest)


def _restore(part: Any, name: str, current: Any, value: Any) -> None:
    """Set an attribute, in place if it is a container: other parts may hold it too."""
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
