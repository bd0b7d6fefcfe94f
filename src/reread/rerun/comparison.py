"""Compare a session with how it was played: its calls, its requests part by part, and the files at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from reread.base import jsontext
from reread.base.choices import RUNNING
from reread.model.conversation import Agent, Call, Request
from reread.session.context_parts import BYTES_PER_TOKEN, KINDS, PartKey, PartSizes, add_parts

if TYPE_CHECKING:
    from reread.session.session import Session

EQUAL = "equal"
VOLATILE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids of sessions, prompts …
    r"|\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?\b"
    r"|\b(?<=agentId: )\w+|(?<=<task-id>)\w+|\bagent-[0-9a-f]{8,}\b|\b[a-z]?[0-9a-f]{16}(?=\.output\b|\b)"
    r"|(?<=duration_ms)\W+[\d.]+|-blob-\d+-\w+|\b[bt][0-9a-z]{8}(?=\.output\b|\. |<)"
    r"|^[0-9a-f]{7} (?=start$)",  # the first commit of a repository made anew
    re.MULTILINE,
)
"""What differs in every run, whatever is played."""


class PlayedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded call, and what became of it."""

    id: str
    name: str
    title: str
    turn: int | None
    """The turn of the main thread that it is in, or that began its agent."""
    agent: str | None
    reached: bool
    """True if the client made the call again."""
    same_input: bool
    was: str
    """How it ended in the record: `done`, `exit 1`, `denied` …"""
    now: str
    """How it ended now; empty if it was not reached."""
    same_result: bool
    """True if the model was told the same."""
    detail: str = ""
    """What it was told now, if that is an error or a no that was not recorded."""

    @property
    def same_outcome(self) -> bool:
        """True if it ended as in the record."""
        return self.was == self.now

    @property
    def is_same(self) -> bool:
        """True if it was reached, with the same input and outcome."""
        return self.reached and self.same_input and self.same_outcome


class PartChange(msgspec.Struct, frozen=True, kw_only=True):
    """A part of requests that differs."""

    kind: str
    name: str
    change: str
    """added, dropped or edited."""
    tokens: int
    """About how many tokens more it has, by its bytes."""


class PlayedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, beside the one that was recorded."""

    number: int
    agent: str | None
    verified: bool
    """True if the client's digest proves what was sent now."""
    changes: list[PartChange]


class PlayedFile(msgspec.Struct, frozen=True):
    """A file that the session changed."""

    path: str
    same: bool
    """True if it ends as in the record."""


def compare_calls(recorded: Session, played: Session | None, turns: int | None) -> list[PlayedCall]:
    """Return what became of each call of the active branch and of the agents."""
    now = {call.id: call for call in _calls(played)} if played is not None else {}
    wanted = [(call, None) for turn in recorded.turns[:turns] for call in turn.calls]
    started = {call.agent.id for call, _ in wanted if call.agent is not None}
    for agent in recorded.agents.values():
        if turns is None or agent.id in started:
            wanted += [(call, agent) for call in agent.calls]
    numbers = {call.id: turn.index for turn in recorded.turns for call in turn.calls}
    return [_played(call, agent, now.get(call.id), numbers) for call, agent in wanted]


def _calls(session: Session) -> Iterator[Call]:
    yield from session.calls
    for agent in session.agents.values():
        yield from agent.calls


def _played(call: Call, agent: Agent | None, now: Call | None, numbers: Mapping[str, int]) -> PlayedCall:
    top = agent
    while top is not None and top.parent is not None:
        top = top.parent
    starter = top.call if top is not None else None
    same = now is not None and settled(call.tool_call.text) == settled(now.tool_call.text)
    was, is_now = outcome_of(call), outcome_of(now) if now is not None else ""
    return PlayedCall(
        id=call.id,
        name=call.name,
        title=call.title,
        turn=numbers.get(call.id) or (numbers.get(starter.id) if starter is not None else None),
        agent=agent.id if agent is not None else None,
        reached=now is not None,
        same_input=now is not None and call.input == now.input,
        was=was,
        now=is_now,
        same_result=same,
        detail=now.outcome.message.strip() if now is not None and is_now != was and is_now != "done" else "",
    )


def outcome_of(call: Call) -> str:
    """Return how a call ended, in a word or two."""
    if call.state == RUNNING:
        return RUNNING
    code = call.outcome.exit_code
    return f"exit {code}" if call.state == "failed" and code is not None else call.state


def settled(text: str) -> str:
    """Return a text without what differs in every run."""
    return VOLATILE.sub("\u2026", text)


class _Values(PartSizes):
    """The parts of a request themselves, as text."""

    def __init__(self, other: PartSizes | None = None) -> None:
        super().__init__(other)
        self.values: dict[PartKey, list[str]] = {}

    def add_value(self, key: PartKey, value: Any) -> None:
        super().add_value(key, value)
        self.values.setdefault(key, []).append(settled(jsontext.dumps(value).decode("utf-8", "replace")))

    def add_text(self, key: PartKey, text: str) -> None:
        super().add_text(key, text)
        self.values.setdefault(key, []).append(settled(text))


def compare_requests(recorded: Session, played: Session | None) -> list[PlayedRequest]:
    """Return the requests that were sent now, each beside the one that was recorded at its place."""
    found: list[PlayedRequest] = []
    if played is None:
        return found
    found += _pairs(None, list(recorded.requests), list(played.requests))
    agents = list(played.agents.values())
    for agent in recorded.agents.values():
        same = next((one for one in agents if _first_call(one) == _first_call(agent)), None)
        if same is not None and agent.requests:
            agents.remove(same)
            found += _pairs(agent.id, list(agent.requests), list(same.requests))
    return found


def _first_call(agent: Agent) -> str | None:
    return agent.call.id if agent.call is not None else None


def _pairs(agent: str | None, recorded: list[Request], played: list[Request]) -> Iterator[PlayedRequest]:
    for number, (before, now) in enumerate(zip(recorded, played, strict=False), 1):
        yield PlayedRequest(number=number, agent=agent, verified=now.verified, changes=list(_changes(before, now)))


def _changes(before: Request, now: Request) -> Iterator[PartChange]:
    if before.digest is not None and before.digest == now.digest:
        return
    old, new = _Values(), _Values()
    add_parts(old, before)
    add_parts(new, now)
    for key in sorted({*old.values, *new.values}, key=lambda key: (KINDS.index(key.kind), key)):
        was, is_now = old.values.get(key), new.values.get(key)
        if was == is_now:
            continue
        change = "added" if was is None else "dropped" if is_now is None else "edited"
        bytes = new.bytes.get(key, 0) - old.bytes.get(key, 0)
        yield PartChange(kind=key.kind, name=key.name, change=change, tokens=round(bytes / BYTES_PER_TOKEN))
    for name in sorted({*before.params, *now.params}):
        if before.params.get(name) != now.params.get(name):
            change = "added" if name not in before.params else "dropped" if name not in now.params else "edited"
            yield PartChange(kind="param", name=name, change=change, tokens=0)
