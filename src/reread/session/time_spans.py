"""When the model and the tools of a turn were at work, in milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reread.base.times import timestamp_ms
from reread.model.conversation import Call, Conversation, Message

LONGEST_RESPONSE = 30 * 60 * 1000
"""A model that was given something longer ago was not at work since: the machine slept, or a limit was reached."""


def first_time(messages: Iterable[Message | None]) -> int | None:
    """Return the time of the first message that has one."""
    times = (timestamp_ms(message.stamp) for message in messages if message is not None)
    return next((time for time in times if time is not None), None)


def without_context_after(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages of a turn without the context at its end, which the client adds before the next one."""
    end = len(messages)
    while end > 1 and messages[end - 1].kind == "meta":
        end -= 1
    return messages[:end]


class CallTimes:
    """When calls were made and answered; each record is read once, for one may have the results of thousands."""

    def __init__(self) -> None:
        self._known: dict[tuple[Conversation, int], int | None] = {}

    def of(self, call: Call) -> tuple[int | None, int | None]:
        """Return when a call was made and when its result was written."""
        ended = self.at(call.conversation, call.answer) if call.answer >= 0 else None
        return self.at(call.conversation, call.use), ended

    def at(self, conversation: Conversation, index: int) -> int | None:
        """Return when a record was written."""
        key = (conversation, index)
        if key not in self._known:
            self._known[key] = timestamp_ms(conversation.bodies.stamp(index))
        return self._known[key]


def model_times(messages: Iterable[Message], start: int | None, times: CallTimes) -> Iterator[tuple[Message, int, int]]:
    """Yield each response of a turn with the times from what the model was given to the response's end.

    If that is too long for a response, only the time between its records is known.
    """
    given = start
    for message in messages:
        span, given = response_times(message, given, times)
        if span is not None:
            yield message, *span


def response_times(message: Message, given: int | None, times: CallTimes) -> tuple[tuple[int, int] | None, int | None]:
    """Return when the model was at work on a message, if it is a response, and when it was last given something.

    That is a prompt, a report or the results of the calls before; `given` is the time of the last one so far.
    """
    first = timestamp_ms(message.stamp)
    if message.kind != "response":
        is_given = message.role == "user" and first is not None
        return None, max(first, given or first) if is_given and first is not None else given
    last = times.at(message.conversation, message.records[-1])
    span = None
    if first is not None and last is not None:
        begun = given is not None and first - LONGEST_RESPONSE <= given < first
        span = (given if begun and given is not None else first, max(first, last))
    ended = [time for call in message.calls if (time := times.of(call)[1]) is not None]
    return span, max((time for time in (given, first, last, *ended) if time is not None), default=None)
