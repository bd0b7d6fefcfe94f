"""The tokens and the money of one usage row. Money is integers inside: pico-dollars and nano-dollars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from reread.accounting.prices import BATCH, FAST, US, Prices, Rates
from reread.accounting.rows import replaces
from reread.base import jsontext
from reread.records.envelope import NOTHING, UsageFields, to_usage

SYNTHETIC = "<synthetic>"
"""The model of rows that the client made up itself: they cost nothing and are not responses."""
BILLED_APART = frozenset({"advisor_message", "advisor", "compaction"})
"""Types of iterations that are billed but not included in the usage of the response."""
UNKNOWN = "unknown"
"""Name of the model if no row names one."""
MOST_DOLLARS = 1e6
"""A response never costs more: a greater sum is no statement of its cost."""
MOST_TOKENS = 10**15
"""A response never has more tokens: a greater count means this."""
PICOS_PER_DOLLAR = 10**12
NANOS_PER_DOLLAR = 10**9
MS_PER_DAY = 86_400_000


class Usage(msgspec.Struct, frozen=True):
    """Tokens and cost of one response or of many."""

    responses: int = 0
    """Number of responses of the API."""
    input_tokens: int = 0
    """Input that was neither written to the cache nor read from it."""
    output_tokens: int = 0
    """Output, thinking included."""
    cache_write_5m_tokens: int = 0
    """Input that was written to the cache for five minutes."""
    cache_write_1h_tokens: int = 0
    """Input that was written to the cache for an hour."""
    cache_read_tokens: int = 0
    """Input that was read from the cache."""
    web_searches: int = 0
    """Number of searches by the API's own tool."""
    cost_usd: float | None = 0.0
    """Cost of the tokens by the price table; None if there are responses and none of them has a price."""
    reported_cost_usd: float | None = None
    """Cost as the client reported it; None if it reported none."""
    unconfirmed_responses: int = 0
    """Number of responses without a stop reason in any row: their output is a lower bound."""
    unpriced_models: tuple[str, ...] = ()
    """Models that the price table lacks: their tokens are counted, their cost is not."""

    @property
    def lower_bound(self) -> bool:
        """True if more tokens may have been used than the rows state."""
        return self.unconfirmed_responses > 0

    @property
    def tokens(self) -> int:
        """All tokens: input, output, cache writes and cache reads."""
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
    """Request modes that change the price: FAST, US, BATCH."""

    @property
    def prompt(self) -> int:
        """Length of the prompt in tokens."""
        return self.input + self.write_5m + self.write_1h + self.read

    @property
    def counts(self) -> tuple[int, int, int, int, int, int]:
        """The counts without model and mode."""
        return (self.input, self.output, self.write_5m, self.write_1h, self.read, self.searches)


COUNT_NAMES = (
    "input_tokens",
    "output_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_read_tokens",
    "web_searches",
)
"""The public names of `Charge.counts`, in the same order."""


class UsageRow(msgspec.Struct, frozen=True, gc=False):
    """The usage that one record states for a request."""

    request: str | None
    usage: UsageFields
    stop_reason: str | None
    model: str | None = None
    cost: float | None = None


