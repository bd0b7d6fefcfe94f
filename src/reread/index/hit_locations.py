"""Places: what a hit says of its record besides the text, kept in the catalogue for each file.

They are saved when a session is indexed, so that hits need not open it. They are used only if the file, and those of
the session's agents if the places depend on them, are as they were: of a session that has grown since, and is not
indexed again yet, the places are found and saved when it is opened for a hit. What they do not tell, it does.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reread.disk.agent_files import agent_files
from reread.disk.cache import LARGEST_VALUE, FileState, Statement
from reread.disk.derived_cache import (
    Catalogue,
    FileValue,
    compressed,
    decompressed,
    encoded,
    row_statements,
    stored_path,
)
from reread.disk.fact_table import FILE
from reread.disk.sources import FileSource
from reread.errors import RereadError
from reread.facts.schema import PLACES
from reread.model.content import content_blocks
from reread.model.ledger import AGENT, ATTACHED, DUPLICATE, MERGED, PAIRED, REAPPENDED, SHOWN, call_target
from reread.records.decode import Record
from reread.session.fold_schema import code_format

if TYPE_CHECKING:
    from reread.model.conversation import Conversation

_KNOWN = (
    f"SELECT p.value FROM {PLACES.name} p JOIN {FILE.name} f ON f.id = p.file"
    " WHERE f.path = ? AND p.device = ? AND p.inode = ? AND p.size = ? AND p.modified = ?"
    " AND typeof(p.value) = 'blob'"
)
NONE, UNKNOWN = -1, -2
"""Stand for the turn of a message that is in none, and of one that was not looked for."""
MOST_STEPS = 200_000
"""Turns on abandoned branches are looked for if that takes at most this many steps."""


class LocatedCall(NamedTuple):
    """The call that a hit belongs to."""

    id: str
    name: str
    read_input: Callable[[], Any]


class HitLocation(NamedTuple):
    """Where a hit is in its session."""

    agent: str | None = None
    message: str | None = None
    """The id of the message."""
    call: LocatedCall | None = None
    turn: int | None = None
    branch: int | None = None


class RecordTarget(NamedTuple):
    """The owner of a record: one of these by number, or none."""

    message: int | None = None
    call: int | None = None
    agent: int | None = None


class Columns(NamedTuple):
    """The offsets of records, and what became of each."""

    offsets: array[int]
    codes: bytes | bytearray
    targets: array[int]

    @classmethod
    def of(cls, conversation: Conversation) -> Columns:
        """Return the columns of a conversation."""
        return cls(conversation.records.offsets, conversation.ledger.codes, conversation.ledger.targets)

    def target_at(self, offset: int, length: int) -> RecordTarget:
        """Return what the first record that begins within some bytes belongs to."""
        index = bisect_left(self.offsets, offset)
        if index >= len(self.offsets) or self.offsets[index] >= offset + length:
            return RecordTarget()
        for _ in range(2):
            if index < 0:
                break
            code, target = self.codes[index], self.targets[index]
            if code in (SHOWN, MERGED) or (code == ATTACHED and target >= 0):
                return RecordTarget(message=target)
            if code == PAIRED or (code == ATTACHED and target < -1):
                return RecordTarget(call=target if code == PAIRED else call_target(target))
            if code == AGENT:
                return RecordTarget(agent=target)
            if code not in (DUPLICATE, REAPPENDED):
                break
            index = target
        return RecordTarget()


class SavedCall(NamedTuple):
    """A call of a conversation, and where its input is."""

    id: str
    name: str
    message: int
    offset: int
    length: int
    block: int


class ConversationLocations(msgspec.Struct, array_like=True):
    """The places of the records of one conversation."""

    agent: str | None
    turn: tuple[int | None, int | None]
    """Of an agent, the turn of the main thread that started it, and its branch if that is abandoned."""
    offsets: bytes
    codes: bytes
    targets: bytes
    messages: list[str]
    """The ids of messages."""
    turns: bytes
    """The turn of each message, in the main thread."""
    branches: bytes
    """The branch of each message there, NONE for the active one."""
    calls: list[SavedCall]
    agents: list[ConversationLocations]
    """The agents in the same file, by the target of their records; empty if they were not looked for."""


class FileLocations(msgspec.Struct, array_like=True):
    """The places of the records of one file."""

    format: str
    """That of the code which found them."""
    files: dict[str, FileState]
    """The states of all files of the session, if the places depend on them."""
    ids: list[str]
    """The sessions whose agents belong to it."""
    conversation: msgspec.Raw
    """Its `ConversationLocations`, encoded."""


AgentTurn = Callable[[str], tuple[int | None, int | None]]
"""Returns the turn of the main thread that started an agent, and its branch if that is abandoned."""


def make_places(
    conversation: Conversation, agent: str | None, agent_turn: AgentTurn | None, turns: Sequence[int] = ()
) -> ConversationLocations:
    """Return the places of a conversation's records.

    `turns` are those of messages of the main thread. Without `agent_turn`, agents in the same file are left out.
    """
    columns, records = Columns.of(conversation), conversation.records
    active = conversation.turns if agent is None else ()
    shown = {message.index for turn in active for message in turn.messages}
    messages = conversation.messages if agent is None else ()
    inner = conversation.inline_agents
    return ConversationLocations(
        agent,
        agent_turn(agent) if agent is not None and agent_turn is not None else (None, None),
        columns.offsets.tobytes(),
        bytes(columns.codes),
        columns.targets.tobytes(),
        [message.id for message in conversation.messages],
        array("i", turns).tobytes(),
        array("i", [NONE if message.index in shown else message.branch for message in messages]).tobytes(),
        [
            SavedCall(call.id, call.name, call.message.index, *records.position(call.use)[1:], call.place)
            for call in conversation.calls
        ],
        [make_places(inner[id], id, agent_turn) for id in conversation.ledger.agents] if agent_turn else [],
    )


def message_turns(conversation: Conversation) -> list[int]:
    """Return the turn of each message on its branch, or on the active one."""
    count = len(conversation.messages)
    branches = conversation.branches
    if len(branches) * count > MOST_STEPS:
        del branches[1:]
    found = [UNKNOWN] * count
    for branch in branches:
        for message in branch.messages if branch.active else branch.own:
            found[message.index] = max(found[message.index], NONE)
        for turn in conversation.turns if branch.active else branch.turns:
            for message in turn.messages:
                if found[message.index] == NONE:
                    found[message.index] = turn.index
    return found


def session_states(main: str, ids: Sequence[str]) -> dict[str, FileState]:
    """Return the states of a session's file, those of its agents, and what the client says of these."""
    found: dict[str, FileState] = {}
    agents = agent_files(Path(main), ids).values()
    for path in (Path(main), *agents, *(path.with_suffix(".meta.json") for path in agents)):
        with suppress(OSError):
            found[str(path)] = FileState.at(path)
    return found


