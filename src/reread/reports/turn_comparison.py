"""Two sessions turn by turn: which prompts, answers and calls are the same, and where the first difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from itertools import zip_longest
from typing import NamedTuple

import msgspec

from reread.base.alignment import EQUAL, steps
from reread.base.choices import RUNNING
from reread.base.text import one_line
from reread.model.conversation import Agent, Call, Message, Turn
from reread.model.record_kinds import TURN_STARTERS
from reread.reports.two_runs import TwoRuns, outcome_words
from reread.session.session import Session

PROMPT, ANSWER, CALL = "prompt", "answer", "call"
ONLY_FIRST, ONLY_SECOND = "only in the first", "only in the second"
OTHER_INPUT, OTHER_RESULT, OTHER_WORDS = "other input", "other result", "other words"
MAX_PAIRS = 250_000
"""So many pairs are compared to align what lies between the equal ends; of more, each is set beside its number."""
MOST_ITEMS = 4000
"""So many prompts, answers and calls are listed; later turns only say how many of theirs differ."""
LONGEST = 1200
"""So much of a text is given where it differs."""
LINE = 160
"""So much of a text is its line."""


class ComparedText(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, an answer or a call on one side."""

    line: str
    """Its beginning, or the title of a call."""
    text: str = ""
    """The beginning of what a call told the model, or of the words, where these differ."""
    state: str = ""
    """How a call ended: `done`, `exit 1`, `denied` …"""
    call: str | None = None
    """The id of the call."""
    agent: str | None = None
    """The agent that made the call."""


