"""Compare a session with how it was played: its calls, its requests part by part, and the files at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from reread.addons.rerun.aside import with_own_paths
from reread.addons.rerun.names import learn, renamed, settled
from reread.base import jsontext
from reread.base.canonical_json import canonical
from reread.base.choices import FAILED, RUNNING
from reread.model.conversation import Agent, Call, Request
from reread.session.context_parts import BYTES_PER_TOKEN, KINDS, PartKey, PartSizes, add_parts

if TYPE_CHECKING:
    from reread.session.session import Session


SEARCHES = ("Grep", "Glob")
LINE = re.compile(r"\n|\\n")
"""Where a line ends, also within JSON."""


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
        """True if it ended as in the record, or the record ends before it does."""
        return self.was in (self.now, RUNNING) and self.reached

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


class Comparison:
    """A session, and how it was played."""

    def __init__(self, recorded: Session, played: Session | None) -> None:
        self.recorded = recorded
        self.played = played
        self._now = {call.id: call for call in _calls(played)} if played is not None else {}
        self._names: dict[str, str] = {}
        """What the record calls what the client calls otherwise now."""
        for call in _calls(recorded):
            if call.id in self._now:
                learn(self._now[call.id].tool_call.text, call.tool_call.text, self._names)
        own = [_own_names(session) for session in (recorded, played) if session is not None]
        self._own: list[str] = sorted({name for names in own for name in names}, key=len, reverse=True)

    def settled(self, text: str) -> str:
        """Return a text of the record, or of now, without what differs in every run."""
        return settled(renamed(with_own_paths(text), self._names), self._own)

    def calls(self, turns: int | None = None) -> list[PlayedCall]:
        """Return what became of each call of the active branch and of the agents."""
        wanted: list[tuple[Call, Agent | None]] = []
        wanted += [(call, None) for turn in self.recorded.turns[:turns] for call in turn.calls]
        started = {agent.id for call, _ in wanted for agent in call.agents}
        for agent in self.recorded.agents.values():
            if turns is None or agent.id in started:
                wanted += [(call, agent) for call in agent.calls]
        numbers = {call.id: turn.index for turn in self.recorded.turns for call in turn.calls}
        return [self._call(call, agent, numbers) for call, agent in wanted]

    def _call(self, call: Call, agent: Agent | None, numbers: Mapping[str, int]) -> PlayedCall:
        top = agent
        while top is not None and top.parent is not None:
            top = top.parent
        starter = top.call if top is not None else None
        now = self._now.get(call.id)
        was, is_now = outcome_words(call), outcome_words(now) if now is not None else ""
        return PlayedCall(
            id=call.id,
            name=call.name,
            title=call.title,
            turn=numbers.get(call.id) or (numbers.get(starter.id) if starter is not None else None),
            agent=agent.id if agent is not None else None,
            reached=now is not None,
            same_input=now is not None and self._given(call) == self._given(now),
            was=was,
            now=is_now,
            same_result=now is not None and self._told(call) == self._told(now),
            detail=now.outcome.message.strip() if now is not None and is_now != was and is_now != "done" else "",
        )

    def _told(self, call: Call) -> str:
        return in_order(call.name, self.settled(call.tool_call.text))

    def _given(self, call: Call) -> str:
        try:
            text = canonical(call.input).decode("utf-8", "replace")
        except ValueError:  # nested too deep
            text = repr(call.input)
        return renamed(with_own_paths(text), self._names)

    def requests(self) -> list[PlayedRequest]:
        """Return the requests that were sent now, each beside the one that was recorded at its place."""
        if self.played is None:
            return []
        found = list(self._pairs(None, self.recorded.requests, self.played.requests))
        agents = list(self.played.agents.values())
        for agent in self.recorded.agents.values():
            same = next((one for one in agents if _first_call(one) == _first_call(agent)), None)
            if same is not None and agent.requests:
                agents.remove(same)
                found += self._pairs(agent.id, agent.requests, same.requests)
        return found

    def _pairs(
        self, agent: str | None, recorded: Sequence[Request], played: Sequence[Request]
    ) -> Iterator[PlayedRequest]:
        for number, (before, now) in enumerate(zip(recorded, played, strict=False), 1):
            changes = list(self._changes(before, now))
            yield PlayedRequest(number=number, agent=agent, verified=now.verified, changes=changes)

    def _changes(self, before: Request, now: Request) -> Iterator[PartChange]:
        if before.digest is not None and before.digest == now.digest:
            return
        old, new = PartTexts(self), PartTexts(self)
        add_parts(old, before)
        add_parts(new, now)
        for key in sorted({*old.texts, *new.texts}, key=lambda key: (KINDS.index(key.kind), key)):
            was, is_now = old.texts.get(key), new.texts.get(key)
            if was != is_now:
                bytes = new.bytes.get(key, 0) - old.bytes.get(key, 0)
                change = _change(was, is_now)
                yield PartChange(kind=key.kind, name=key.name, change=change, tokens=round(bytes / BYTES_PER_TOKEN))
        for name in sorted({*before.params, *now.params}):
            was, is_now = before.params.get(name), now.params.get(name)
            if was != is_now:
                yield PartChange(kind="param", name=name, change=_change(was, is_now), tokens=0)


class PartTexts(PartSizes):
    """The parts of a request with their texts."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison
        self.texts: dict[PartKey, list[str]] = {}

    def add_value(self, key: PartKey, value: Any) -> None:
        super().add_value(key, value)
        self._add(key, jsontext.dumps(value).decode("utf-8", "replace"))

    def add_text(self, key: PartKey, text: str) -> None:
        super().add_text(key, text)
        self._add(key, text)

    def _add(self, key: PartKey, text: str) -> None:
        self.texts.setdefault(key, []).append(in_order(key.name, self.comparison.settled(text)))


def in_order(name: str, text: str) -> str:
    """Return what a search found in an order of its own: it looks into several files at once."""
    return "\n".join(sorted(LINE.split(text))) if name in SEARCHES else text


def _calls(session: Session) -> Iterator[Call]:
    yield from session.calls
    for agent in session.agents.values():
        yield from agent.calls


def _own_names(session: Session) -> list[str]:
    """Return the names that only one run has."""
    return [session.id, *session.slugs, *session.agents]


def _first_call(agent: Agent) -> str | None:
    return agent.call.id if agent.call is not None else None


def _change(was: object, is_now: object) -> str:
    return "added" if was is None else "dropped" if is_now is None else "edited"


def outcome_words(call: Call) -> str:
    """Return how a call ended, in a word or two."""
    if call.state == RUNNING:
        return RUNNING
    code = call.outcome.exit_code
    return f"exit {code}" if call.state == FAILED and code is not None else call.state