class SavedLocations:
    """The places of a conversation as they were saved."""

    def __init__(self, path: str, saved: ConversationLocations) -> None:
        self._path = path
        self._saved = saved
        self._columns = Columns(_array("Q", saved.offsets), saved.codes, _array("i", saved.targets))

    @cached_property
    def _calls_by_id(self) -> dict[str, SavedCall]:
        return {call.id: call for call in self._saved.calls}

    def place(self, offset: int, length: int, call_id: str) -> HitLocation | None:
        """Return the place of a record, or of a call in it; None if only the opened session can tell."""
        saved = self._saved
        target = self._columns.target_at(offset, length)
        if target.agent is not None:
            inner = saved.agents[target.agent] if target.agent < len(saved.agents) else None
            return SavedLocations(self._path, inner).place(offset, length, call_id) if inner is not None else None
        call = saved.calls[target.call] if target.call is not None else None
        message = call.message if call is not None else target.message
        if call_id and (call is None or call.id != call_id):
            call = self._calls_by_id.get(call_id)
            message = call.message if call is not None else message
        turn, branch = saved.turn if saved.agent is not None or message is None else self._turn(message)
        if turn == UNKNOWN:
            return None
        placed = LocatedCall(call.id, call.name, lambda: self._input(call)) if call is not None else None
        return HitLocation(saved.agent, saved.messages[message] if message is not None else None, placed, turn, branch)

    def _turn(self, message: int) -> tuple[int | None, int | None]:
        turn, branch = (_array("i", column)[message] for column in (self._saved.turns, self._saved.branches))
        return None if turn == NONE else turn, None if branch == NONE else branch

    def _input(self, call: SavedCall) -> Any:
        try:
            body = FileSource(Path(self._path)).read(call.offset, call.length)
        except RereadError:
            return None
        blocks = content_blocks(Record(0, call.offset, body).native)
        return getattr(blocks[call.block], "input", None) if call.block < len(blocks) else None


def _array(kind: str, data: bytes) -> array[int]:
    column: array[int] = array(kind)
    column.frombytes(data)
    return column


_decode_file = msgspec.msgpack.Decoder(FileLocations).decode
_decode = msgspec.msgpack.Decoder(ConversationLocations).decode


class _KnownPlaces(FileValue, frozen=True):
    """The places of a file, packed."""

    value: bytes


class LocationsTable(Catalogue[_KnownPlaces]):
    """The places of files."""

    def __init__(self) -> None:
        super().__init__(FILE.in_cache, PLACES.in_cache)
        self._unsaved: list[_KnownPlaces] = []

    def read(self, path: str, main: str) -> SavedLocations | None:
        """Return the places of a file of a session; None if they are not known, or not as its files are now."""
        saved = self._current(path, main)
        with suppress(ValueError):  # of another form
            return SavedLocations(path, _decode(saved)) if saved is not None else None
        return None

    def has(self, path: str, main: str) -> bool:
        """True if the places of a file of a session are known as its files are now."""
        return self._current(path, main) is not None

    def _current(self, path: str, main: str) -> msgspec.Raw | None:
        try:
            values = self.cache.read(_KNOWN, stored_path(path), *FileState.at(path))
            if not values:
                return None
            saved = _decode_file(decompressed(values[0][0], LARGEST_VALUE))
        except (OSError, ValueError):  # damaged, or of another form
            return None
        if saved.format != code_format() or (saved.files and saved.files != session_states(main, saved.ids)):
            return None
        return saved.conversation

    def statements(self, values: Sequence[_KnownPlaces]) -> list[Statement]:
        """Return the statements that store places."""
        return row_statements(PLACES, ((one.path, *one.state, one.value) for one in values))

    def add(
        self,
        path: str,
        state: FileState,
        places: ConversationLocations,
        files: dict[str, FileState] | None = None,
        ids: Sequence[str] = (),
    ) -> None:
        """Keep the places of a file that was in a state when it was read, and if they depend on them, those of others.

        `flush` writes them.
        """
        value = encoded(places)
        if value is not None:
            file = FileLocations(code_format(), files or {}, list(ids), msgspec.Raw(value))
            known = compressed(encoded(file) or b"")
            self._unsaved.append(_KnownPlaces(path, state, known))

    def flush(self) -> None:
        """Write what was added to the catalogue."""
        if self._unsaved:
            self.save(self._unsaved)
            self._unsaved.clear()

    def close(self) -> None:
        """Close the catalogue."""
        self.flush()
        super().close()


def forget_places(paths: Sequence[str]) -> None:
    """Delete the places of files that are gone."""
    if paths:
        table = LocationsTable()
        table.save([], paths)
        table.close()
