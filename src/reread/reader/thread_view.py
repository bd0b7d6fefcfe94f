"""Talks: what is kept of one conversation for the reader, and grows with it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from reread.accounting.billing import Usage, total
from reread.accounting.prices import current_prices
from reread.base.times import parse_timestamp, seconds_between
from reread.errors import NotFound
from reread.model.conversation import Agent, Conversation
from reread.model.messages import TURN_STARTERS, Branch, Call, Message, Turn
from reread.reader import schema
from reread.reader.steps import Steps
from reread.reader.timeline import Timeline, category_of
from reread.render.format import heading
from reread.session.context_window import ContextFill, ContextGauge
from reread.tools.tool_call import DENIED, INTERRUPTED

MARKS = 120
"""How many calls of a turn have a mark in the outline."""
LAST_FEW = 8
"""Messages at the end whose figures may still change."""
OPENING = 8
"""Messages at the start of a turn among which the one is that it is named after."""
EDGE = 50
"""How many records at each end are asked for their dialect."""
MOST_FILLS = 160
"""How many turns the chart of the context tells apart."""


class ThreadView:
    """What is kept of one conversation: its scrolls, and what it counts."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tools: Counter[str] = Counter()
        self.errors = 0
        """Calls whose result is marked as an error, and errors of the API."""
        self.timelines: dict[int, Timeline] = {}
        self._own: dict[int, array[int]] = {}
        """The messages of each branch alone, by index."""
        self._own_turns: Counter[int] = Counter()
        self._records = len(conversation.records)
        self._messages = 0
        self._calls = 0
        self._open: list[Call] = []
        self._spent: dict[object, tuple[int, Usage]] = {}
        """What was spent from some message on, up to another that can change no more."""
        self._touched: dict[int, Message] = {}
        self._marks: dict[tuple[int, int], schema.TurnMark] = {}
        """The turns of the outlines, by branch and number."""
        self._gauge = ContextGauge(conversation)
        self.grow()

    def touch(self, message: Message) -> None:
        """A message looks another way, though none of its records changed."""
        self._touched[message.index] = message

    def grow(self) -> None:
        """Take in what has come since."""
        conversation = self.conversation
        touched, self._touched = self._touched, {}
        for index in range(self._records, len(conversation.records)):
            touched |= {m.index: m for m in conversation.touched(index) if m.index < self._messages}
        self._records = len(conversation.records)
        self._gauge.remeasure(touched.values())
        self._count()
        if touched:
            earliest = min(touched)
            self._spent = {name: kept for name, kept in self._spent.items() if kept[0] <= earliest}
        for timeline in self.timelines.values():
            first = timeline.grow(touched.values())
            if first < len(timeline):
                self._forget_marks(timeline.branch, timeline.turn_of(first))

    def _forget_marks(self, branch: int, turn: int) -> None:
        """Turns from this one on look another way."""
        stale = [name for name in self._marks if name[0] == branch and name[1] >= turn]
        for name in stale:
            del self._marks[name]

    def _count(self) -> None:
        conversation = self.conversation
        for message in conversation.messages[self._messages :]:
            self._own.setdefault(message.branch, array("I")).append(message.index)
            self._own_turns[message.branch] += message.kind in TURN_STARTERS
            self.errors += message.kind == "error"
        self._messages = len(conversation.messages)
        fresh = conversation.calls[self._calls :]
        self._calls += len(fresh)
        self.tools.update([call.name for call in fresh])
        self.errors += sum([call.is_error for call in (*self._open, *fresh) if call.answer >= 0])
        self._open = [call for call in (*self._open, *fresh) if call.answer < 0]

    def timeline(self, branch: int | None = None) -> Timeline:
        """A branch; without a number, the active one."""
        number = self.conversation.active_branch if branch is None else branch
        if number not in self.timelines:
            if not 0 <= number < len(self.conversation.branches):
                known = ", ".join(str(b.id) for b in sorted(self.conversation.branches, key=lambda b: b.id))
                raise NotFound(f"there is no branch {branch}: this conversation has {known}")
            parent = next(b.parent for b in self.conversation.branches if b.id == number)
            self.timelines[number] = Timeline(
                self.conversation, number, self.timelines.get(-1 if parent is None else parent)
            )
        return self.timelines[number]

    def shared(self, one: int, other: int) -> int:
        """How many passages two branches begin with alike."""
        return max(0, self.timeline(one).shared(self.timeline(other)) - 1)

    def dialects(self) -> list[str]:
        """The dialects that the first and the last records are written in."""
        records = self.conversation.records
        edges = [*range(min(EDGE, len(records))), *range(max(EDGE, len(records) - EDGE), len(records))]
        return list(dict.fromkeys(records[index].dialect for index in edges))

    def agent_title(self) -> str:
        """What an agent was asked to do, in a few words."""
        agent = cast(Agent, self.conversation)
        given = agent.call.input if agent.call is not None else None
        said = cast(dict[str, Any], given).get("description") if isinstance(given, dict) else None
        return heading(said if isinstance(said, str) and said.strip() else agent.prompt or "", schema.TITLE)

    def context(self) -> Steps[list[ContextFill]]:
        """How full the context was at the end of turns of the active branch."""
        yield from self._gauge.measure()
        timeline = self.timeline()
        stretches = ((turn, timeline.turn_messages(turn)) for turn in range(1, timeline.turns + 1))
        turns = (Turn(turn, None, timeline.messages[start:end]) for turn, (start, end) in stretches)
        return _fullest(self._gauge.fills(turns, current_prices()))

    # Branches

    def branch_marks(self) -> list[schema.BranchMark]:
        """All branches, the active one first."""
        return list(map(self.branch_mark, self.conversation.branches))

    def branch_mark(self, branch: Branch) -> schema.BranchMark:
        """A branch, where one can be chosen."""
        return schema.BranchMark(
            id=branch.id,
            active=branch.active,
            title=self._beginning(branch),
            turns=self._own_turns[branch.id],
            parent=branch.parent,
        )

    def fork(self, timeline: Timeline, leaving: Sequence[Branch]) -> schema.ForkPart:
        """The branches that part here, the one that the others leave first."""
        by_id = {branch.id: branch for branch in self.conversation.branches}
        stays = by_id[leaving[0].parent or 0]
        ways = [schema.ForkBranch(id=stays.id, title=self._beginning(stays, leaving[0].fork))]
        ways += [schema.ForkBranch(id=branch.id, title=self._beginning(branch)) for branch in leaving]
        above = _above(by_id, timeline.branch)
        shown = next((branch.id for branch in leaving if branch.id in above), stays.id)
        return schema.ForkPart(branches=ways, shown=shown)

    def _beginning(self, branch: Branch, after: int = -1) -> str:
        """The first words of a branch, or those after a record where others leave it."""
        own = self._own.get(branch.id, array("I"))
        messages = self.conversation.messages
        start = bisect_right(own, after, key=lambda index: messages[index].records[0])
        return heading(messages[own[start]].text, schema.TITLE) if start < len(own) else ""

    # Turns

    def usage(self) -> Usage:
        """What all messages spent."""
        messages = self.conversation.messages
        return self._sum("all", messages, 0, len(messages))

    def turn_usage(self, timeline: Timeline, turn: int) -> Usage:
        """What the messages of a turn spent."""
        return self._sum((timeline.branch, turn), timeline.messages, *timeline.turn_messages(turn))

    def _sum(self, name: object, messages: Sequence[Message], start: int, end: int) -> Usage:
        """The sum over a stretch of messages; all but its last few are counted once."""
        settled = max(start, end - LAST_FEW)
        upto, usage = self._kept(name, messages, start)
        if upto < settled:
            usage = total((usage, *(message.usage for message in messages[upto:settled])))
            self._spent[name] = (messages[settled].index if settled < len(messages) else 1 << 62, usage)
        return total((usage, *(message.usage for message in messages[settled:end])))

    def _kept(self, name: object, messages: Sequence[Message], start: int) -> tuple[int, Usage]:
        kept = self._spent.get(name)
        if kept is None:
            return start, Usage()
        return bisect_left(messages, kept[0], key=lambda message: message.index), kept[1]

    def turn_seconds(self, timeline: Timeline, turn: int) -> float | None:
        """From the first message of a turn to the last record of its last one."""
        start, end = timeline.turn_messages(turn)
        messages = timeline.messages
        prompt = next((m for m in messages[start : start + OPENING] if m.kind in TURN_STARTERS), messages[start])
        last = messages[end - 1]
        ends = [last.records[-1], *(call.answer for call in last.calls[-1:] if call.answer >= 0)]
        stamps = [parse_timestamp(self.conversation.records[index].envelope.timestamp) for index in ends]
        return seconds_between(prompt.timestamp, max((stamp for stamp in stamps if stamp is not None), default=None))

    def turn_mark(self, timeline: Timeline, turn: int) -> schema.TurnMark:
        """A turn in the outline; of one that can change no more, what was made before."""
        name = (timeline.branch, turn)
        if name not in self._marks or turn == timeline.turns:
            self._marks[name] = self._turn_mark(timeline, turn)
        return self._marks[name]

    def _turn_mark(self, timeline: Timeline, turn: int) -> schema.TurnMark:
        start, end = timeline.turn_messages(turn)
        messages = timeline.messages[start:end]
        prompt = next((m for m in messages if m.kind in TURN_STARTERS), None)
        calls = [call for message in messages for call in message.calls]
        sorts = Counter(category_of(call.name) for call in calls)
        failed = sum(call.is_error for call in calls) + sum(m.kind == "error" for m in messages)
        leaving = sum(len(timeline.forks.get(message.index, ())) for message in messages) if timeline.forks else 0
        return schema.TurnMark(
            index=turn,
            item=timeline.turn_item(turn),
            title=heading((prompt or _first_answer(messages)).text, schema.TITLE),
            time=(prompt or messages[0]).timestamp,
            marks="".join(map(_mark, calls[:MARKS])),
            more=max(0, len(calls) - MARKS),
            errors=failed,
            edits=sorts["edit"],
            agents=sorts["agent"],
            branches=leaving,
            compacted=any(message.kind == "compaction" for message in messages),
        )


