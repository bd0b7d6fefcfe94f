"""Hits: where in which session a query matches, with the text around it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from reread.base.times import parse_json_time
from reread.catalog.summaries import Header, read_header
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.filenames import unicode_stem
from reread.disk.kept import is_file
from reread.disk.sources import FileSource
from reread.errors import RereadError, naming_file
from reread.index.matching import Snippet
from reread.index.places import (
    Columns,
    FilePlaces,
    HitPlace,
    PlacedCall,
    PlacesTable,
    SavedPlaces,
    make_places,
    message_turns,
    session_states,
)
from reread.index.unit_reader import FoundUnit
from reread.index.units import named_files
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.session.loader import Loader
from reread.session.saved_fold import code_format
from reread.session.session import Session

LONGEST_MARK = 100
"""Longer matches are not marked in the reader."""
OPEN_SESSIONS = 8
"""How many sessions stay open while hits are located."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A place where a query matches."""

    session: str
    """The id of the session."""
    title: str
    project: str
    path: str
    """The file: that of the session, or of an agent."""
    line: int
    turn: int | None = None
    """The turn of the main thread, counted from 1; None if the text is in no turn."""
    agent: str | None = None
    """The id of the agent; None in the main thread."""
    call: str | None = None
    """The id of the call, of an input or a result."""
    kind: str
    """prompt, text, thinking, input, result, notice or title."""
    tool: str | None = None
    time: datetime | None = None
    before: str
    match: str
    after: str
    link: str
    """The address of the place in the reader, after the server's own."""
    file: str | None = None
    """The file that the call is about, if its input or result names one."""
    branch: int | None = None
    """The branch, if the session continued on another."""
    key: str = ""
    """The name of the session in the reader."""


def session_file(path: str, session: str = "") -> str:
    """Return the session's file that an agent's file belongs to; other files are their own."""
    if not os.path.basename(path).startswith(layout.AGENT_PREFIX):
        return path
    above, found, _ = path.replace("\\", "/").partition(f"/{layout.SUBAGENTS}/")
    main = f"{above}.jsonl" if found else str(Path(path).with_name(f"{session}.jsonl"))
    return main if (found or session) and is_file(main) else path


