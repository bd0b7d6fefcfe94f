"""The one way from facts to figures: rows of views are grouped and summed by SQL, and priced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from reread.accounting.billing import MS_PER_DAY, UNKNOWN, rates_for, to_dollars
from reread.accounting.prices import Prices, Rates, current_prices
from reread.base.paths import normalize_folder
from reread.base.text import split_names
from reread.disk.derived_cache import known_path
from reread.disk.projects import repository_of
from reread.errors import Misuse
from reread.facts.clock import BLOCK, MS_PER_HOUR, PERIODS, SLOT_MS, WEEKDAYS, block_of_hour, period_of_slot
from reread.facts.owners import file_owners
from reread.facts.schema import COUNTS
from reread.facts.scope import Scope
from reread.facts.store import FactStore, answered
from reread.facts.views import BREAKS, CALLS, NONE, RESPONSES, SHARES, TURNS, conditions
from reread.reports.report import Report, Row

MAIN, SUBAGENTS = "main", "subagents"
OWNERS = ("person", "machine", "team")
TIMELINE = ("day", "week", "month", BLOCK)
"""Groups whose rows go from the oldest to the newest."""
NO_CALL = "(no call)"
"""The group of responses without a call, if responses are grouped by something that only calls have."""
_FLOOR = "CASE WHEN {0} >= 0 THEN {0} / {1} ELSE ({0} - {1} + 1) / {1} END"
"""A division that rounds down, as SQLite does not for what is below zero."""

COMMON: dict[str, str] = {
    **{name: f"{name}_of({_FLOOR.format('time', SLOT_MS)})" for name in PERIODS},
    "session": "session",
    "project": "folder_of(project)",
    "repository": "repository_of(project)",
    "model": "model",
    "branch": "branch",
    "agent": f"coalesce(agent, '{MAIN}')",
    "thread": f"CASE WHEN agent IS NULL THEN '{MAIN}' ELSE '{SUBAGENTS}' END",
    "agent_type": f"CASE WHEN agent IS NULL THEN '{MAIN}' ELSE agent_type END",
    BLOCK: f"block_of({_FLOOR.format('time', MS_PER_HOUR)})",
    **{name: f"{name}_of(path)" for name in OWNERS},
}
"""What a fact is grouped by, in SQL."""
OF_CALLS = {name: name for name in ("tool", "failure", "state", "file", "skill", "mcp_server")}
"""The groups that only calls have."""
GROUPS: dict[str, dict[str, str]] = {
    RESPONSES: COMMON | dict.fromkeys(OF_CALLS, f"'{NO_CALL}'"),
    TURNS: COMMON | {"model": "NULL"},
    CALLS: COMMON | OF_CALLS,
    SHARES: COMMON | OF_CALLS,
    BREAKS: COMMON | {"cause": "cause"},
}


class Measure(NamedTuple):
    """Figures that are summed over the rows of a view."""

    view: str
    figures: Mapping[str, str]
    """An aggregate in SQL for each figure."""
    cost: str = ""
    """The name of the figure that is what the rows cost; empty if they cost nothing."""
    where: str = ""
    """Which rows count, in SQL."""


def _folder(project: str | None) -> str | None:
    return normalize_folder(project) if project else project


def _repository(project: str | None) -> str | None:
    return repository_of(normalize_folder(project)) if project else project


class Money:
    """A sum of money, as far as there are prices."""

    def __init__(self) -> None:
        self.picos: float = 0
        self.is_priced = False
        """True if anything had a price."""
        self.unpriced: set[str] = set()
        """Models without one."""

    def add(self, other: Money) -> None:
        self.picos += other.picos
        self.is_priced |= other.is_priced
        self.unpriced |= other.unpriced

    @property
    def dollars(self) -> float | None:
        """The sum in dollars; None if nothing had a price that needs one."""
        return None if self.unpriced and not self.is_priced else to_dollars(math.floor((self.picos + 500) / 1000))


ITEM_NAMES = {"time": "time_ms"}
"""What columns are called in lists, if not as in the store."""
Figures = dict[str, Any]
Groups = dict[tuple[str | None, ...], Figures]


class Tally:
    """Counts the facts of a scope."""

    def __init__(self, store: FactStore, scope: Scope, prices: Prices) -> None:
        self.store = store
        self.scope = scope
        self.prices = prices
        self.conditions: dict[str, str] = conditions(store, scope)
        store.define("folder_of", _folder)
        store.define("repository_of", _repository)
        for period in PERIODS:
            store.define(f"{period}_of", period_of_slot(period, scope.zone))

    def counts(self, view: str) -> bool:
        """True if rows of a view can count: every filter has a column there."""
        return self.conditions[view] != NONE

    def check(self, by: Sequence[str], known: Iterable[str], what: str = "") -> None:
        """Raise Misuse if there is no such group; prepare those that need more than a row."""
        for name in by:
            if name not in known:
                raise Misuse(f"Cannot group {what}by {name!r}; use {', '.join(known)}, or several with commas.")
        if not set(OWNERS).isdisjoint(by):
            owner = file_owners()
            for name in OWNERS:
                self.store.define(f"{name}_of", partial(owner, name))
        if BLOCK in by:
            hours = self.store.rows(
                f"SELECT DISTINCT {_FLOOR.format('time', MS_PER_HOUR)} FROM {RESPONSES}"
                f" WHERE time IS NOT NULL AND {self.conditions[RESPONSES]}"
            )
            self.store.define("block_of", block_of_hour((hour for (hour,) in hours), self.scope.zone))

    def by(self, groups: Sequence[str], *measures: Measure) -> Groups:
        """Return the figures of each group."""
        found: Groups = {}
        for measure in measures:
            if self.counts(measure.view):
                self._add(found, groups, measure)
        return found

    def _add(self, found: Groups, groups: Sequence[str], measure: Measure) -> None:
        keys = [GROUPS[measure.view][name] for name in groups]
        price_key = _price_key(measure.view, self.prices) if measure.cost else []
        amounts = [f"total({name})" for name in _AMOUNTS[measure.view]] if measure.cost else []
        wanted = [*keys, *price_key, *amounts, *measure.figures.values()]
        grouping = ", ".join(str(number + 1) for number in range(len(keys) + len(price_key)))
        where = " AND ".join(filter(None, (self.conditions[measure.view], measure.where)))
        sql = f"SELECT {', '.join(wanted)} FROM {measure.view} WHERE {where}"
        sql += f" GROUP BY {grouping}" if grouping else ""
        first, then = len(keys), len(keys) + len(price_key)
        for row in self.store.rows(sql):
            figures = found.setdefault(row[:first], {})
            values = row[then + len(amounts) :]
            for name, value in zip(measure.figures, values, strict=True):
                combine(figures, name, value)
            if measure.cost:
                money = figures.setdefault(measure.cost, Money())
                money.add(self._money(measure.view, row[first:then], row[then : then + len(amounts)]))

    def table(
        self,
        groups: Sequence[str],
        measures: Sequence[Measure],
        figures: Callable[[Figures], Figures],
        largest: Callable[[Figures], tuple[float, ...]] | None = None,
    ) -> tuple[list[Row], Row]:
        """Return a row for each group, and the totals; without groups, there are only these.

        `figures` makes the figures of a report from the sums. Rows are in the order of their groups; if none of these
        is a period, those come first that have most of what `largest` returns.
        """
        found = self.by(groups, *measures)
        keys = sorted(found, key=lambda key: order(groups, key, largest(found[key]) if largest else None))
        keys = keys if groups else []
        rows = [Row(dict(zip(groups, key, strict=True)), figures(found[key])) for key in keys]
        return rows, Row({}, figures(total_of(found.values())))

    def known(self, view: str, names: Iterable[str]) -> dict[str, set[str]]:
        """Return all values that a view has of what filters ask for, by the names of those filters that are used."""
        columns = {name: COMMON.get(name, name) for name in names if self.scope.options.get(name)}
        return {
            name: {value for (value,) in self.store.rows(f"SELECT DISTINCT {sql} FROM {view}") if value}
            for name, sql in columns.items()
        }

    def items(
        self, view: str, columns: Sequence[str], groups: Sequence[str], *, priced: str, where: str = "true"
    ) -> list[Row]:
        """Return each row of a view that counts, with its groups, some columns and its cost."""
        keys = [GROUPS[view][name] for name in groups]
        where = f"FROM {view} WHERE {self.conditions[view]} AND {where}"
        rows = self.store.rows(f"SELECT row, {', '.join([*keys, *columns])} {where} ORDER BY place, row")
        costs = self.costs(priced, "row", f"row IN (SELECT row {where})")
        names = [ITEM_NAMES.get(name, name) for name in columns]
        return [
            Row(
                dict(zip(groups, row[1 : len(keys) + 1], strict=True)),
                {**dict(zip(names, row[len(keys) + 1 :], strict=True)), "cost_usd": costs.get(row[0], Money()).dollars},
            )
            for row in rows
        ]

    def responses(self, columns: Sequence[str], groups: Sequence[str]) -> list[Row]:
        """Return each response that counts, and what is billed apart for one, with groups, columns and cost."""
        if not self.counts(RESPONSES):
            return []
        keys, price_key = [GROUPS[RESPONSES][name] for name in groups], _price_key(RESPONSES, self.prices)
        wanted = ", ".join([*keys, *columns, *price_key, *_AMOUNTS[RESPONSES]])
        first, then = len(keys), len(keys) + len(columns)
        names = [ITEM_NAMES.get(name, name) for name in columns]
        found: list[Row] = []
        for row in self.store.rows(
            f"SELECT {wanted} FROM {RESPONSES} WHERE {self.conditions[RESPONSES]}"
            " AND (responses > 0 OR message IS NOT NULL)"
        ):
            money = self._money(RESPONSES, row[then : then + len(price_key)], row[then + len(price_key) :])
            values = {**dict(zip(names, row[first:then], strict=True)), "cost_usd": money.dollars}
            found.append(Row(dict(zip(groups, row[:first], strict=True)), values))
        return found

    def paths(self) -> set[str]:
        """Return the sessions that have anything that counts, by the paths of their files."""
        views = (view for view in (TURNS, RESPONSES, CALLS) if self.counts(view))
        found = (self.store.rows(f"SELECT DISTINCT path FROM {view} WHERE {self.conditions[view]}") for view in views)
        return {known_path(path) for rows in found for (path,) in rows}

    def costs(self, view: str, of: str, where: str, *, source: str = "") -> dict[Any, Money]:
        """Return what rows cost, by what they are of; the source is the view, joined with other tables."""
        key = _price_key(view, self.prices)
        found: dict[Any, Money] = {}
        columns = ", ".join([of, *key, *_AMOUNTS[view]])
        for id, *values in self.store.rows(f"SELECT {columns} FROM {source or view} WHERE {where}"):
            found.setdefault(id, Money()).add(self._money(view, values[: len(key)], values[len(key) :]))
        return found

    def priced(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query about responses; `{price}` stands for what `rates` needs."""
        return self.store.rows(sql.format(price=", ".join(_price_key(RESPONSES, self.prices)[:-1])))

    def rates(self, priced: Sequence[Any]) -> Rates | None:
        """Return the rates of a row; None if its model has no price."""
        model, mode, day, prompt = priced
        return rates_for(self.prices, model, day, mode, prompt)

    def _money(self, view: str, key: Sequence[Any], amounts: Sequence[float]) -> Money:
        model, mode, day, prompt, is_billed = key
        money = Money()
        if is_billed:
            rates = rates_for(self.prices, model, day, mode, prompt)
            if rates is None:
                money.unpriced.add(model or UNKNOWN)
            else:
                money.picos, money.is_priced = _PICOS[view](rates, amounts), True
        return money


