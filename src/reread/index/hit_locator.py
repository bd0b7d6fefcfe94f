"""A session that was opened to locate hits whose places are not yet known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from reread.disk.agent_files import agent_files, agent_id, agent_sessions
from reread.disk.cache import FileState
from reread.disk.sources import FileSource
from reread.index.document_reader import FoundDocument
from reread.index.hit_locations import (
    Columns,
    HitLocation,
    LocatedCall,
    LocationsTable,
    make_places,
    message_turns,
    session_states,
)
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.session.loader import Loader
from reread.session.session import Session, threads_of
from reread.session.threads import SessionThreads


class _Location(NamedTuple):
    """Where a record is in an opened session."""

    conversation: Conversation | None = None
    message: Message | None = None
    call: Call | None = None
    agent: str | None = None


class _Agents(NamedTuple):
    """The agents of a session."""

    ids: list[str]
    """The sessions whose agents they are."""
    files: dict[str, FileState]
    """The states of all its files before the agents were read."""
    loaders: Mapping[str, Loader]
    by_id: Mapping[str, Agent]


class OpenedSession:
    """A session in which hits are located."""

    def __init__(self, path: str, threads: SessionThreads | None = None, state: FileState | None = None) -> None:
        """Open a session, unless it was opened after its file was in a state."""
        self._path = path
        self._state = state or FileState.at(path)
        self._threads = threads or SessionThreads(FileSource(Path(path)))
        self._threads.loader.save()
        self._saved: set[tuple[str, bool]] = set()

    def place(self, found: FoundDocument) -> HitLocation:
        """Return the place of a document."""
        location = self._at(found)
        message, call, call_id = location.message, location.call, found.document.call
        if location.conversation is not None and call_id and (call is None or call.id != call_id):
            call = location.conversation.find_call(call_id)
            message = call.message if call is not None else message
        turn, branch = self._turn(message) if location.agent is None else self._agent_turn(location.agent)
        placed = LocatedCall(call.id, call.name, lambda: call.input) if call is not None else None
        return HitLocation(location.agent, message.id if message is not None else None, placed, turn, branch)

    def save_places(self, path: str, table: LocationsTable, *, agents: bool) -> None:
        """Save the places of one of its files, once; with `agents`, also those of agents in the same file."""
        threads, conversation = self._threads, self._threads.loader.conversation
        if (path, agents) in self._saved:
            return
        self._saved.add((path, agents))
        if path == self._path and not agents:
            places = make_places(conversation, None, None, message_turns(conversation))
            table.add(path, self._state, places)
            return
        files, id = self._agents.files, agent_id(Path(path))
        if threads.transcripts or path not in files or files.get(self._path) != self._state:
            return
        if path == self._path:
            places = make_places(conversation, None, self._agent_turn, message_turns(conversation))
        elif id in self._agents.loaders:
            places = make_places(self._agents.loaders[id].conversation, id, self._agent_turn)
        else:
            return
        table.add(path, files[path], places, files, self._agents.ids)

    def save_all(self, table: LocationsTable) -> None:
        """Save the places of all its files."""
        self.save_places(self._path, table, agents=bool(self._threads.loader.conversation.inline_agents))
        for loader in self._agents.loaders.values():
            self.save_places(str(loader.source.path), table, agents=False)

    @cached_property
    def _agents(self) -> _Agents:
        threads = self._threads
        ids = agent_sessions(Path(self._path), threads.ids)
        return _Agents(ids, session_states(self._path, ids), threads.agent_loaders, threads.agents)

    def _at(self, found: FoundDocument) -> _Location:
        if found.path == self._path:
            return _locate(self._threads.loader.conversation, found.offset, found.length, None)
        id = agent_id(Path(found.path))
        loader = self._agents.loaders.get(id)
        if loader is None:
            return _Location(agent=id)
        return _locate(loader.conversation, found.offset, found.length, id)

    @cached_property
    def _turns(self) -> dict[int, int]:
        """The turns of the active branch, by message."""
        turns = self._threads.loader.conversation.turns
        return {message.index: turn.index for turn in turns for message in turn.messages}

    def _turn(self, message: Message | None) -> tuple[int | None, int | None]:
        """Return the turn of the main thread that a message is in, and its branch if that is abandoned."""
        if message is None:
            return None, None
        if message.index in self._turns or message.conversation is not self._threads.loader.conversation:
            return self._turns.get(message.index), None
        branch = next((b for b in message.conversation.branches if b.id == message.branch), None)
        turns = branch.turns if branch is not None else []
        return next((turn.index for turn in turns if message in turn.messages), None), message.branch

    def _agent_turn(self, agent_id: str) -> tuple[int | None, int | None]:
        """Return the turn of the main thread that started an agent, directly or through others, and its branch."""
        agent: Agent | None = self._agents.by_id.get(agent_id)
        for _ in range(100):
            if agent is None or agent.call is None:
                break
            if not isinstance(agent.call.conversation, Agent):
                return self._turn(agent.call.message)
            agent = agent.call.conversation
        return None, None


def _locate(conversation: Conversation, offset: int, length: int, agent: str | None) -> _Location:
    """Return where in a conversation the first record within some bytes is."""
    target = Columns.of(conversation).target_at(offset, length)
    if target.agent is not None:
        id = conversation.ledger.agents[target.agent]
        return _locate(conversation.inline_agents[id], offset, length, id)
    if target.call is not None:
        call = conversation.calls[target.call]
        return _Location(conversation, call.message, call, agent)
    message = conversation.messages[target.message] if target.message is not None else None
    return _Location(conversation, message, agent=agent)


class PlacesPart:
    """The places of the texts of sessions."""

    def __init__(self) -> None:
        self._table = LocationsTable()

    def state(self, path: Path) -> FileState:
        """Return the state of a session's file; those of its agents are kept with the places."""
        return FileState.at(path)

    def is_current(self, path: Path, state: FileState) -> bool:
        """True if the places of all files of a session are known."""
        agents = agent_files(path, [path.stem]).values()
        return all(self._table.has(str(file), str(path)) for file in (path, *agents))

    def derive(self, session: Session, state: FileState) -> None:
        """Find the places of a session's texts; before its agents are read, so that their states are known."""
        OpenedSession(str(session.path), threads_of(session), state).save_all(self._table)

    def save(self) -> None:
        """Write the places to the catalogue."""
        self._table.flush()

    def close(self) -> None:
        """Close the catalogue."""
        self._table.close()
