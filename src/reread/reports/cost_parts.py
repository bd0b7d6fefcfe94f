"""Report why sessions cost what they cost: the parts of the price, and what was written to the cache again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from reread.accounting.billing import COUNT_NAMES
from reread.accounting.prices import current_prices
from reread.base.times import TimeLike
from reread.reports.cache_report import cache_breaks
from reread.reports.usage_report import usage

if TYPE_CHECKING:
    from reread.reports.usage_report import Source

PARTS = ("input", "output", "write", "write", "read", "searches")
"""The part of the cost that each of the counts of a usage belongs to."""
PICOS = 10**12


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


def cost_parts(
    *sources: Source,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    model: str | Sequence[str] | None = None,
    person: str | Sequence[str] | None = None,
    machine: str | Sequence[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
) -> CostParts:
    """Return the parts of what sessions cost, by output, input, cache reads and cache writes.

    The cost of each model is divided in the proportion of its list prices, so that the parts add up to the cost of
    `reread.usage`, also where some requests were billed at other rates.
    """
    options: dict[str, Any] = {"since": since, "until": until, "tz": tz, "project": project, "model": model}
    options |= {"person": person, "machine": machine, "root": root}
    prices = current_prices()
    sums = dict.fromkeys(PARTS, 0.0)
    for row in usage(*sources, by="model", **options).rows:
        rates = prices.rates(row.group["model"], None)
        if rates is None or not row.usage.cost_usd:
            continue
        rate = (rates.input, rates.output, rates.write_5m, rates.write_1h, rates.read, rates.search)
        shares = [row.usage[name] * each for name, each in zip(COUNT_NAMES, rate, strict=True)]
        whole = sum(shares) or 1
        for part, share in zip(PARTS, shares, strict=True):
            sums[part] += share / whole * row.usage.cost_usd
    causes: dict[str, tuple[int, float]] = {}
    for row in cache_breaks(*sources, by=("cause", "model"), **options).rows:  # pyright: ignore[reportArgumentType]
        rates = prices.rates(row.group["model"], None)
        read = row.figures.tokens * rates.read / PICOS if rates is not None else 0.0
        breaks, cost = causes.get(str(row.group["cause"]), (0, 0.0))
        causes[str(row.group["cause"])] = breaks + row.figures.breaks, cost + (row.figures.cost_usd or 0.0) + read
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
