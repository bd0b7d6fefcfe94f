"""Report why sessions cost what they cost: the parts of the price, and what was written to the cache again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

from reread.accounting.billing import COUNT_NAMES, PICOS_PER_DOLLAR
from reread.accounting.prices import Prices, current_prices
from reread.facts.scope import ScopeOptions
from reread.reports.cache_report import cache_breaks
from reread.reports.report import Report, Row
from reread.reports.usage_report import COST, usage

if TYPE_CHECKING:
    from reread.session.session import Session

FIRST, AGAIN, WRITTEN = "cache_first", "cache_again", "cache_write"
PART_NAMES = {
    "output": "output",
    "input": "new input",
    "cache_read": "cache reads",
    FIRST: "cache writes, first time",
    AGAIN: "cache written again",
    "searches": "web searches",
}
"""The parts in words."""
PARTS: tuple[str, ...] = ("input", "output", WRITTEN, WRITTEN, "cache_read", "searches")
"""The part of the cost that each of the counts of a usage belongs to."""
LEAST = 1e-9
"""What costs less has nothing of a part but for rounding, in dollars."""


def cost_parts(*sources: str | os.PathLike[str] | Session, **options: Unpack[ScopeOptions]) -> Report:
    """Return the parts of what sessions cost, which add up to it: output, input, cache reads and cache writes.

    Cache writes are divided into the first ones and those of what had been written before; `causes` says why that was,
    the most expensive first, and what writing it again cost. The cost of each model is divided in the proportion of its
    list prices, so that the parts add up to the cost of `reread.usage`, also where some requests were billed at other
    rates.
    """
    prices = current_prices()
    sums: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    used = usage(*sources, by="model", **options)
    for row in used.rows:
        for part, cost in _divided(row, prices).items():
            sums[part] += cost
    causes: dict[str, dict[str, Any]] = {}
    broken = cache_breaks(*sources, by=("cause", "model"), **options)
    for row in broken.rows:
        cause = causes.setdefault(str(row["cause"]), {"cause": row["cause"], "breaks": 0, "cost_usd": 0.0})
        cause["breaks"] += row.breaks
        cause["cost_usd"] += _written_again(row, prices)
    again = min(sums[WRITTEN], sum(cause["cost_usd"] for cause in causes.values()))
    costs = {
        "output": sums["output"],
        "input": sums["input"],
        "cache_read": sums["cache_read"],
        FIRST: sums[WRITTEN] - again,
        AGAIN: again,
        **({"searches": sums["searches"]} if sums["searches"] else {}),
    }
    return Report(
        "cost",
        ("part",),
        [Row({"part": part}, {"cost_usd": cost}) for part, cost in costs.items()],
        Row({}, {"cost_usd": sum(costs.values())}),
        unread={*used.unread, *broken.unread},
        about={"causes": sorted(causes.values(), key=lambda one: -one["cost_usd"])},
        columns=[COST],
    )


def behind_part(
    part: str, *sources: str | os.PathLike[str] | Session, cause: str | None = None, **options: Unpack[ScopeOptions]
) -> list[tuple[Row, float]]:
    """Return the responses that a part of the cost is of, each with what it is of that, the dearest first.

    What was written to the cache again is told by its cache breaks, which say the turn and the cause.
    """
    prices = current_prices()
    again = (
        [(row, _written_again(row, prices)) for row in cache_breaks(*sources, by=("cause",), **options).items]
        if part in (FIRST, AGAIN)
        else []
    )
    if part == AGAIN:
        found = [(row, cost) for row, cost in again if cause in (None, row["cause"])]
    else:
        name = WRITTEN if part == FIRST else part
        rows = usage(*sources, by=("model",), **options).items
        other = {row["id"]: cost for row, cost in again if row["id"]}  # a copy may count in another session
        found = [(row, _divided(row, prices).get(name, 0.0) - other.pop(row["message"], 0.0)) for row in rows]
    return sorted(((row, cost) for row, cost in found if cost > LEAST), key=lambda one: -one[1])


def _written_again(row: Row, prices: Prices) -> float:
    """Return what it cost to write to the cache again what one or more cache breaks are of."""
    rates = prices.rates(row["model"], None)
    return (row["cost_usd"] or 0.0) + (row["tokens"] * rates.read / PICOS_PER_DOLLAR if rates is not None else 0.0)


def _divided(row: Row, prices: Prices) -> dict[str, float]:
    """Return what each part of the cost of a row is, in the proportion of list prices."""
    rates = prices.rates(row["model"], None)
    if rates is None or not row["cost_usd"]:
        return {}
    rate = (rates.input, rates.output, rates.write_5m, rates.write_1h, rates.read, rates.search)
    shares = [row[name] * each for name, each in zip(COUNT_NAMES, rate, strict=True)]
    whole = sum(shares) or 1
    parts: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    for part, share in zip(PARTS, shares, strict=True):
        parts[part] += share / whole * row["cost_usd"]
    return parts
