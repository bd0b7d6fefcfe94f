"""How full the context window was at each turn, and what compactions removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from reread.accounting.billing import charges_of
from reread.accounting.prices import Prices, parse_model_id
from reread.model.conversation import Agent, Compaction, Conversation, Message, Turn
from reread.session.places import find_agent

if TYPE_CHECKING:
    from reread.session.context_parts import Context

USUAL, LARGE = 200_000, 1_000_000
"""The windows of most models: a prompt beyond the usual one, or an automatic compaction, tells which it was."""


class ContextDrop(msgspec.Struct, frozen=True):
    """A compaction, and what it removed from the context."""

    trigger: str | None
    before: int | None
    """Tokens in the context before: the client's figure, else that of the last response."""
    after: int | None
    """Tokens after, if the client says."""
    tokens: int | None
    """Tokens removed, if both are known."""
    micro: bool
    """True if only old tool results were cleared."""
    line: int


class ContextFill(msgspec.Struct, frozen=True):
    """The context at the end of a turn."""

    turn: int
    model: str | None
    tokens: int | None
    """Prompt and output of the last response; None if the turn has no response."""
    peak: int | None
    """The most in the turn."""
    window: int | None
    """The size of the context window in tokens."""
    window_stated: bool
    """True if the client says so; else it is the model's usual window."""
    compactions: list[ContextDrop] = []
    """Those in the turn."""

    @property
    def share(self) -> float | None:
        """How full it was, from 0 to 1."""
        return self.tokens / self.window if self.tokens is not None and self.window else None


class ContextFills(list[ContextFill]):
    """The context at the end of each turn; call it for what filled the context of one request."""

    def __init__(self, fills: Iterable[ContextFill], conversation: Conversation, agents: Mapping[str, Agent]) -> None:
        super().__init__(fills)
        self._conversation = conversation
        self._agents = agents

    def __call__(self, *, turn: int | None = None, request: int | None = None, agent: str | None = None) -> Context:
        """Return what filled the context of a request: the last one, the last one of a turn, or one by its number.

        `agent` is the id of an agent, or how it begins; turns and requests are then the agent's.
        """
        from reread.session.context_parts import context_at  # loaded late: most views need no context

        thread = self._conversation if agent is None else find_agent(self._agents, agent)
        return context_at(thread, turn=turn, request=request, agent=thread.id if isinstance(thread, Agent) else None)


def context_of(conversation: Conversation, prices: Prices) -> list[ContextFill]:
    """Return the context at the end of each turn of the active branch."""
    gauge = ContextGauge(conversation)
    for _ in gauge.measure():
        pass
    return gauge.fills(conversation.turns, prices)


class ContextGauge:
    """The context after each message of a conversation, measured once."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._sizes: list[int | None] = []
        """Tokens by message; None for anything but a response."""
        self._known: dict[tuple[Prices, int, int, int], ContextFill] = {}
        """The fills of turns, most of which branches share."""
        self._compactions: dict[int, ContextDrop] | None = None

    def measure(self) -> Iterator[None]:
        """Measure the new messages, one at each step."""
        messages, sizes = self._conversation.messages, self._sizes
        if len(sizes) < len(messages):
            self._forget()
        while len(sizes) < len(messages):
            sizes.append(context_size(messages[len(sizes)]))
            yield

    def remeasure(self, messages: Iterable[Message]) -> None:
        """Measure changed messages again."""
        self._forget()
        for message in messages:
            if message.index < len(self._sizes):
                self._sizes[message.index] = context_size(message)

    def fills(self, turns: Iterable[Turn], prices: Prices) -> list[ContextFill]:
        """Return the context at the end of each turn."""
        stated = _stated_windows(self._conversation)
        if self._compactions is None:
            self._compactions = self._dropped()
        largest = USUAL if self._compacted_as_usual(self._compactions.values()) else None
        out: list[ContextFill] = []
        for turn in turns:
            key = (prices, turn.index, len(turn.messages), turn.messages[-1].index)
            if key not in self._known:
                self._known[key] = self._fill(turn, self._compactions, largest, stated, prices)
            out.append(self._known[key])
        return out

    def _forget(self) -> None:
        self._known.clear()
        self._compactions = None

    def _compacted_as_usual(self, dropped: Iterable[ContextDrop]) -> bool:
        """True if the client compacted by itself because a usual window was full."""
        full = [drop.before for drop in dropped if drop.trigger == "auto" and not drop.micro and drop.before]
        return bool(full) and max([*full, *(size for size in self._sizes if size is not None)]) <= USUAL

    def _fill(
        self,
        turn: Turn,
        dropped: dict[int, ContextDrop],
        largest: int | None,
        stated: dict[str, int],
        prices: Prices,
    ) -> ContextFill:
        found = [(size, m) for m in turn.messages if (size := self._sizes[m.index]) is not None]
        tokens, model = (found[-1][0], found[-1][1].model) if found else (None, None)
        peak = max((size for size, _ in found), default=None)
        window, known = _window(model, peak or 0, stated, prices)
        if window is not None and largest is not None and not known:
            window = min(window, largest)
        inside = [dropped[message.index] for message in turn.messages if message.index in dropped] if dropped else []
        return ContextFill(turn.index, model, tokens, peak, window, known, inside)

    def _dropped(self) -> dict[int, ContextDrop]:
        """Return the compactions by message index, with the context after the last response before each."""
        marks = {mark.index: c for c in self._conversation.compactions if (mark := c.boundary or c.summary)}
        out: dict[int, ContextDrop] = {}
        last: int | None = None
        for index, size in enumerate(self._sizes) if marks else ():
            if index in marks:
                out[index] = _dropped(marks[index], last)
            last = last if size is None else size
        return out


def context_size(message: Message) -> int | None:
    """Return the tokens in the context after a response: its prompt and output."""
    rows = message.rows if message.kind == "response" else ()
    if not rows:
        return None
    charge = charges_of(rows[-1].usage, None)[0]
    return charge.prompt + charge.output


def _dropped(compaction: Compaction, last: int | None) -> ContextDrop:
    before, after = compaction.pre_tokens, compaction.post_tokens
    if before is None:
        before = last
    removed = max(0, before - after) if before is not None and after is not None else None
    return ContextDrop(compaction.trigger, before, after, removed, compaction.micro, compaction.line)


def _stated_windows(conversation: Conversation) -> dict[str, int]:
    """Return the window of each model, by the results of a stream."""
    out: dict[str, int] = {}
    for index in conversation.metadata.results:
        usage: Any = conversation.records[index].native.get("modelUsage")
        for name, model in cast(dict[str, Any], usage).items() if isinstance(usage, dict) else ():
            window: Any = cast(dict[str, Any], model).get("contextWindow") if isinstance(model, dict) else None
            if isinstance(window, int) and not isinstance(window, bool):
                out[parse_model_id(name).model] = window
    return out


def _window(model: str | None, peak: int, stated: dict[str, int], prices: Prices) -> tuple[int | None, bool]:
    if model is None:
        return None, False
    name = parse_model_id(model).model
    if name in stated:
        return stated[name], True
    if "[1m]" in model:
        return LARGE, True
    known = prices.model(model)
    window = known.window if known is not None else None
    return (LARGE if window is not None and peak > window else window), False