def tallied_report(
    scope: Scope,
    by: str | Sequence[str],
    known: Iterable[str],
    count: Callable[[FactStore], Iterable[str]],
    report: Callable[[Tally, tuple[str, ...], Iterable[str]], Report],
    items: Callable[[Tally, tuple[str, ...]], list[Row]],
    *,
    what: str = "",
    prices: Prices | None = None,
    cache: bool = True,
) -> Report:
    """Return a report of a scope by groups, and let it list what its figures count.

    `count` brings what it asks up to date, and returns the files that could not be read.
    """
    groups = tuple(dict.fromkeys(split_names(by)))

    def tally(store: FactStore) -> tuple[Tally, Iterable[str]]:
        unread = count(store)
        found = Tally(store, scope, prices or current_prices())
        found.check(groups, known, what)
        return found, unread

    def ask(store: FactStore) -> Report:
        found, unread = tally(store)
        return report(found, groups, unread)

    made = answered(ask, cache=cache)
    made.list_items = lambda: answered(lambda store: items(tally(store)[0], groups), cache=cache)
    return made


def combine(figures: Figures, name: str, value: Any) -> None:
    """Add a value to a figure; a peak is the largest value. What is not known adds nothing."""
    known = figures.get(name)
    if known is None or value is None:
        figures[name] = value if known is None else known
    elif isinstance(known, Money):
        known.add(value)
    elif name in PEAKS:
        figures[name] = max(known, value)
    else:
        figures[name] = known + value


