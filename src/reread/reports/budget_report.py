"""Budgets: how many dollars a day, week or month may cost, in all or of a project or model, and what is left.

They are in the `config.json` of reread's own folder: those for everything by their unit, as the first versions of the
reader wrote them, and the others in a list beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec

from reread.base.coerce import as_dict, as_list, as_str
from reread.base.late_pattern import late_pattern
from reread.base.times import parse_span, parse_time_zone
from reread.catalog.config import change_config_value, config_value
from reread.disk.layout import default_store
from reread.disk.projects import expand_folders
from reread.errors import Misuse
from reread.facts.scope import Scope
from reread.reports.report import Row
from reread.reports.usage_report import usage_totals

SETTING, SCOPED = "budgets", "scoped"
UNITS = {"day": "today", "week": "this week", "month": "this month"}
"""The periods that a budget can be for, and the one that is now; weeks begin on Monday."""
LARGEST = 1e12
SURE = 0.1
"""The share of a period that has to be over before it is extrapolated."""
_AMOUNT = late_pattern(r"\$?(\d+(?:\.\d+)?)(?:\$|usd)?(?:/|per|a)(day|week|month|d|w|m)", re.IGNORECASE)
"""A budget without its blanks."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a period."""

    amount_usd: float
    per: str
    """day, week or month."""
    project: str | None = None
    """Only what this project costs: its folder, or its name."""
    model: str | None = None
    """Only what this model or family costs."""
    team: str | None = None
    """What this team costs, by the figures in its bucket; then project and model are None."""

    @property
    def scope(self) -> tuple[str, str | None, str | None, str | None]:
        """Its period, project, model and team: there is one budget for each combination."""
        return self.per, self.project, self.model, self.team


class BudgetState(Budget, frozen=True, kw_only=True):
    """A budget, and how much of it is spent in the current period."""

    start: datetime
    end: datetime
    spent_usd: float
    left_usd: float
    """Below zero if more is spent."""
    forecast_usd: float | None
    """The cost of the whole period at the rate since it began; None in its first tenth."""
    lower_bound: bool = False
    """True if something that was used has no known price."""


def parse_budget(text: str, *, project: str | None = None, model: str | None = None, team: str | None = None) -> Budget:
    """Return the budget that a text such as `20/day` means."""
    if team is not None and (project is not None or model is not None):
        raise Misuse("Cannot set a budget for a team and a project or model together; use one of them.")
    found = _AMOUNT.fullmatch("".join(text.split()))
    unit = next((unit for unit in UNITS if found and unit.startswith(found[2].lower())), None)
    if found is None or unit is None or not is_amount(float(found[1])):
        raise Misuse(f"Invalid budget {text!r}; use dollars for a day, week or month, such as 20/day.")
    if team is not None and unit == "day":
        raise Misuse("Cannot set a budget of a team for a day: its figures are by week; use a week or month.")
    return Budget(amount_usd=float(found[1]), per=unit, project=_folder(project), model=model, team=team)


def _folder(project: str | None) -> str | None:
    """Return a project as it is stored: an absolute folder, or its name."""
    return expand_folders(project)[0] if project is not None else None


def is_amount(value: Any) -> bool:
    """True if a value can be the dollars of a budget."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST


def stored_budgets() -> list[Budget]:
    """Return the budgets that are set; what is invalid is left out."""
    return _budgets_of(as_dict(config_value(default_store(), SETTING)))


def _budgets_of(stored: dict[str, Any]) -> list[Budget]:
    found = [Budget(amount_usd=stored[unit], per=unit) for unit in UNITS if is_amount(stored.get(unit))]
    for value in map(as_dict, as_list(stored.get(SCOPED))):
        per, project, model, team = (as_str(value.get(name)) for name in ("per", "project", "model", "team"))
        if per in UNITS and is_amount(value.get("amount_usd")):
            found.append(Budget(amount_usd=value["amount_usd"], per=per, project=project, model=model, team=team))
    return list({budget.scope: budget for budget in found}.values())


def set_budget(budget: Budget) -> None:
    """Set a budget, in the place of the one for the same."""
    _change(lambda budgets: [*(one for one in budgets if one.scope != budget.scope), budget])


def remove_budgets(
    *, per: str | None = None, project: str | None = None, model: str | None = None, team: str | None = None
) -> list[Budget]:
    """Remove the budgets for these, and return them; without any of them, remove all."""
    wanted = {"per": per, "project": _folder(project), "model": model, "team": team}
    given = {name: value for name, value in wanted.items() if value is not None}
    removed: list[Budget] = []

    def change(budgets: list[Budget]) -> list[Budget]:
        removed[:] = (one for one in budgets if all(getattr(one, name) == value for name, value in given.items()))
        return [one for one in budgets if one not in removed]

    _change(change)
    return removed


def _change(change_budgets: Callable[[list[Budget]], list[Budget]]) -> None:
    """Change the budgets that are set; nobody else changes them meanwhile."""

    def change(stored: Any) -> dict[str, Any]:
        budgets = change_budgets(_budgets_of(as_dict(stored)))
        scoped = [one for one in budgets if one.project or one.model or one.team]
        plain = {one.per: one.amount_usd for one in budgets if one not in scoped}
        kept = {name: value for name, value in as_dict(stored).items() if name not in (*UNITS, SCOPED)}
        return {**kept, **plain, **({SCOPED: msgspec.to_builtins(scoped)} if scoped else {})}

    change_config_value(default_store(), SETTING, change)


def budgets(
    *,
    root: str | Path | Sequence[str | Path] | None = None,
    tz: str | tzinfo | None = None,
    now: datetime | None = None,
) -> list[BudgetState]:
    """Return the budgets that are set, each with what is spent and left of it, and a forecast; not those for a team.

    A day, week or month is that of the time zone `tz`, by default the local one; weeks begin on Monday.
    `now` is another time to report on.
    """
    zone, clock = parse_time_zone(tz), now or datetime.now(UTC)
    found = [(one, *_period(one, zone, clock)) for one in stored_budgets() if one.team is None]
    scopes = (
        Scope(since=start, until=end, tz=zone, project=budget.project, model=budget.model, root=root)
        for budget, start, end in found
    )
    return [budget_state(*one, used, clock) for one, used in zip(found, usage_totals(*scopes), strict=True)]


def _period(budget: Budget, zone: tzinfo | None, clock: datetime) -> tuple[datetime, datetime]:
    start, end = parse_span(UNITS[budget.per], now=clock, zone=zone)
    return start, end or clock


def budget_state(budget: Budget, start: datetime, end: datetime, used: Row, clock: datetime) -> BudgetState:
    """Return how much of a budget is spent and left, and the forecast, from what was used since its period began."""
    spent = float(used.cost_usd or 0)
    over = (clock - start) / (end - start)
    return BudgetState(
        **msgspec.structs.asdict(budget),
        start=start,
        end=end,
        spent_usd=spent,
        left_usd=budget.amount_usd - spent,
        forecast_usd=spent / over if over >= SURE else None,
        lower_bound=used.lower_bound,
    )