class ComparedItem(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside each other; one side is None if the other has nothing like it."""

    kind: str
    """prompt, answer or call."""
    one: ComparedText | None
    other: ComparedText | None
    difference: str
    """What differs, in a few words: `exit 1 → denied`; empty if nothing does."""


class ComparedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Two turns beside each other."""

    one: int | None
    other: int | None
    """Their numbers; None if the other side has no such turn."""
    prompt: str
    """The beginning of the prompt."""
    calls: int
    """How many calls the turn has, on the side that has more."""
    differences: int
    items: list[ComparedItem]
    """All of it if something differs, else empty."""


class ComparedPart(msgspec.Struct, frozen=True):
    """A part of API requests that differs."""

    words: str
    requests: int
    """In how many requests."""


class TurnComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sessions, turn by turn."""

    first: str
    """The first difference: `turn 2: Bash pytest -q: exit 1 → denied`; empty if there is none."""
    differences: int
    turns: list[ComparedTurn]
    requests: int
    """How many API requests stand beside each other; 0 if a client noted none."""
    different_requests: int
    parts: list[ComparedPart]
    """The parts that differ in them, the most frequent first."""


def compare_turns(one: Session, turns: Sequence[Turn], other: Session, others: Sequence[Turn]) -> TurnComparison:
    """Compare turns of two sessions, or of two branches of one.

    Calls with the same id belong together, as they have where a session is played again. What every run makes up, such
    as times and the ids of agents, is no difference.
    """
    runs = TwoRuns(one, other)
    ids = [{item.call.id for turn in side for item in _items(turn) if item.call} for side in (turns, others)]
    found = _Aligned(runs, ids[0] & ids[1])
    compared = [found.turn(*pair) for pair in found.turns(turns, others)]
    requests = runs.requests()
    parts = Counter(change.words for request in requests for change in request.changes)
    changed = next((request for request in requests if request.changes), None)
    where = f"agent {changed.agent}, " if changed is not None and changed.agent else ""
    in_requests = f"{where}request {changed.number}: {changed.changes[0].words}" if changed is not None else ""
    return TurnComparison(
        first=found.first or in_requests,
        differences=sum(turn.differences for turn in compared),
        turns=compared,
        requests=len(requests),
        different_requests=sum(bool(request.changes) for request in requests),
        parts=[ComparedPart(words, count) for words, count in parts.most_common()],
    )


class _Item(NamedTuple):
    """A prompt, an answer or a call of one side."""

    kind: str
    text: str
    """The words; empty for a call."""
    call: Call | None = None
    agent: str | None = None


class _Aligned:
    """What is said of the turns of two sessions."""

    def __init__(self, runs: TwoRuns, shared: Set[str]) -> None:
        self.runs = runs
        self.first = ""
        self._shared = shared
        """The ids of calls that both sides have."""
        self._left = MOST_ITEMS

    def turns(self, one: Sequence[Turn], other: Sequence[Turn]) -> Iterator[tuple[Turn | None, Turn | None]]:
        """Yield the turns that stand beside each other: those with the same prompt, and what lies between them."""
        keys, others = ([self.runs.settled(_prompt(turn)) for turn in side] for side in (one, other))
        for i, j in aligned(keys, others, lambda _one, _other: True):
            yield one[i] if i is not None else None, other[j] if j is not None else None

    def turn(self, one: Turn | None, other: Turn | None) -> ComparedTurn:
        """Compare two turns."""
        shown = one or other
        assert shown is not None
        left, right = (list(_items(turn)) if turn is not None else [] for turn in (one, other))
        keys, others = ([self._key(item) for item in side] for side in (left, right))
        pairs = [
            (left[i] if i is not None else None, right[j] if j is not None else None)
            for i, j in aligned(keys, others, lambda i, j: _are_alike(left[i], right[j]))
        ]
        differences = [self._difference(*pair) for pair in pairs]
        if not self.first:
            said = (f"{_name(*pair)}: {what}" for pair, what in zip(pairs, differences, strict=True) if what)
            self.first = next((f"turn {shown.index}: {one}" for one in said), "")
        items = [
            _compared(*pair, what)
            for pair, what in zip(pairs[: self._left], differences, strict=False)
            if any(differences)
        ]
        self._left -= len(items)
        return ComparedTurn(
            one=one.index if one is not None else None,
            other=other.index if other is not None else None,
            prompt=one_line(_prompt(shown), LINE),
            calls=max(sum(item.kind == CALL for item in side) for side in (left, right)),
            differences=sum(map(bool, differences)),
            items=items,
        )

    def _key(self, item: _Item) -> Hashable:
        if item.call is None:
            return item.kind, self.runs.settled(item.text)
        if item.call.id in self._shared:
            return item.kind, item.call.id
        return item.kind, item.call.name, self.runs.given(item.call)

    def _difference(self, one: _Item | None, other: _Item | None) -> str:
        if one is None or other is None:
            return ONLY_SECOND if one is None else ONLY_FIRST
        if one.call is None or other.call is None:
            return "" if self._are_equal(one.text, other.text) else OTHER_WORDS
        if one.call.input != other.call.input and self.runs.given(one.call) != self.runs.given(other.call):
            return OTHER_INPUT
        was, now = outcome_words(one.call), outcome_words(other.call)
        if was != now:
            return f"{was} → {now}"
        if was == RUNNING or one.call.tool_call.text == other.call.tool_call.text:
            return ""
        return "" if self.runs.told(one.call) == self.runs.told(other.call) else OTHER_RESULT

    def _are_equal(self, one: str, other: str) -> bool:
        """True if two texts say the same; most are equal, and what every run makes up is looked for in no others."""
        return one == other or self.runs.settled(one) == self.runs.settled(other)


def _prompt(turn: Turn) -> str:
    return turn.prompt.text if turn.prompt is not None else ""


def _items(turn: Turn) -> Iterator[_Item]:
    for message in turn.messages:
        if message.kind in TURN_STARTERS:
            yield _Item(PROMPT, message.text)
        elif message.kind == "response":
            yield from _of_response(message)


def _of_response(message: Message) -> Iterator[_Item]:
    if message.text.strip():
        yield _Item(ANSWER, message.text)
    for call in message.calls:
        yield _Item(CALL, "", call)
        for agent in call.agents:
            yield from _of_agent(agent)


def _of_agent(agent: Agent) -> Iterator[_Item]:
    """Yield the calls of an agent, and of those below it."""
    waiting = [agent]
    while waiting:
        one = waiting.pop()
        for call in one.calls:
            yield _Item(CALL, "", call, one.id)
            waiting += call.agents


def _are_alike(one: _Item, other: _Item) -> bool:
    """True if these two may be the same with a difference."""
    names = [item.call.name if item.call is not None else None for item in (one, other)]
    return one.kind == other.kind and names[0] == names[1]


def _line(item: _Item) -> str:
    return one_line(item.call.title if item.call is not None else item.text, LINE)


def _name(one: _Item | None, other: _Item | None) -> str:
    """Return what the first difference is called."""
    item = one or other
    assert item is not None
    return _line(item) if item.call is not None else f"the {item.kind}"


def _compared(one: _Item | None, other: _Item | None, difference: str) -> ComparedItem:
    item = one or other
    assert item is not None
    sides = [_side(side, difference) if side is not None else None for side in (one, other)]
    return ComparedItem(kind=item.kind, one=sides[0], other=sides[1], difference=difference)


def _side(item: _Item, difference: str) -> ComparedText:
    if item.call is None:
        return ComparedText(line=_line(item), text=item.text.strip()[:LONGEST] if difference else "")
    return ComparedText(
        line=_line(item),
        text=item.call.tool_call.text.strip()[:LONGEST] if difference else "",
        state=outcome_words(item.call),
        call=item.call.id,
        agent=item.agent,
    )


def aligned(
    one: Sequence[Hashable], other: Sequence[Hashable], alike: Callable[[int, int], bool]
) -> Iterator[tuple[int | None, int | None]]:
    """Yield the places of two lists that stand beside each other: equal ones, and alike ones between these."""
    for tag, i1, i2, j1, j2 in steps(one, other, MAX_PAIRS):
        for i, j in zip_longest(range(i1, i2), range(j1, j2)):
            if tag == EQUAL or i is None or j is None or alike(i, j):
                yield i, j
            else:
                yield i, None
                yield None, j