PEAKS = frozenset({"context_peak"})
"""Figures that are the largest of their values, not the sum."""


def total_of(all_figures: Iterable[Figures]) -> Figures:
    """Return the figures of several groups together."""
    found: Figures = {}
    for figures in all_figures:
        for name, value in figures.items():
            if isinstance(value, Money):
                found.setdefault(name, Money()).add(value)
            else:
                combine(found, name, value)
    return found


_RESPONSE_COUNTS = tuple(column.name for column in COUNTS)
_AMOUNTS = {RESPONSES: _RESPONSE_COUNTS, SHARES: _RESPONSE_COUNTS, BREAKS: ("tokens", "hour_tokens")}
"""What is priced."""


def _rewriting(rates: Rates, amounts: Sequence[float]) -> float:
    tokens, one_hour = amounts
    return rates.cost(0, 0, tokens - one_hour, one_hour, 0, 0) - rates.cost(0, 0, 0, 0, tokens, 0)  # pyright: ignore[reportArgumentType]


def _using(rates: Rates, amounts: Sequence[float]) -> float:
    return rates.cost(*(int(amount) if amount == int(amount) else amount for amount in amounts))  # pyright: ignore[reportArgumentType]


_PICOS: dict[str, Callable[[Rates, Sequence[float]], float]] = {RESPONSES: _using, SHARES: _using, BREAKS: _rewriting}


