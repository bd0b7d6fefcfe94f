"""Charges: what one row of usage stands for, in tokens and in money. Money is integers inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, cast

import msgspec

from reread.accounting.prices import BATCH, FAST, US, Prices
from reread.base import jsontext
from reread.records.envelope import NOTHING, UsageFields, to_usage

SYNTHETIC = "<synthetic>"
"""The model of rows that the client wrote itself: they cost nothing and are no responses."""
BILLED_APART = frozenset({"advisor_message", "advisor", "compaction"})
"""Iterations that the figures of the whole response leave out, and that are billed."""
NANO = 10**9
DAY_MS = 86_400_000


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money of one response or of many."""

    responses: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    web_searches: int = 0
    cost_usd: float | None = 0.0
    """What the tokens cost by the price table; None where there are responses and none could be priced."""
    reported_cost_usd: float | None = None
    """What the client itself said; None where it said nothing."""
    unconfirmed_responses: int = 0
    """Responses none of whose rows says that they ended: their output is a lower bound."""
    unpriced_models: tuple[str, ...] = ()
    """Models that the price table does not know: their tokens are counted, their cost is not."""

    @property
    def lower_bound(self) -> bool:
        """Whether more may have been spent than the rows say."""
        return self.unconfirmed_responses > 0

    @property
    def tokens(self) -> int:
        """All tokens, of whatever class."""
        writes = self.cache_write_5m_tokens + self.cache_write_1h_tokens
        return self.input_tokens + self.output_tokens + writes + self.cache_read_tokens

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __add__(self, other: Usage) -> Usage:
        return total((self, other))


