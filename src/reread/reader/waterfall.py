"""A conversation over time: when its turns, the model, the tools and the agents were at work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reread.base.times import timestamp_ms
from reread.model.conversation import Agent, Call, Message
from reread.model.record_kinds import TURN_STARTERS
from reread.reader import schema
from reread.reader.thread_view import TURN_HEAD, Steps
from reread.reader.timeline import Timeline
from reread.session.time_spans import CallTimes, first_time, response_times, without_context_after

ASKING = ("AskUserQuestion", "ExitPlanMode", "exit_plan_mode")
"""The tools that wait for the person."""


class MessageSpans(NamedTuple):
    """The spans of one message."""

    model: list[schema.WaterfallSpan]
    calls: list[schema.WaterfallSpan]
    given: int | None
    """When the model was last given something, this message included."""


class TurnSpans(NamedTuple):
    """A turn, if it has a time, and its spans."""

    turn: schema.WaterfallTurn | None
    spans: list[schema.WaterfallSpan]


class Spans:
    """The spans of the messages of a conversation; those that branches share are made once."""

    def __init__(self, agent_title: Callable[[Agent], str]) -> None:
        self._agent_title = agent_title
        self._times = CallTimes()
        self._known: dict[tuple[int, int, int, int | None], MessageSpans] = {}
        self._turns: dict[tuple[int, int, int], TurnSpans] = {}

    def note_times(self, messages: Iterable[Message]) -> None:
        """Read the times of messages and their calls, while their records are in memory."""
        for message in messages:
            response_times(message, None, self._times)

    def of(self, message: Message, turn: int, item: int, given: int | None) -> MessageSpans:
        """Return the spans of a message in a turn and an item, after the model was given something."""
        key = (message.index, turn, item, given)
        if key not in self._known:
            self._known[key] = self._new(message, turn, item, given)
        return self._known[key]

    def of_turn(self, timeline: Timeline, turn: int) -> TurnSpans:
        """Return the spans of a turn, which depend on its messages, and so on the last one, and on its first item."""
        _, end = timeline.turn_messages(turn)
        key = (turn, timeline.turn_item(turn), timeline.messages[end - 1].index)
        if key not in self._turns:
            self._turns[key] = _turn_spans(timeline, turn, self)
        return self._turns[key]

    def _new(self, message: Message, turn: int, item: int, given: int | None) -> MessageSpans:
        span, given = response_times(message, given, self._times)
        model: list[schema.WaterfallSpan] = []
        if span is not None:
            start, end = span
            name = message.model or ""
            model = [schema.WaterfallSpan(kind="model", turn=turn, item=item, start=start, end=end, name=name)]
        calls: list[schema.WaterfallSpan] = []
        for call in message.calls:
            if call.agents:
                calls += _agent_spans(call, turn, item, self._times, self._agent_title)
            else:
                calls += _call_span(call, turn, item, self._times)
        return MessageSpans(model, calls, given)


def waterfall(timeline: Timeline, known: Spans) -> Steps[schema.Waterfall]:
    """The turns of a branch, and what was at work in them; one step a turn."""
    turns: list[schema.WaterfallTurn] = []
    spans: list[schema.WaterfallSpan] = []
    for turn in range(1, timeline.turns + 1):
        found = known.of_turn(timeline, turn)
        turns += [found.turn] if found.turn is not None else []
        spans += found.spans
        yield
    return schema.Waterfall(turns=turns, spans=spans)


def _turn_spans(timeline: Timeline, turn: int, known: Spans) -> TurnSpans:
    begin, end = timeline.turn_messages(turn)
    messages = timeline.messages[begin:end]
    prompt = next((message for message in messages[:TURN_HEAD] if message.kind in TURN_STARTERS), None)
    start = first_time([prompt, *messages])
    if start is None:
        return TurnSpans(None, [])
    model: list[schema.WaterfallSpan] = []
    calls: list[schema.WaterfallSpan] = []
    given: int | None = start
    for at, message in enumerate(messages, begin):
        item = timeline.item_at(at) if message.kind == "response" else 0
        found = known.of(message, turn, item, given)
        model += found.model
        calls += found.calls
        given = found.given
    spans = model + calls
    last = without_context_after(messages)[-1]
    ends = [timestamp_ms(last.stamp) or start, *(span.end for span in spans if span.kind != "agent")]
    item = timeline.turn_item(turn)
    return TurnSpans(schema.WaterfallTurn(index=turn, item=item, start=start, end=max(start, *ends)), spans)


def _call_span(call: Call, turn: int, item: int, times: CallTimes) -> Iterator[schema.WaterfallSpan]:
    first, last = times.of(call)
    if first is not None:
        yield schema.WaterfallSpan(
            kind="person" if call.name in ASKING else "tool",
            turn=turn,
            item=item,
            start=first,
            end=max(first, last if last is not None else first),
            name=call.name,
            state=call.state,
            call=call.index,
        )


def _agent_spans(
    call: Call, turn: int, item: int, times: CallTimes, agent_title: Callable[[Agent], str]
) -> Iterator[schema.WaterfallSpan]:
    """The agents of a call, from their first record to their last."""
    called, answered = times.of(call)
    for agent in call.agents:
        first, last = timestamp_ms(agent.metadata.first_stamp), timestamp_ms(agent.metadata.last_stamp)
        first = first if first is not None else called
        last = last if last is not None else answered
        if first is not None:
            yield schema.WaterfallSpan(
                kind="agent",
                turn=turn,
                item=item,
                start=first,
                end=max(first, last if last is not None else first),
                name=agent_title(agent) or agent.type or agent.id,
                state=call.state,
                call=call.index,
            )
