"""Hits: where in which session a query matches, with the text around it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from reread.base.times import parse_json_time
from reread.catalog.summaries import Header, read_header
from reread.disk import layout
from reread.disk.filenames import unicode_stem
from reread.disk.kept import is_file
from reread.disk.sources import FileSource
from reread.errors import RereadError, naming_file
from reread.index.matching import Snippet
from reread.index.unit_reader import FoundUnit
from reread.index.units import named_files
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.model.ledger import AGENT, ATTACHED, DUPLICATE, MERGED, PAIRED, REAPPENDED, SHOWN, call_target
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


class Location(NamedTuple):
    """Where a record is in its session."""

    conversation: Conversation | None = None
    message: Message | None = None
    call: Call | None = None
    agent: str | None = None


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

    def hit(self, found: FoundUnit, snippet: Snippet) -> Hit | None:
        """Return the hit of a unit; None if its session cannot be read."""
        session_id = _session_id(found.path) if os.path.basename(found.path).startswith(layout.AGENT_PREFIX) else ""
        main = session_file(found.path, session_id)
        header = self.header(main)
        if header is None:
            return None
        opened = self._open(main)
        location = opened.locate(found) if opened is not None else Location()
        turn, branch = opened.turn(location) if opened is not None else (None, None)
        call = location.call
        key = self._keys.get(main) or unicode_stem(Path(main))
        return Hit(
            session=header.id,
            title=header.title,
            project=header.project,
            path=found.path,
            line=found.line,
            turn=turn,
            agent=location.agent,
            call=call.id if call is not None else found.unit.call or None,
            kind=found.unit.kind,
            tool=found.unit.tool or (call.name if call is not None else None),
            time=parse_json_time(found.time_ms) if found.time_ms else None,
            before=snippet.before,
            match=snippet.match,
            after=snippet.after,
            link=_link(key, location, branch, found.line, snippet.match),
            file=next(iter(found.unit.files or (named_files(call.input) if call is not None else ())), None),
            branch=branch,
            key=key,
        )

    def header(self, path: str) -> Header | None:
        """Return the header of a session's file; None if it cannot be read."""
        if path not in self._headers:
            self._headers[path] = None
            with suppress(RereadError, OSError), naming_file(path):
                self._headers[path] = read_header(path)
        return self._headers[path]

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


class OpenedSession:
    """A session in which hits are located."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._session = Session(FileSource(Path(path)))
        self._session.loader.save()
        self._turns: dict[int, int] | None = None

    def locate(self, found: FoundUnit) -> Location:
        """Return the message, call and agent that a unit belongs to."""
        location = self._at(found)
        call_id = found.unit.call
        if location.conversation is not None and call_id and (location.call is None or location.call.id != call_id):
            call = location.conversation.find_call(call_id)
            location = location._replace(call=call, message=call.message if call is not None else location.message)
        return location

    def _at(self, found: FoundUnit) -> Location:
        if found.path == self._path:
            return _locate(self._session.loader.conversation, found.offset, found.length, None)
        id = layout.agent_id(Path(found.path))
        loader = self._session.agent_loaders.get(id)
        if loader is None:
            return Location(agent=id)
        return _locate(loader.conversation, found.offset, found.length, id)

    def turn(self, location: Location) -> tuple[int | None, int | None]:
        """Return the turn of the main thread that a location is in, and its branch if that is abandoned."""
        message = location.message
        if location.agent is not None:
            message = self._call_message(location.agent)
        if message is None:
            return None, None
        if self._turns is None:
            turns = self._session.loader.conversation.turns
            self._turns = {message.index: turn.index for turn in turns for message in turn.messages}
        if message.index in self._turns or message.conversation is not self._session.loader.conversation:
            return self._turns.get(message.index), None
        branch = next((b for b in message.conversation.branches if b.id == message.branch), None)
        turns = branch.turns if branch is not None else []
        return next((turn.index for turn in turns if message in turn.messages), None), message.branch

    def _call_message(self, agent_id: str) -> Message | None:
        """Return the message of the main thread that started an agent, directly or through others."""
        agent: Agent | None = self._session.agents.get(agent_id)
        for _ in range(100):
            if agent is None or agent.call is None:
                return None
            if not isinstance(agent.call.conversation, Agent):
                return agent.call.message
            agent = agent.call.conversation
        return None


def _locate(conversation: Conversation, offset: int, length: int, agent: str | None) -> Location:
    """Return where in a conversation the first record within some bytes is."""
    index = conversation.records.index_at(offset, length)
    for _ in range(2):
        if index < 0:
            return Location(conversation, agent=agent)
        code, target = conversation.ledger.code(index), conversation.ledger.targets[index]
        if code in (SHOWN, MERGED):
            return Location(conversation, conversation.messages[target], agent=agent)
        if code == PAIRED or (code == ATTACHED and target < -1):
            call = conversation.calls[target if code == PAIRED else call_target(target)]
            return Location(conversation, call.message, call, agent)
        if code == ATTACHED and target >= 0:
            return Location(conversation, conversation.messages[target], agent=agent)
        if code == AGENT:
            id = conversation.ledger.agents[target]
            return _locate(conversation.inline_agents[id], offset, length, id)
        if code not in (DUPLICATE, REAPPENDED):
            break
        index = target
    return Location(conversation, agent=agent)


def _session_id(path: str) -> str:
    envelope = layout.first_envelope(Path(path))
    return envelope.sessionId or "" if envelope is not None else ""


def _link(key: str, location: Location, branch: int | None, line: int, match: str) -> str:
    """Return the address of a place in the reader, which marks the match there."""
    params: dict[str, Any] = {"branch": branch} if branch is not None else {}
    if location.call is not None:
        params["call"] = location.call.id
    elif location.message is not None:
        params["at"] = location.message.id
    else:
        params["line"] = line
    if match and len(match) <= LONGEST_MARK and "\n" not in match:
        params["q"] = match
    agent = f"/a/{quote(location.agent, safe='')}" if location.agent is not None else ""
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
