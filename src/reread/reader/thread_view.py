"""Figures of one conversation for the reader, updated as it grows."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from reread.accounting.billing import Usage, total
from reread.accounting.prices import current_prices
from reread.base.choices import DENIED, FAILED, INTERRUPTED, RUNNING
from reread.base.coerce import as_dict
from reread.base.structs import copied
from reread.base.times import parse_timestamp, seconds_between
from reread.errors import NotFound
from reread.model.compaction_linker import compaction_of
from reread.model.conversation import Agent, Branch, Call, Conversation, Message, Turn
from reread.model.record_kinds import SYNTHETIC, TURN_STARTERS
from reread.model.tree import no_path_text
from reread.reader import schema
from reread.reader.lookup import touched_messages
from reread.reader.timeline import Timeline, category_of
from reread.render.format import heading
from reread.session.cache_breaks import CacheBreaks
from reread.session.commits import GitOperations, GitOperationsByTurn
from reread.session.context_window import ContextFill, ContextGauge, context_size
from reread.session.time_spans import without_context_after

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Work that yields after each step and returns its result."""


def run_steps(steps: Steps[T]) -> T:
    """Run all steps without a pause and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


MAX_MARKS = 120
"""How many calls of a turn have a mark in the outline."""
UNSETTLED = 8
"""Messages at the end of a turn whose usage may still change."""
TURN_HEAD = 8
"""Messages at the start of a turn that are searched for its prompt or first answer."""
EDGE = 50
"""Records at each end of a conversation whose dialect is read."""
MAX_FILLS = 160
"""How many points the chart of the context has at most."""
RESPONSE_REACH = 200
"""How many messages back the response before an item is looked for."""
STATE_MARKS = {RUNNING: "r", FAILED: "x", DENIED: "?", INTERRUPTED: "?"}
CATEGORY_MARKS = {"edit": "e", "agent": "a"}
"""The letters in the outline of calls that are done."""
NEVER = 1 << 62
"""In place of a message's index: no message can change this sum."""


UNKNOWN_MODEL = "unknown model"


class BranchFigures(NamedTuple):
    """The head of a page, of a branch."""

    models: list[str]
    started: datetime | None
    ended: datetime | None
    tools: Counter[str]


class PathFold(Generic[T]):
    """A value folded over the messages of a branch; the messages that branches share are folded once."""

    def __init__(self, empty: T, fold: Callable[[T, Sequence[Message]], Steps[T]]) -> None:
        self._empty = empty
        self._fold = fold
        self._known: dict[int, T] = {}
        """The value after each message before a fork, and after each leaf."""

    def of(self, timeline: Timeline) -> Steps[T]:
        """Return the value after the last message of a branch."""
        messages = timeline.messages
        forks = (timeline.position(timeline.conversation.messages[index]) for index in timeline.forks)
        ends = sorted({*(at + 1 for at in forks if at is not None), len(messages)})
        value, start = self._empty, 0
        for end in ends if messages else ():
            last = messages[end - 1].index
            if last not in self._known:
                self._known[last] = yield from self._fold(value, messages[start:end])
            value, start = self._known[last], end
        return value

    def forget(self) -> None:
        """Fold again what is asked for next, since messages may have changed."""
        self._known.clear()