def _price_key(view: str, prices: Prices) -> list[str]:
    """Return what decides the price, in SQL: model, mode, a day and a prompt that cost as much, and if it is billed."""
    start = "price_" if view == SHARES else ""
    time, length = f"{start}time", f"{start}prompt"
    days = sorted(prices.starts, reverse=True)
    steps = "".join(f" WHEN {time} >= {day * MS_PER_DAY} THEN {day}" for day in days)
    day = f"CASE WHEN {time} IS NULL THEN NULL{steps} ELSE {min(days, default=0) - 1} END"
    steps = " ".join(f"WHEN {length} > {over} THEN {over + 1}" for over in sorted(prices.thresholds, reverse=True))
    prompt = f"CASE {steps} ELSE 0 END" if steps else "0"
    is_billed = "reported_nanos IS NULL OR responses > 0" if view == RESPONSES else "1"
    return [f"{start}model", f"{start}mode", day, prompt, is_billed]


def is_timeline(by: Sequence[str]) -> bool:
    """True if rows that are in the order of their groups go from the oldest to the newest."""
    return bool(by) and by[0] in TIMELINE


def limited(
    rows: list[Row], limit: int | None, *, by: Sequence[str], weight: Callable[[Row], Any]
) -> tuple[list[Row], list[Row]]:
    """Return at most so many rows, and the others: the newest ones in their order, or the largest, largest first."""
    if limit is None:
        return rows, []
    if limit < 1:
        raise Misuse(f"Invalid limit {limit}; use 1 or more.")
    if is_timeline(by):
        return rows[-limit:], rows[:-limit]
    rows = sorted(rows, key=weight, reverse=True)
    return rows[:limit], rows[limit:]


def order(groups: Sequence[str], key: tuple[str | None, ...], amounts: Sequence[float] | None) -> tuple[Any, ...]:
    """Return what a row is sorted by: its groups if one is a period or there are no amounts, else the largest first."""
    if amounts is None or not set(PERIODS).isdisjoint(groups):
        return tuple(ascending(key))
    return (*(-amount for amount in amounts), *(value or "" for value in key))


_WEEKDAY_ORDER = {name: str(at) for at, name in enumerate(WEEKDAYS)}


def ascending(group: Iterable[str | None]) -> list[tuple[bool, str]]:
    """Return what groups are sorted by: unknown ones first, days of the week from Monday on, all else as text."""
    return [(value is not None, _WEEKDAY_ORDER.get(value or "", value or "")) for value in group]