class HitBuilder:
    """Makes hits of units that match; sessions stay open for a while, since hits of one come together."""

    def __init__(self, keys: Mapping[str, str] | None = None) -> None:
        """Make hits; `keys` has the names of sessions in links, by path."""
        self._keys = keys or {}
        self._sessions: dict[str, OpenedSession] = {}
        self._headers: dict[str, Header | None] = {}
        self._places: dict[str, SavedPlaces | None] = {}
        self._table: PlacesTable | None = None

    def hit(self, found: FoundUnit, snippet: Snippet) -> Hit | None:
        """Return the hit of a unit; None if its session cannot be read."""
        session_id = _session_id(found.path) if os.path.basename(found.path).startswith(layout.AGENT_PREFIX) else ""
        main = session_file(found.path, session_id)
        header = self.header(main)
        if header is None:
            return None
        place = self._place(found, main)
        call = place.call
        key = self._keys.get(main) or unicode_stem(Path(main))
        return Hit(
            session=header.id,
            title=header.title,
            project=header.project,
            path=found.path,
            line=found.line,
            turn=place.turn,
            agent=place.agent,
            call=call.id if call is not None else found.unit.call or None,
            kind=found.unit.kind,
            tool=found.unit.tool or (call.name if call is not None else None),
            time=parse_json_time(found.time_ms) if found.time_ms else None,
            before=snippet.before,
            match=snippet.match,
            after=snippet.after,
            link=_link(key, place, found.line, snippet.match),
            file=next(iter(found.unit.files or (named_files(call.read_input()) if call is not None else ())), None),
            branch=place.branch,
            key=key,
        )

    def header(self, path: str) -> Header | None:
        """Return the header of a session's file; None if it cannot be read."""
        if path not in self._headers:
            self._headers[path] = None
            with suppress(RereadError, OSError), naming_file(path):
                self._headers[path] = read_header(path)
        return self._headers[path]

    def close(self) -> None:
        """Close the catalogue."""
        if self._table is not None:
            self._table.close()
            self._table = None

    def _place(self, found: FoundUnit, main: str) -> HitPlace:
        """Return the place of a unit, from the catalogue if it is known there, else from the opened session."""
        table = self._table = self._table or PlacesTable()
        known = self._places.pop(found.path, None) or table.read(found.path, main)
        if len(self._places) >= OPEN_SESSIONS:
            del self._places[next(iter(self._places))]
        self._places[found.path] = known
        place = known.place(found.offset, found.length, found.unit.call) if known is not None else None
        if place is not None:
            return place
        opened = self._open(main)
        if opened is None:
            return HitPlace()
        place = opened.place(found)
        in_same_file = place.agent is not None and found.path == main
        if known is None or in_same_file:
            opened.save_places(found.path, table, agents=in_same_file)
        return place

    def _open(self, path: str) -> OpenedSession | None:
        opened = self._sessions.pop(path, None)
        if opened is None:
            try:
                with naming_file(path):
                    opened = OpenedSession(path)
            except (RereadError, OSError):
                return None
            if len(self._sessions) >= OPEN_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        self._sessions[path] = opened
        return opened


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

    def __init__(self, path: str) -> None:
        self._path = path
        self._state = FileState.at(path)
        self._session = Session(FileSource(Path(path)))
        self._session.loader.save()
        self._saved: set[tuple[str, bool]] = set()

    def place(self, found: FoundUnit) -> HitPlace:
        """Return the place of a unit."""
        location = self._at(found)
        message, call, call_id = location.message, location.call, found.unit.call
        if location.conversation is not None and call_id and (call is None or call.id != call_id):
            call = location.conversation.find_call(call_id)
            message = call.message if call is not None else message
        turn, branch = self._turn(message) if location.agent is None else self._agent_turn(location.agent)
        placed = PlacedCall(call.id, call.name, lambda: call.input) if call is not None else None
        return HitPlace(location.agent, message.id if message is not None else None, placed, turn, branch)

    def save_places(self, path: str, table: PlacesTable, *, agents: bool) -> None:
        """Save the places of one of its files, once; with `agents`, also those of agents in the same file."""
        session, conversation = self._session, self._session.loader.conversation
        if (path, agents) in self._saved:
            return
        self._saved.add((path, agents))
        if path == self._path and not agents:
            places = make_places(conversation, None, None, message_turns(conversation))
            table.save(path, self._state, FilePlaces(code_format(), {}, [], places))
            return
        files, id = self._agents.files, layout.agent_id(Path(path))
        if session.transcripts or path not in files or files.get(self._path) != self._state:
            return
        if path == self._path:
            places = make_places(conversation, None, self._agent_turn, message_turns(conversation))
        elif id in self._agents.loaders:
            places = make_places(self._agents.loaders[id].conversation, id, self._agent_turn)
        else:
            return
        table.save(path, files[path], FilePlaces(code_format(), files, self._agents.ids, places))

    @cached_property
    def _agents(self) -> _Agents:
        session = self._session
        ids = layout.agent_sessions(Path(self._path), session.ids)
        return _Agents(ids, session_states(self._path, ids), session.agent_loaders, session.agents)

    def _at(self, found: FoundUnit) -> _Location:
        if found.path == self._path:
            return _locate(self._session.loader.conversation, found.offset, found.length, None)
        id = layout.agent_id(Path(found.path))
        loader = self._agents.loaders.get(id)
        if loader is None:
            return _Location(agent=id)
        return _locate(loader.conversation, found.offset, found.length, id)

    @cached_property
    def _turns(self) -> dict[int, int]:
        """The turns of the active branch, by message."""
        turns = self._session.loader.conversation.turns
        return {message.index: turn.index for turn in turns for message in turn.messages}

    def _turn(self, message: Message | None) -> tuple[int | None, int | None]:
        """Return the turn of the main thread that a message is in, and its branch if that is abandoned."""
        if message is None:
            return None, None
        if message.index in self._turns or message.conversation is not self._session.loader.conversation:
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


def _session_id(path: str) -> str:
    envelope = layout.first_envelope(Path(path))
    return envelope.sessionId or "" if envelope is not None else ""


def _link(key: str, place: HitPlace, line: int, match: str) -> str:
    """Return the address of a place in the reader, which marks the match there."""
    params: dict[str, Any] = {"branch": place.branch} if place.branch is not None else {}
    if place.call is not None:
        params["call"] = place.call.id
    elif place.message is not None:
        params["at"] = place.message
    else:
        params["line"] = line
    if match and len(match) <= LONGEST_MARK and "\n" not in match:
        params["q"] = match
    agent = f"/a/{quote(place.agent, safe='')}" if place.agent is not None else ""
    return f"#/s/{quote(key, safe='')}{agent}?{urlencode(params)}"


JSON_FIELDS = (
    "session",
    "title",
    "project",
    "path",
    "line",
    "turn",
    "agent",
    "call",
    "kind",
    "tool",
    "time",
    "before",
    "match",
    "after",
    "link",
)


def hit_value(hit: Hit) -> dict[str, Any]:
    """Return a hit as a JSON value."""
    return {name: getattr(hit, name) for name in JSON_FIELDS}


def group_by_session(hits: Sequence[Hit]) -> dict[str, list[Hit]]:
    """Return hits by session, in the order of each session's first hit."""
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.key, []).append(hit)
    return groups