def _fullest(fills: list[ContextFill]) -> list[ContextFill]:
    """No more than can be told apart: of each stretch of turns, the one in which the context was fullest."""
    known = [fill for fill in fills if fill.tokens is not None]
    size = max(1, -(-len(known) // MOST_FILLS))
    stretches = (known[at : at + size] for at in range(0, len(known), size))
    return [max(stretch, key=lambda fill: fill.peak or 0) for stretch in stretches]


def _first_answer(messages: Sequence[Message]) -> Message:
    """What a turn without a prompt is named after: an answer with words, if one comes soon, else what is first."""
    answers = (message for message in messages[:OPENING] if message.kind == "response")
    return next((message for message in answers if message.text), messages[0])


def _mark(call: Call) -> str:
    """How a call looks in the outline; only of one that failed is the result read."""
    if call.answer < 0:
        return "r"
    if call.is_error:
        return "?" if call.tool_call.ending.state in (DENIED, INTERRUPTED) else "x"
    return {"edit": "e", "agent": "a"}.get(category_of(call.name), ".")


def _above(by_id: dict[int, Branch], branch: int) -> set[int]:
    """A branch and those it leaves."""
    found: set[int] = set()
    at: int | None = branch
    while at is not None and at not in found:
        found.add(at)
        at = by_id[at].parent
    return found