class Charge(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Tokens that are billed together: one prompt to one model."""

    model: str | None = None
    input: int = 0
    output: int = 0
    write_5m: int = 0
    write_1h: int = 0
    read: int = 0
    searches: int = 0
    mode: int = 0
    """What was special about the request: FAST, US, BATCH."""

    @property
    def prompt(self) -> int:
        """How long the prompt was."""
        return self.input + self.write_5m + self.write_1h + self.read

    @property
    def counts(self) -> tuple[int, int, int, int, int, int]:
        """Its figures, without what they are of."""
        return (self.input, self.output, self.write_5m, self.write_1h, self.read, self.searches)


class UsageRow(msgspec.Struct, frozen=True, gc=False):
    """The usage that one record states for a request."""

    request: str | None
    usage: UsageFields
    stop_reason: str | None
    model: str | None = None
    cost: float | None = None

    def beats(self, other: UsageRow) -> bool:
        """A row that says why the response ended first, then the one with more output, then the later one."""
        mine = (bool(self.stop_reason), self.usage.output_tokens or 0)
        return mine >= (bool(other.stop_reason), other.usage.output_tokens or 0)


class UsageSum:
    """Figures as they add up, in whole numbers."""

    __slots__ = ("counts", "picos", "priced", "reported", "responses", "unconfirmed", "unpriced")

    def __init__(self) -> None:
        self.responses = 0
        self.counts = [0, 0, 0, 0, 0, 0]
        self.picos = 0
        self.priced = False
        self.reported: int | None = None
        self.unconfirmed = 0
        self.unpriced: set[str] = set()

    def charge(self, charge: Charge, picos: int | None) -> None:
        """Add tokens, and what they cost where that is known."""
        counts = self.counts
        for n, count in enumerate(charge.counts):
            counts[n] += count
        self.pay(charge.model, picos)

    def pay(self, model: str | None, picos: int | None) -> None:
        """Add money, or note a model that has no price."""
        if picos is None:
            self.unpriced.add(model or UNKNOWN)
        else:
            self.picos += picos
            self.priced = True

    def report(self, nanos: int | None) -> None:
        """Add what the client said, where it said something."""
        if nanos is not None:
            self.reported = (self.reported or 0) + nanos

    def add(self, other: UsageSum) -> None:
        """Add other figures."""
        self.responses += other.responses
        self.counts = [mine + more for mine, more in zip(self.counts, other.counts, strict=True)]
        self.picos += other.picos
        self.priced |= other.priced
        self.report(other.reported)
        self.unconfirmed += other.unconfirmed
        self.unpriced |= other.unpriced

    def usage(self) -> Usage:
        """The figures so far."""
        return Usage(
            self.responses,
            *self.counts,
            cost_usd=None if self.responses and not self.priced else dollars((self.picos + 500) // 1000),
            reported_cost_usd=None if self.reported is None else dollars(self.reported),
            unconfirmed_responses=self.unconfirmed,
            unpriced_models=tuple(sorted(self.unpriced)),
        )


UNKNOWN = "unknown"
"""How a model is called that no row names."""


def dollars(nanos: int) -> float | None:
    """Nano-dollars as a number to show; None where no such number is so large."""
    try:
        return nanos / NANO
    except OverflowError:
        return None


def nano_dollars(usd: float | None) -> int | None:
    """Dollars as a whole number of nano-dollars; None where that is no amount."""
    return round(usd * NANO) if usd is not None and 0 <= usd < inf else None


def total(parts: Iterable[Usage]) -> Usage:
    """The sum of several usages; money is added in nano-dollars."""
    out = UsageSum()
    for part in parts:
        out.responses += part.responses
        out.unconfirmed += part.unconfirmed_responses
        for n, name in enumerate(COUNTS):
            out.counts[n] += getattr(part, name)
        out.unpriced.update(part.unpriced_models)
        out.picos += (nano_dollars(part.cost_usd) or 0) * 1000
        out.priced |= part.cost_usd is not None and (part.responses > 0 or part.cost_usd > 0)
        out.report(nano_dollars(part.reported_cost_usd))
    return out.usage()


COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_read_tokens",
    "web_searches",
)
"""The figures of a charge by their public names, in its order."""


def join_row(rows: dict[str | None, UsageRow], new: UsageRow) -> None:
    """Take in a row of a message: one whole row wins for each request, and where a row names none, for all."""
    name = next(iter(rows)) if rows and (new.request is None or None in rows) else new.request
    old = rows.get(name)
    if old is None:
        rows[name] = new
        return
    best, other = (new, old) if new.beats(old) else (old, new)
    said = other.cost if best.cost is None else best.cost
    best = msgspec.structs.replace(best, request=best.request or other.request, cost=said)
    if best.request != name:
        del rows[name]
    rows[best.request] = best


def row_usage(row: UsageRow, when: int | None, prices: Prices) -> Usage:
    """What one winning row stands for. `when` is in milliseconds since 1970."""
    out = UsageSum()
    out.responses = 1
    out.unconfirmed = int(not row.stop_reason)
    for charge in charges_of(row.usage, row.model):
        out.charge(charge, cost(charge, when, prices))
    out.report(nano_dollars(row.cost))
    return out.usage()


def charges_of(usage: UsageFields, model: str | None) -> list[Charge]:
    """What a row's usage is billed as: the response itself, then what ran beside it."""
    return [charge_of(usage, model), *extra_charges(usage, model)]


def charge_of(usage: UsageFields, model: str | None) -> Charge:
    """What the response itself is billed as."""
    return Charge(*figures_of(usage, model))


def extra_charges(usage: UsageFields, model: str | None) -> Iterator[Charge]:
    """Iterations of advisors and compactions: billed, and in no other figure."""
    mode = figures_of(usage, model)[-1]
    for step in _steps(usage) if usage.iterations else ():
        if step.type in BILLED_APART:
            charge = charge_of(step, step.model or model)
            yield msgspec.structs.replace(charge, mode=mode & ~FAST if step.model else mode)


class SamplingStep(UsageFields, gc=False):
    """One sampling step inside a response."""

    type: str | None = None
    model: str | None = None


_decode_steps = msgspec.json.Decoder(list[SamplingStep | None] | None).decode


def _steps(usage: UsageFields) -> list[SamplingStep]:
    try:
        return [step for step in _decode_steps(usage.iterations) or () if step is not None]
    except jsontext.DECODE_ERRORS:
        return _odd_steps(usage.iterations)


def _odd_steps(raw: msgspec.Raw) -> list[SamplingStep]:
    """The steps where some have another shape than they should: what does not fit is left out of each."""
    value = jsontext.loads_clean(bytes(raw))
    steps = cast(list[Any], value) if isinstance(value, list) else []
    return [_odd_step(cast(dict[str, Any], step)) for step in steps if isinstance(step, dict)]


def _odd_step(step: dict[str, Any]) -> SamplingStep:
    names = {name: step[name] for name in ("type", "model") if isinstance(step.get(name), str)}
    return SamplingStep(**msgspec.structs.asdict(to_usage(step)), **names)


Figures = tuple[str | None, int, int, int, int, int, int, int]
"""The fields of a Charge."""


def figures_of(usage: UsageFields, model: str | None) -> Figures:
    """What a usage comes to: cache writes that no split explains live five minutes; less than nothing is nothing."""
    given, made = usage.input_tokens or 0, usage.output_tokens or 0
    read, five, hour = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0, 0
    split, tools = usage.cache_creation, usage.server_tool_use
    if split is not None:
        hour, least = split.ephemeral_1h_input_tokens or 0, split.ephemeral_5m_input_tokens or 0
        five = five - hour if five - hour > least else least
    searches = 0 if tools is None else tools.web_search_requests or 0
    mode = FAST if usage.speed == "fast" else 0
    if usage.inference_geo == "us":
        mode |= US
    if usage.service_tier == "batch":
        mode |= BATCH
    if given < 0 or made < 0 or read < 0 or five < 0 or hour < 0 or searches < 0:
        counts = (max(0, count) for count in (given, made, five, hour, read, searches))
        return (model, *counts, mode)  # pyright: ignore[reportReturnType]
    return (model, given, made, five, hour, read, searches, mode)


def overlay(first: UsageFields, later: UsageFields) -> UsageFields:
    """A stream's usage with what a later event of it says; events leave out what did not change."""
    said = {name: value for name in UsageFields.__struct_fields__ if (value := getattr(later, name)) is not None}
    if not later.iterations:
        said["iterations"] = first.iterations or NOTHING
    return msgspec.structs.replace(first, **said)


def cost(charge: Charge, when: int | None, prices: Prices, *, long: bool | None = None) -> int | None:
    """What a charge costs in pico-dollars, so that nothing is rounded; None where its model has no price.

    A prompt above the model's threshold is billed at the higher rate as a whole. `long` says so for charges that
    stand for several prompts.
    """
    rates = prices.rates(charge.model, None if when is None else when // DAY_MS, charge.mode)
    if rates is None:
        return None
    if rates.long is not None and (charge.prompt > rates.over if long is None else long):
        rates = rates.long
    return rates.price(*charge.counts)
