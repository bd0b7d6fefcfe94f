"""A conversation over time: when its turns, the model, the tools and the agents were at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reread.base.times import timestamp_ms
from reread.model.conversation import Agent, Call, Message
from reread.model.record_kinds import TURN_STARTERS
from reread.reader import schema
from reread.reader.steps import Steps
from reread.reader.thread_view import TURN_HEAD
from reread.reader.timeline import Timeline
from reread.session.time_spans import CallTimes, first_time, model_times, without_context_after

ASKING = ("AskUserQuestion", "ExitPlanMode", "exit_plan_mode")
"""The tools that wait for the person."""


def waterfall(timeline: Timeline, agent_title: Callable[[Agent], str]) -> Steps[schema.Waterfall]:
    """The turns of a branch, and what was at work in them; one step a turn."""
    turns: list[schema.WaterfallTurn] = []
    spans: list[schema.WaterfallSpan] = []
    times = CallTimes()
    for turn in range(1, timeline.turns + 1):
        begin, end = timeline.turn_messages(turn)
        messages = timeline.messages[begin:end]
        prompt = next((message for message in messages[:TURN_HEAD] if message.kind in TURN_STARTERS), None)
        start = first_time([prompt, *messages])
        if start is not None:
            found = list(_turn_spans(timeline, turn, messages, start, times, agent_title))
            last = without_context_after(messages)[-1]
            ends = [timestamp_ms(last.stamp) or start, *(span.end for span in found if span.kind != "agent")]
            item = timeline.turn_item(turn)
            turns.append(schema.WaterfallTurn(index=turn, item=item, start=start, end=max(start, *ends)))
            spans += found
        yield
    return schema.Waterfall(turns=turns, spans=spans)


def _turn_spans(
    timeline: Timeline,
    turn: int,
    messages: list[Message],
    start: int,
    times: CallTimes,
    agent_title: Callable[[Agent], str],
) -> Iterator[schema.WaterfallSpan]:
    items = {message.index: timeline.item_of(message) or 0 for message in messages if message.kind == "response"}
    for message, first, last in model_times(messages, start, times):
        yield schema.WaterfallSpan(
            kind="model", turn=turn, item=items[message.index], start=first, end=last, name=message.model or ""
        )
    for message in messages:
        for call in message.calls:
            item = items.get(message.index, 0)
            if call.agents:
                yield from _agent_spans(call, turn, item, times, agent_title)
            else:
                yield from _call_span(call, turn, item, times)


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
