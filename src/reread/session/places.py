"""Places in a session: the paths, turns, calls and requests that an address names."""

from __future__ import annotations

from collections.abc import Mapping

from reread.base.address import LAST, LATEST, Address
from reread.base.text import plural
from reread.errors import Misuse, NotFound
from reread.model.conversation import Agent, Call, Conversation, Request, Turn
from reread.model.tree import no_path_text

MOST_LISTED = 8
"""So many agents are named if there is none of a name."""


class NoSuchRequest(NotFound):
    """The thread has no request with this number, or the client noted none."""


def check_place(conversation: Conversation, at: Address) -> None:
    """Raise an error that says what there is, if a conversation has no such place."""
    if at.request is not None:
        request_at(conversation, at.request)
    elif at.call is not None:
        call_at(conversation, at)
    elif at.turn != 0:
        turns_at(conversation, at)


def turns_of(conversation: Conversation, path: int | None) -> list[Turn]:
    """Return the turns of a path, by default the active one; raise Misuse if there is no such path."""
    if path is None:
        return conversation.turns
    if not 0 <= path < len(conversation.branches):
        raise Misuse(no_path_text((one.id for one in conversation.branches), path))
    return conversation.branch(path).turns


def turns_at(conversation: Conversation, at: Address) -> list[Turn]:
    """Return the one turn that an address names, or all of its path."""
    turns = turns_of(conversation, at.path)
    if at.turn is None:
        return turns
    if not 0 < at.turn <= len(turns):
        raise Misuse(no_turn_text(at.turn, len(turns), at.path))
    return [turns[at.turn - 1]]


def no_turn_text(number: int, count: int, path: int | None = None) -> str:
    """Return what to say if a turn is not there."""
    where = "this session" if path is None else f"path {path}"
    return f"No turn {number}; {where} has {plural(count, 'turn')}."


def call_at(conversation: Conversation, at: Address) -> Call:
    """Return the call that an address names."""
    [turn] = turns_at(conversation, at)
    calls = [call for message in turn.messages for call in message.calls]
    if at.call is None or at.call > len(calls):
        names = ", ".join(f"{number} {call.name}" for number, call in enumerate(calls[:MOST_LISTED], 1))
        more = ", …" if len(calls) > MOST_LISTED else ""
        listed = f": {names}{more}" if names else ""
        raise Misuse(f"No call {at.call} in turn {at.turn}; it has {plural(calls, 'call')}{listed}.")
    return calls[at.call - 1]


def request_at(conversation: Conversation, number: int) -> Request:
    """Return a request by its number, -1 for the last one."""
    requests = conversation.requests
    found = len(requests) if number == LAST else number
    if not 0 < found <= len(requests):
        raise NoSuchRequest(no_request_text(len(requests), LATEST if number == LAST else number))
    return requests[found - 1]


def no_request_text(count: int, number: int | str) -> str:
    """Return what to say if a request is not there."""
    if not count:
        noted = "Claude Code does so from 2.1.325 on, and the samples of --demo have none"
        return f"No API requests are noted in this session: {noted}."
    return f"No request {number}; this session has {plural(count, 'request')}."


def find_agent(agents: Mapping[str, Agent], name: str) -> Agent:
    """Return the agent whose id is, or begins with, a text; the text may be the name of its file, `agent-ID`."""
    found = [agents[name]] if name in agents else []
    starts = (name, name.removeprefix("agent-"))
    found = found or [one for id, one in agents.items() if id.startswith(starts)]
    if len(found) != 1:
        ids = ", ".join([one.id for one in found or agents.values()][:MOST_LISTED])
        there = f"these do: {ids}" if found else f"there are {ids}" if agents else "it has none"
        raise NotFound(f"{len(found) or 'No'} agents of this session have an id that begins with {name!r}; {there}.")
    return found[0]


def cut_after(conversation: Conversation, at: Address) -> int | None:
    """Return the last record of a place: of its call, its turn or its path; None for the end of the session."""
    if at.call is not None:
        call = call_at(conversation, at)
        return max(call.message.records[-1], call.answer)
    if at.turn is None and at.path is None:
        return None
    last = -1
    if at.turn != 0:
        turns = turns_at(conversation, at)
        last = turns[-1].messages[-1].index if turns else -1
    following = conversation.messages[last + 1 :][:1]
    return following[0].records[0] - 1 if following else None
