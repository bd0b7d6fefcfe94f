"""Two runs of a session without what differs in every run: what calls were given and told, and their requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from reread.base import jsontext
from reread.base.canonical_json import canonical
from reread.base.choices import FAILED, RUNNING
from reread.model.conversation import Call, Request
from reread.reports.made_up_names import learn, renamed, settled
from reread.session.context_parts import BYTES_PER_TOKEN, KINDS, PartKey, PartSizes, add_parts

if TYPE_CHECKING:
    from reread.model.conversation import Agent
    from reread.session.session import Session


SEARCHES = ("Grep", "Glob")
LINE = re.compile(r"\n|\\n")
"""Where a line ends, also within JSON."""


class PartChange(msgspec.Struct, frozen=True, kw_only=True):
    """A part of requests that differs."""

    kind: str
    name: str
    change: str
    """added, dropped or edited."""
    tokens: int
    """About how many tokens more it has, by its bytes."""

    @property
    def words(self) -> str:
        """It in a few words: `memory CLAUDE.md +212 tokens`."""
        what = f"{self.kind} {self.name}".strip()
        more = f" {self.tokens:+,} tokens" if self.tokens else ""
        return f"{what}{more}" if self.change == "edited" else f"{what} {self.change}{more}"


class PlayedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, beside the one at its place in the record or in the first of two runs."""

    number: int
    agent: str | None
    verified: bool
    """True if the client's digest proves what was sent now."""
    changes: list[PartChange]


class TwoRuns:
    """Two sessions that may be runs of the same; `plain` says what a text would be without what one of them renamed."""

    def __init__(self, one: Session, other: Session | None, plain: Callable[[str], str] = str) -> None:
        self.one = one
        self.other = other
        self._plain = plain
        self._now: dict[str, Call] = {call.id: call for call in all_calls(other)} if other is not None else {}
        self._names: dict[str, str] = {}
        """What the first run calls what the second one calls otherwise."""
        for call in all_calls(one):
            if call.id in self._now and self._now[call.id] is not call:
                learn(self._now[call.id].tool_call.text, call.tool_call.text, self._names)
        own = [_own_names(session) for session in (one, other) if session is not None]
        self._own: list[str] = sorted({name for names in own for name in names}, key=len, reverse=True)

    def same_call(self, id: str) -> Call | None:
        """Return the call with this id in the second run."""
        return self._now.get(id)

    def settled(self, text: str) -> str:
        """Return a text of either run without what differs in every run."""
        return settled(renamed(self._plain(text), self._names), self._own)

    def told(self, call: Call) -> str:
        """Return what the model was told of a call."""
        return in_order(call.name, self.settled(call.tool_call.text))

    def given(self, call: Call) -> str:
        """Return what a call was given."""
        try:
            text = canonical(call.input).decode("utf-8", "replace")
        except ValueError:  # nested too deep
            text = repr(call.input)
        return renamed(self._plain(text), self._names)

    def requests(self) -> list[PlayedRequest]:
        """Return the requests of the second run, each beside the one at its place in the first."""
        if self.other is None:
            return []
        found = list(self._pairs(None, self.one.requests, self.other.requests))
        agents = list(self.other.agents.values())
        for agent in self.one.agents.values():
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

    def __init__(self, runs: TwoRuns) -> None:
        super().__init__()
        self.runs = runs
        self.texts: dict[PartKey, list[str]] = {}

    def add_value(self, key: PartKey, value: Any) -> None:
        super().add_value(key, value)
        self._add(key, jsontext.dumps(value).decode("utf-8", "replace"))

    def add_text(self, key: PartKey, text: str) -> None:
        super().add_text(key, text)
        self._add(key, text)

    def _add(self, key: PartKey, text: str) -> None:
        self.texts.setdefault(key, []).append(in_order(key.name, self.runs.settled(text)))


def in_order(name: str, text: str) -> str:
    """Return what a search found in an order of its own: it looks into several files at once."""
    return "\n".join(sorted(LINE.split(text))) if name in SEARCHES else text


def all_calls(session: Session) -> Iterator[Call]:
    """Yield the calls of a session and of its agents."""
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
