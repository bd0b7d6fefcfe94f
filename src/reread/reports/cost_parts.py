"""Report why sessions cost what they cost: the parts of the price, and what was written to the cache again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Unpack

import msgspec

from reread.accounting.billing import COUNT_NAMES, PICOS_PER_DOLLAR
from reread.accounting.prices import current_prices
from reread.facts.scope import ScopeOptions
from reread.reports.cache_report import cache_breaks
from reread.reports.usage_report import usage

if TYPE_CHECKING:
    from reread.session.session import Session

PARTS = ("input", "output", "write", "write", "read", "searches")
"""The part of the cost that each of the counts of a usage belongs to."""


class CauseCost(msgspec.Struct, frozen=True):
    """Cache breaks of one cause."""

    cause: str
    breaks: int
    cost_usd: float
    """What writing again cost."""


class CostParts(msgspec.Struct, frozen=True):
    """The parts of a cost, which add up to it."""

    output_usd: float
    input_usd: float
    """Input that was neither written to the cache nor read from it."""
    cache_read_usd: float
    cache_first_usd: float
    """Input that was written to the cache for the first time."""
    cache_again_usd: float
    """Input that was in the cache before, and had to be written again."""
    searches_usd: float
    breaks: int
    causes: list[CauseCost]
    """Why it was written again, the most expensive first."""


def cost_parts(*sources: str | os.PathLike[str] | Session, **options: Unpack[ScopeOptions]) -> CostParts:
    """Return the parts of what sessions cost, by output, input, cache reads and cache writes.

    The cost of each model is divided in the proportion of its list prices, so that the parts add up to the cost of
    `reread.usage`, also where some requests were billed at other rates.
    """
    prices = current_prices()
    sums = dict.fromkeys(PARTS, 0.0)
    for row in usage(*sources, by="model", **options).rows:
        rates = prices.rates(row["model"], None)
        if rates is None or not row.cost_usd:
            continue
        rate = (rates.input, rates.output, rates.write_5m, rates.write_1h, rates.read, rates.search)
        shares = [row[name] * each for name, each in zip(COUNT_NAMES, rate, strict=True)]
        whole = sum(shares) or 1
        for part, share in zip(PARTS, shares, strict=True):
            sums[part] += share / whole * row.cost_usd
    causes: dict[str, tuple[int, float]] = {}
    for row in cache_breaks(*sources, by=("cause", "model"), **options).rows:
        rates = prices.rates(row["model"], None)
        read = row.tokens * rates.read / PICOS_PER_DOLLAR if rates is not None else 0.0
        breaks, cost = causes.get(str(row["cause"]), (0, 0.0))
        causes[str(row["cause"])] = breaks + row.breaks, cost + (row.cost_usd or 0.0) + read
    again = min(sums["write"], sum(cost for _, cost in causes.values()))
    return CostParts(
        output_usd=sums["output"],
        input_usd=sums["input"],
        cache_read_usd=sums["read"],
        cache_first_usd=sums["write"] - again,
        cache_again_usd=again,
        searches_usd=sums["searches"],
        breaks=sum(breaks for breaks, _ in causes.values()),
        causes=sorted((CauseCost(cause, *found) for cause, found in causes.items()), key=lambda one: -one.cost_usd),
    )
