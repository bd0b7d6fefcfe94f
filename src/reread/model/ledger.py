"""The ledger: for every record, what became of it, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

import msgspec

if TYPE_CHECKING:
    from reread.model.conversation import Conversation

FATES = (
    "shown",
    "merged",
    "paired",
    "attached",
    "state",
    "agent",
    "duplicate",
    "reappended",
    "orphan",
    "unknown",
    "malformed",
    "abandoned",
)
(
    SHOWN,
    MERGED,
    PAIRED,
    ATTACHED,
    STATE,
    AGENT,
    DUPLICATE,
    REAPPENDED,
    ORPHAN,
    UNKNOWN,
    MALFORMED,
    ABANDONED,
) = range(len(FATES))


class Fate(msgspec.Struct, frozen=True):
    """What became of one record, and why."""

    line: int
    fate: str
    reason: str
    message: str | None = None
    """The id of the message it belongs to."""
    call: str | None = None
    """The id of the call it belongs to."""
    agent: str | None = None
    """The id of the agent it belongs to."""
    of: int | None = None
    """The line of the record that it repeats."""


class Ledger(Sequence[Fate]):
    """What became of every record. Records in = records accounted for."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._conversation.records)

    @overload
    def __getitem__(self, index: int) -> Fate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fate]: ...
    def __getitem__(self, index: int | slice) -> Fate | list[Fate]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        return self._conversation.fate(range(len(self))[index])

    def __iter__(self) -> Iterator[Fate]:
        for n in range(len(self)):
            yield self[n]

    @property
    def fates(self) -> dict[str, int]:
        """How many records met each fate."""
        counts = Counter(self._conversation.fate_codes())
        return {name: counts[code] for code, name in enumerate(FATES) if counts[code]}


def _on_message(word: str) -> Callable[[Conversation, int, int], Fate]:
    def explain(conversation: Conversation, index: int, target: int) -> Fate:
        message = conversation.messages[target]
        reason = f"{word} {message.kind} {message.id}"
        return Fate(conversation.records.line(index), FATES[conversation.fate_code(index)], reason, message=message.id)

    return explain


def _on_call(conversation: Conversation, index: int, target: int) -> Fate:
    call = conversation.calls[target]
    how = " by position" if call.by_position else ""
    return Fate(
        conversation.records.line(index), "paired", f"result of call {call.id} ({call.name}){how}", call=call.id
    )


def _on_either(conversation: Conversation, index: int, target: int) -> Fate:
    line = conversation.records.line(index)
    if target <= -2:
        call = conversation.calls[-2 - target]
        return Fate(line, "attached", f"goes with call {call.id} ({call.name})", call=call.id)
    if target < 0:
        return Fate(line, "attached", "goes with the session: nothing was said before it")
    message = conversation.messages[target]
    return Fate(line, "attached", f"goes with {message.kind} {message.id}", message=message.id)


def _on_agent(conversation: Conversation, index: int, target: int) -> Fate:
    id = list(conversation.inline_agents)[target]
    return Fate(conversation.records.line(index), "agent", f"belongs to agent {id}", agent=id)


def _repeats(word: str) -> Callable[[Conversation, int, int], Fate]:
    def explain(conversation: Conversation, index: int, target: int) -> Fate:
        line, of = conversation.records.line(index), conversation.records.line(target)
        return Fate(line, FATES[conversation.fate_code(index)], word.format(of), of=of)

    return explain


def _plain(reason: str) -> Callable[[Conversation, int, int], Fate]:
    def explain(conversation: Conversation, index: int, target: int) -> Fate:
        record = conversation.records[index]
        fate = FATES[conversation.fate_code(index)]
        return Fate(record.line, fate, reason.format(type=record.type, fault=record.fault))

    return explain


EXPLAIN: tuple[Callable[[Conversation, int, int], Fate], ...] = (
    _on_message("begins"),
    _on_message("goes on with"),
    _on_call,
    _on_either,
    _plain("{type}: tells of the session; the last one wins"),
    _on_agent,
    _repeats("repeats line {}"),
    _repeats("repeats line {}, written again by a compaction"),
    _plain("a result whose call is not in this file"),
    _plain("type {type} is not known; kept as it is"),
    _plain("{fault}"),
)
"""The words for each fate, in the order of FATES."""
