"""Usage entries: what one response used, or what is billed or reported apart, with everything it can be grouped by."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from reread.accounting.billing import MS_PER_DAY, UsageSum
from reread.accounting.prices import Prices, Rates


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
        day = None if self.time_ms is None else self.time_ms // MS_PER_DAY
        rates = rates_for(prices, self.model, day, self.mode, self.prompt)
        return None if rates is None else rates.cost(*self.counts)


def rates_for(prices: Prices, model: str | None, day: int | None, mode: int, prompt: int) -> Rates | None:
    """Return the rates for a prompt of so many tokens: above the model's threshold, all of it is billed higher."""
    rates = prices.rates(model, day, mode)
    return rates.long if rates is not None and rates.long is not None and prompt > rates.over else rates


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