class ThreadView:
    """One conversation: its timelines, and what is counted over it."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tools: Counter[str] = Counter()
        self.timelines: dict[int, Timeline] = {}
        self._own: dict[int, array[int]] = {}
        """For each branch, the indices of the messages that are on no parent."""
        self._own_turns: Counter[int] = Counter()
        self._records = len(conversation.records)
        self._messages = 0
        self._calls = 0
        self._api_errors = 0
        self._dialects: tuple[int, list[str]] = (0, [])
        """The dialects among so many records."""
        self._unread: deque[Call] = deque()
        """Calls that are not counted yet: counting them reads their results."""
        self._unanswered: list[Call] = []
        self._failed: list[Call] = []
        self._sums: dict[object, tuple[int, Usage]] = {}
        """Known sums: the usage of a turn's or the whole conversation's messages before the one with this index."""
        self._changed: dict[int, Message] = {}
        self._outline_turns: dict[tuple[int, int], schema.OutlineTurn] = {}
        """The turns of the outlines, by branch and number."""
        self._git = GitOperationsByTurn(conversation)
        self._operations: dict[tuple[int, int], GitOperations] = {}
        """The commits and pull requests of turns, by branch and number."""
        self._gauge = ContextGauge(conversation)
        self.breaks: CacheBreaks = CacheBreaks(conversation)
        self._branch_errors = PathFold(0, _add_errors)
        self._branch_figures = PathFold(BranchFigures([], None, None, Counter()), _add_figures)
        self._branch_usage = PathFold(dict[str, Usage](), _add_usage)
        self.update()

    def count_errors(self, branch: int | None = None) -> Steps[int]:
        """Count the failed calls and API errors of a branch; of the whole conversation if it is the active one."""
        if self.is_left(branch):
            return (yield from self._branch_errors.of(self.timeline(branch)))
        self._failed = [call for call in self._failed if call.state == FAILED]  # the end of a turn may call it denied
        self._unread.extend(self._unanswered)
        self._unanswered = []
        while self._unread:
            call = self._unread.popleft()
            state = call.state
            if state == RUNNING:
                self._unanswered.append(call)
            elif state == FAILED:
                self._failed.append(call)
            yield
        return len(self._failed) + self._api_errors

    def mark_changed(self, message: Message) -> None:
        """Have the next update draw a message again although none of its records changed."""
        self._changed[message.index] = message

    def update(self) -> None:
        """Read the records that were added since the last update."""
        conversation = self.conversation
        changed, self._changed = self._changed, {}
        for index in range(self._records, len(conversation.records)):
            changed |= {m.index: m for m in touched_messages(conversation, index) if m.index < self._messages}
        self._records = len(conversation.records)
        for fold in (self._branch_errors, self._branch_figures, self._branch_usage):
            fold.forget()
        self._gauge.remeasure(changed.values())
        self._count()
        if changed:
            earliest = min(changed)
            self._sums = {name: (end, usage) for name, (end, usage) in self._sums.items() if end <= earliest}
        for timeline in self.timelines.values():
            first = timeline.update(changed.values())
            if first < len(timeline):
                self._drop_turns(timeline.branch, timeline.turn_of(first))

    def _drop_turns(self, branch: int, turn: int) -> None:
        """Drop what is known of the turns of a branch from this one on."""
        for known in (self._outline_turns, self._operations):
            stale = [name for name in known if name[0] == branch and name[1] >= turn]
            for name in stale:
                del known[name]

    def _count(self) -> None:
        conversation = self.conversation
        for message in conversation.messages[self._messages :]:
            self._own.setdefault(message.branch, array("I")).append(message.index)
            self._own_turns[message.branch] += message.kind in TURN_STARTERS
            self._api_errors += message.kind == "error"
        self._messages = len(conversation.messages)
        new = conversation.calls[self._calls :]
        self._calls += len(new)
        self.tools.update([call.name for call in new])
        self._unread.extend(new)

    def timeline(self, branch: int | None = None) -> Timeline:
        """The timeline of a branch; of the active one if None."""
        number = self.conversation.active_branch if branch is None else branch
        if number not in self.timelines:
            if not 0 <= number < len(self.conversation.branches):
                raise NotFound(no_path_text((one.id for one in self.conversation.branches), number))
            parent = next(b.parent for b in self.conversation.branches if b.id == number)
            known = self.timelines.get(parent) if parent is not None else None
            self.timelines[number] = Timeline(self.conversation, number, known)
        return self.timelines[number]

    def shared_items(self, one: int, other: int) -> int:
        """How many items two branches start with alike."""
        return max(0, self.timeline(one).shared_items(self.timeline(other)) - 1)

    def dialects(self) -> list[str]:
        """The dialects of the first and last records."""
        records = self.conversation.records
        if self._dialects[0] != len(records):
            edges = [*range(min(EDGE, len(records))), *range(max(EDGE, len(records) - EDGE), len(records))]
            self._dialects = (len(records), list(dict.fromkeys(records[index].dialect for index in edges)))
        return self._dialects[1]

    def agent_title(self) -> str:
        """The task of an agent in a few words."""
        agent = cast(Agent, self.conversation)
        description = as_dict(agent.call.input if agent.call is not None else None).get("description")
        if not isinstance(description, str) or not description.strip():
            description = agent.prompt or ""
        return heading(description, schema.TITLE)

    def is_left(self, branch: int | None) -> bool:
        """True if a branch is not the active one."""
        return branch is not None and branch != self.conversation.active_branch

    def branch_figures(self, timeline: Timeline) -> BranchFigures:
        """Return the head of a page: of the whole conversation, or of a branch that was left."""
        if self.is_left(timeline.branch):
            return run_steps(self._branch_figures.of(timeline))
        metadata = self.conversation.metadata
        started, ended = parse_timestamp(metadata.first_stamp), parse_timestamp(metadata.last_stamp)
        return BranchFigures(list(metadata.models), started, ended, self.tools)

    def usage_by_model(self, branch: int | None) -> dict[str, Usage]:
        """The usage of the messages of a branch, by model."""
        return run_steps(self._branch_usage.of(self.timeline(branch)))

    def context(self, branch: int | None = None) -> Steps[list[ContextFill]]:
        """How full the context was at the end of the turns of a branch; of the active one if None."""
        yield from self._gauge.measure()
        timeline = self.timeline(branch)
        spans = ((turn, timeline.turn_messages(turn)) for turn in range(1, timeline.turns + 1))
        turns = (Turn(turn, None, timeline.messages[start:end]) for turn, (start, end) in spans)
        return _fullest(self._gauge.fills(turns, current_prices()))

    def response_before(self, timeline: Timeline, item: int) -> Message | None:
        """The last response before an item that belongs to a model."""
        first = timeline.position(timeline.item(item)[0]) or 0
        before = (timeline.messages[at] for at in range(first - 1, max(-1, first - 1 - RESPONSE_REACH), -1))
        return next((message for message in before if is_model_response(message)), None)

    # Branches

    def branch_infos(self) -> list[schema.BranchInfo]:
        """All branches, the active one first."""
        return list(map(self.branch_info, self.conversation.branches))

    def branch_info(self, branch: Branch) -> schema.BranchInfo:
        """A branch in a list of branches."""
        title, turns = self._first_words(branch), self._own_turns[branch.id]
        return copied(schema.BranchInfo, branch, title=title, turns=turns)

    def fork(self, timeline: Timeline, starting: Sequence[Branch]) -> schema.ForkPart:
        """The branches that can be chosen at a fork: the parent first, then those that start here."""
        parent = self.conversation.branch(starting[0].parent or 0)
        choices = [schema.ForkBranch(id=parent.id, title=self._first_words(parent, starting[0].fork))]
        choices += [schema.ForkBranch(id=branch.id, title=self._first_words(branch)) for branch in starting]
        ancestors = self.conversation.tree.limits(timeline.branch)
        shown = next((branch.id for branch in starting if branch.id in ancestors), parent.id)
        return schema.ForkPart(branches=choices, shown=shown)

    def _first_words(self, branch: Branch, after: int = -1) -> str:
        """The first words of a branch, or those that follow a record of it."""
        own = self._own.get(branch.id, array("I"))
        messages = self.conversation.messages
        start = bisect_right(own, after, key=lambda index: messages[index].records[0])
        return heading(messages[own[start]].text, schema.TITLE) if start < len(own) else ""

    # Turns

    def usage(self) -> Usage:
        """The usage of all messages."""
        messages = self.conversation.messages
        return self._sum("all", messages, 0, len(messages))

    def turn_usage(self, timeline: Timeline, turn: int) -> Usage:
        """The usage of a turn."""
        return self._sum((timeline.branch, turn), timeline.messages, *timeline.turn_messages(turn))

    def _sum(self, name: object, messages: Sequence[Message], start: int, end: int) -> Usage:
        """The usage of some messages; that of all but the last few is computed once and kept under a name."""
        settled = max(start, end - UNSETTLED)
        at, usage = self._known_sum(name, messages, start)
        if at < settled:
            usage = total((usage, *(message.usage for message in messages[at:settled])))
            self._sums[name] = (messages[settled].index if settled < len(messages) else NEVER, usage)
        return total((usage, *(message.usage for message in messages[settled:end])))

    def _known_sum(self, name: object, messages: Sequence[Message], start: int) -> tuple[int, Usage]:
        known = self._sums.get(name)
        if known is None:
            return start, Usage()
        return bisect_left(messages, known[0], key=lambda message: message.index), known[1]

    def turn_seconds(self, timeline: Timeline, turn: int) -> float | None:
        """The time from the prompt of a turn to its last record."""
        start, end = timeline.turn_messages(turn)
        messages = timeline.messages
        prompt = next((m for m in messages[start : start + TURN_HEAD] if m.kind in TURN_STARTERS), messages[start])
        last = without_context_after(messages[start:end])[-1]
        ends = [last.records[-1], *(call.answer for call in last.calls[-1:] if call.answer >= 0)]
        stamps = [parse_timestamp(self.conversation.bodies.stamp(index)) for index in ends]
        return seconds_between(prompt.timestamp, max((stamp for stamp in stamps if stamp is not None), default=None))

    def turn_model(self, timeline: Timeline, turn: int) -> str | None:
        """The model of the last response in a turn; None if its last messages are no responses."""
        start, end = timeline.turn_messages(turn)
        last = reversed(timeline.messages[max(start, end - TURN_HEAD) : end])
        return next((message.model for message in last if message.model), None)

    def turn_operations(self, timeline: Timeline, turn: int) -> GitOperations:
        """The commits and pull requests of a turn; only those of the last one are looked for again each time."""
        name = (timeline.branch, turn)
        if name not in self._operations or turn == timeline.turns:
            start, end = timeline.turn_messages(turn)
            self._operations[name] = self._git.of_turn(timeline.messages[start:end])
        return self._operations[name]

    def outline_turn(self, timeline: Timeline, turn: int) -> schema.OutlineTurn:
        """A turn in the outline; only the last one is computed again each time."""
        name = (timeline.branch, turn)
        if name not in self._outline_turns or turn == timeline.turns:
            self._outline_turns[name] = self._new_outline_turn(timeline, turn)
        return self._outline_turns[name]

    def _new_outline_turn(self, timeline: Timeline, turn: int) -> schema.OutlineTurn:
        start, end = timeline.turn_messages(turn)
        messages = timeline.messages[start:end]
        prompt = next((m for m in messages if m.kind in TURN_STARTERS), None)
        calls = [call for message in messages for call in message.calls]
        categories = Counter(category_of(call.name) for call in calls)
        states = [call.state for call in calls]
        errors = states.count(FAILED) + sum(m.kind == "error" for m in messages)
        branches = sum(len(timeline.forks.get(message.index, ())) for message in messages) if timeline.forks else 0
        return schema.OutlineTurn(
            index=turn,
            item=timeline.turn_item(turn),
            title=heading((prompt or _first_answer(messages)).text, schema.TITLE),
            time=(prompt or messages[0]).timestamp,
            marks="".join(map(state_mark, states[:MAX_MARKS], (category_of(call.name) for call in calls))),
            more=max(0, len(calls) - MAX_MARKS),
            errors=errors,
            edits=categories["edit"],
            agents=categories["agent"],
            branches=branches,
            compacted=any(map(_is_compaction, messages)),
        )


def is_model_response(message: Message) -> bool:
    """True for a response of a model, not one that the client made up."""
    return message.kind == "response" and message.model not in (None, SYNTHETIC)


def context_growth(messages: Sequence[Message], before: Message | None) -> dict[str, Any]:
    """The tokens in the context after some messages, by how much it grew, and their model if it is a new one."""
    answers = [message for message in messages if is_model_response(message)]
    if not answers:
        return {}
    size, last = context_size(answers[-1]), context_size(before) if before is not None else None
    known = before.model if before is not None else None
    return {
        "context": size,
        "grew": size - last if size is not None and last is not None else None,
        "new_model": next((answer.model for answer in answers if answer.model != known), None),
    }


def _add_errors(errors: int, messages: Sequence[Message]) -> Steps[int]:
    for message in messages:
        errors += (message.kind == "error") + sum(call.state == FAILED for call in message.calls)
        yield
    return errors


def _add_figures(before: BranchFigures, messages: Sequence[Message]) -> Steps[BranchFigures]:
    calls = [call for message in messages for call in message.calls]
    times = [message.timestamp for message in messages if message.timestamp is not None]
    yield
    return BranchFigures(
        list(dict.fromkeys([*before.models, *(message.model for message in messages if message.model)])),
        before.started or (times[0] if times else None),
        times[-1] if times else before.ended,
        before.tools + Counter(call.name for call in calls),
    )


def _add_usage(before: dict[str, Usage], messages: Sequence[Message]) -> Steps[dict[str, Usage]]:
    by_model = {model: [usage] for model, usage in before.items()}
    for message in messages:
        usage = message.usage
        if usage.responses:
            by_model.setdefault(message.model or UNKNOWN_MODEL, []).append(usage)
        yield
    return {model: total(usages) for model, usages in by_model.items()}


def _fullest(fills: list[ContextFill]) -> list[ContextFill]:
    """At most `MAX_FILLS` turns: of each group of consecutive turns, the one in which the context was fullest."""
    known = [fill for fill in fills if fill.tokens is not None]
    size = max(1, -(-len(known) // MAX_FILLS))
    groups = (known[at : at + size] for at in range(0, len(known), size))
    return [max(group, key=lambda fill: fill.peak or 0) for group in groups]


def _is_compaction(message: Message) -> bool:
    """True for the boundary of a compaction that made a summary, not one that only cleared old results."""
    if message.kind != "compaction":
        return False
    compaction = compaction_of(message)
    return compaction is None or not compaction.micro


def _first_answer(messages: Sequence[Message]) -> Message:
    """The message that names a turn without a prompt: the first response with text, else the first message."""
    answers = (message for message in messages[:TURN_HEAD] if message.kind == "response")
    return next((message for message in answers if message.text), messages[0])


def state_mark(state: str, category: str) -> str:
    """The letter in the outline of a call in this state and of this category."""
    return STATE_MARKS.get(state) or CATEGORY_MARKS.get(category, ".")