class UsageSum:
    """A running total in whole numbers."""

    __slots__ = ("cost_picos", "counts", "priced", "reported_nanos", "responses", "unconfirmed", "unpriced")

    def __init__(self) -> None:
        self.responses: int = 0
        self.counts: list[int] = [0, 0, 0, 0, 0, 0]
        self.cost_picos: int = 0
        self.priced: bool = False
        """True if anything had a price."""
        self.reported_nanos: int | None = None
        self.unconfirmed: int = 0
        self.unpriced: set[str] = set()

    def add_charge(self, charge: Charge, cost_picos: int | None) -> None:
        """Add tokens and their cost, which is None if the model has no price."""
        counts = self.counts
        for n, count in enumerate(charge.counts):
            counts[n] += count
        self.add_cost(charge.model, cost_picos)

    def add_cost(self, model: str | None, cost_picos: int | None) -> None:
        """Add a cost, or the name of a model without a price."""
        if cost_picos is None:
            self.unpriced.add(model or UNKNOWN)
        else:
            self.cost_picos += cost_picos
            self.priced = True

    def add_reported(self, nanos: int | None) -> None:
        """Add a cost that the client reported, if it did."""
        if nanos is not None:
            self.reported_nanos = (self.reported_nanos or 0) + nanos

    def to_usage(self) -> Usage:
        """Return the total so far."""
        return Usage(
            self.responses,
            *self.counts,
            cost_usd=None if self.responses and not self.priced else to_dollars((self.cost_picos + 500) // 1000),
            reported_cost_usd=None if self.reported_nanos is None else to_dollars(self.reported_nanos),
            unconfirmed_responses=self.unconfirmed,
            unpriced_models=tuple(sorted(self.unpriced)),
        )


def sum_known(costs: Iterable[float | None]) -> float | None:
    """Add up the costs that are known; None if there are some and none is."""
    found = list(costs)
    known = [cost for cost in found if cost is not None]
    return sum(known, 0.0) if known or not found else None


def to_dollars(nanos: int) -> float | None:
    """Convert nano-dollars to dollars; None if the amount is too large for a float."""
    try:
        return nanos / NANOS_PER_DOLLAR
    except OverflowError:
        return None


def to_nanos(usd: float | None) -> int | None:
    """Convert dollars to nano-dollars; None if the number is negative, or not a sum that anyone could pay."""
    return round(usd * NANOS_PER_DOLLAR) if usd is not None and 0 <= usd < MOST_DOLLARS else None


def total(parts: Iterable[Usage]) -> Usage:
    """Return the sum of several usages, adding money in whole nano-dollars."""
    out = UsageSum()
    for part in parts:
        out.responses += part.responses
        out.unconfirmed += part.unconfirmed_responses
        for n, name in enumerate(COUNT_NAMES):
            out.counts[n] += getattr(part, name)
        out.unpriced.update(part.unpriced_models)
        out.cost_picos += (to_nanos(part.cost_usd) or 0) * 1000
        out.priced |= part.cost_usd is not None and (part.responses > 0 or part.cost_usd > 0)
        out.add_reported(to_nanos(part.reported_cost_usd))
    return out.to_usage()


def join_row(rows: dict[str | None, UsageRow], new: UsageRow) -> None:
    """Add a later row of a message to its best rows by request; a row without a request id joins the first one."""
    request = next(iter(rows)) if rows and (new.request is None or None in rows) else new.request
    old = rows.get(request)
    if old is None:
        rows[request] = new
        return
    best, other = (new, old) if _replaces(new, old) else (old, new)
    reported = other.cost if best.cost is None else best.cost
    best = msgspec.structs.replace(best, request=best.request or other.request, cost=reported)
    if best.request != request:
        del rows[request]
    rows[best.request] = best


def _replaces(new: UsageRow, old: UsageRow) -> bool:
    return replaces(new.stop_reason, new.usage.output_tokens, old.stop_reason, old.usage.output_tokens)


def row_usage(row: UsageRow, time_ms: int | None, prices: Prices) -> Usage:
    """Return the usage of a response from the row that counts; the time, in milliseconds since 1970, sets the price."""
    out = UsageSum()
    out.responses = 1
    out.unconfirmed = int(not row.stop_reason)
    for charge in charges_of(row.usage, row.model):
        out.add_charge(charge, cost(charge, time_ms, prices))
    out.add_reported(to_nanos(row.cost))
    return out.to_usage()


def charges_of(usage: UsageFields, model: str | None) -> list[Charge]:
    """Return everything a row is billed as: the response itself, then the iterations billed apart."""
    return [charge_of(usage, model), *extra_charges(usage, model)]


def charge_of(usage: UsageFields, model: str | None) -> Charge:
    """Return the charge of the response itself."""
    return Charge(*charge_fields(usage, model))


def extra_charges(usage: UsageFields, model: str | None) -> Iterator[Charge]:
    """Yield the charges of advisor and compaction iterations, which the usage of the response does not include."""
    mode = charge_fields(usage, model)[-1]
    for iteration in _iterations(usage) if usage.iterations else ():
        if iteration.type in BILLED_APART:
            charge = charge_of(iteration, iteration.model or model)
            yield msgspec.structs.replace(charge, mode=mode & ~FAST if iteration.model else mode)


def message_charges(usage: UsageFields, model: str | None) -> list[Charge]:
    """Return the charges of the prompts of a response: more than one if the API called its own tools in between."""
    steps = [step for step in _iterations(usage) if step.type == "message"] if usage.iterations else []
    return [charge_of(step, model) for step in (steps if len(steps) > 1 else [usage])]


class BillableIteration(UsageFields, gc=False):
    """The usage of one sampling step inside a response."""

    type: str | None = None
    model: str | None = None


_decode_iterations = msgspec.json.Decoder(list[BillableIteration | None] | None).decode


def _iterations(usage: UsageFields) -> list[BillableIteration]:
    try:
        return [iteration for iteration in _decode_iterations(usage.iterations) or () if iteration is not None]
    except jsontext.DECODE_ERRORS:
        return _malformed_iterations(usage.iterations)


def _malformed_iterations(raw: msgspec.Raw) -> list[BillableIteration]:
    """Return the iterations without the fields that have the wrong type."""
    value = jsontext.loads_clean(bytes(raw))
    values = cast(list[Any], value) if isinstance(value, list) else []
    return [_malformed_iteration(cast(dict[str, Any], value)) for value in values if isinstance(value, dict)]


def _malformed_iteration(value: dict[str, Any]) -> BillableIteration:
    names = {name: value[name] for name in ("type", "model") if isinstance(value.get(name), str)}
    return BillableIteration(**msgspec.structs.asdict(to_usage(value)), **names)


ChargeFields = tuple[str | None, int, int, int, int, int, int, int]
"""The fields of a Charge, in its order."""


def charge_fields(usage: UsageFields, model: str | None) -> ChargeFields:
    """Return the fields of the charge of a response.

    Cache writes are the stated total or the sum of the split, whichever is more; what the split does not explain lives
    five minutes. A count is at least zero, and at most what no request can have: so that sums are whole numbers.
    """
    input_tokens, output_tokens = usage.input_tokens or 0, usage.output_tokens or 0
    read, write_5m, write_1h = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0, 0
    split, tools = usage.cache_creation, usage.server_tool_use
    if split is not None:
        write_1h, stated_5m = split.ephemeral_1h_input_tokens or 0, split.ephemeral_5m_input_tokens or 0
        write_5m = write_5m - write_1h if write_5m - write_1h > stated_5m else stated_5m
    searches = 0 if tools is None else tools.web_search_requests or 0
    mode = FAST if usage.speed == "fast" else 0
    if usage.inference_geo == "us":
        mode |= US
    if usage.service_tier == "batch":
        mode |= BATCH
    if not (
        0 <= input_tokens <= MOST_TOKENS
        and 0 <= output_tokens <= MOST_TOKENS
        and 0 <= read <= MOST_TOKENS
        and 0 <= write_5m <= MOST_TOKENS
        and 0 <= write_1h <= MOST_TOKENS
        and 0 <= searches <= MOST_TOKENS
    ):
        counts = (input_tokens, output_tokens, write_5m, write_1h, read, searches)
        return (model, *(min(max(0, count), MOST_TOKENS) for count in counts), mode)  # pyright: ignore[reportReturnType]
    return (model, input_tokens, output_tokens, write_5m, write_1h, read, searches, mode)


def overlay(first: UsageFields, later: UsageFields) -> UsageFields:
    """Return the usage at the start of a stream, updated by a later event, which leaves out unchanged fields."""
    changes = {name: value for name in UsageFields.__struct_fields__ if (value := getattr(later, name)) is not None}
    if not later.iterations:
        changes["iterations"] = first.iterations or NOTHING
    return msgspec.structs.replace(first, **changes)


def cost(charge: Charge, time_ms: int | None, prices: Prices) -> int | None:
    """Return the cost of a charge in pico-dollars, so that nothing is rounded; None if its model has no price."""
    rates = rates_of(charge, time_ms, prices)
    return None if rates is None else rates.cost(*charge.counts)


def rates_of(charge: Charge, time_ms: int | None, prices: Prices) -> Rates | None:
    """Return the rates at which a charge is billed; None if its model has no price."""
    return rates_for(prices, charge.model, _day(time_ms), charge.mode, charge.prompt)


def rates_for(prices: Prices, model: str | None, day: int | None, mode: int, prompt: int) -> Rates | None:
    """Return the rates for a prompt of so many tokens: above the model's threshold, all of it is billed higher."""
    rates = prices.rates(model, day, mode)
    return rates.long if rates is not None and rates.long is not None and prompt > rates.over else rates


def _day(time_ms: int | None) -> int | None:
    return None if time_ms is None else time_ms // MS_PER_DAY


class UsageEntry(msgspec.Struct, gc=False):
    """The tokens of one response, of a part of it that is billed apart, or what only the client's counters know."""

    path: str
    """The file it belongs to."""
    time_ms: int | None
    session: str | None
    project: str | None
    branch: str | None
    agent: str | None
    """None in the main thread."""
    model: str | None
    mode: int = 0
    """Request modes that change the price."""
    prompt: int = 0
    """The length of the prompt that decides the price, in tokens."""
    responses: int = 0
    """1 for a response; 0 for what is billed or reported apart."""
    input: int = 0
    output: int = 0
    write_5m: int = 0
    write_1h: int = 0
    read: int = 0
    searches: int = 0
    reported_nanos: int | None = None
    """Cost as the client reported it, in nano-dollars."""
    unconfirmed: int = 0
    message: str | None = None
    """The API's id of the message."""
    request: str | None = None
    """The API's id of the request."""

    @property
    def is_billed(self) -> bool:
        """False if it only states a cost that the client reported."""
        return self.reported_nanos is None or self.responses > 0

    @property
    def counts(self) -> tuple[int, int, int, int, int, int]:
        """The tokens and searches that have a price."""
        return (self.input, self.output, self.write_5m, self.write_1h, self.read, self.searches)

    def cost_picos(self, prices: Prices) -> int | None:
        """Return the cost of its tokens in pico-dollars; None if its model has no price."""
        rates = rates_for(prices, self.model, _day(self.time_ms), self.mode, self.prompt)
        return None if rates is None else rates.cost(*self.counts)


def sum_entries(entries: Iterable[UsageEntry], prices: Prices) -> UsageSum:
    """Return the total of some entries."""
    out = UsageSum()
    for entry in entries:
        out.responses += entry.responses
        out.unconfirmed += entry.unconfirmed
        out.counts = [one + more for one, more in zip(out.counts, entry.counts, strict=True)]
        out.add_reported(entry.reported_nanos)
        if entry.is_billed:
            out.add_cost(entry.model, entry.cost_picos(prices))
    return out
