"""Budgets as lines of styled text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reread.base.format import money_text
from reread.base.paths import path_name
from reread.base.sanitize import safe_line
from reread.base.text import pad
from reread.render.listings import PLAIN, QUIET, STRONG, Span
from reread.reports.budget_report import Budget, BudgetState
from reread.reports.status_line import limit_text

LOUD = "loud"


def budget_name(budget: Budget) -> str:
    """Return what a budget is for: `day`, `month, shop, opus`."""
    names = (budget.per, path_name(budget.project or ""), budget.model, budget.team)
    return ", ".join(safe_line(name) for name in names if name)


def budget_lines(states: Sequence[BudgetState]) -> Iterator[list[Span]]:
    """Yield a line for each budget: what is spent of it, what is left, and what it comes to."""
    width = max((len(budget_name(one)) for one in states), default=0)
    for one in states:
        spent = money_text(one.spent_usd, lower_bound=one.lower_bound)
        over = one.left_usd < 0
        left = f"{money_text(abs(one.left_usd))} {'over' if over else 'left'}"
        rate = f"  {money_text(one.forecast_usd)} at this rate" if one.forecast_usd is not None else ""
        yield [
            (STRONG, f"{pad(budget_name(one), width)}  "),
            (PLAIN, f"{spent} of {money_text(one.amount_usd)}  "),
            (LOUD if over else PLAIN, left),
            (LOUD if rate and (one.forecast_usd or 0) > one.amount_usd else QUIET, rate),
        ]


def limit_lines(limits: Mapping[str, Any]) -> Iterator[list[Span]]:
    """Yield a line with the rate limits, as a client last gave them."""
    texts = [text for name, limit in limits.items() if (text := limit_text(name, limit))]
    if texts:
        yield [(STRONG, "Rate limits  "), (PLAIN, safe_line(", ".join(texts)))]
