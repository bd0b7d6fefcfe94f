"""Report the tokens and cost of any number of sessions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from reread.accounting.billing import COUNT_NAMES, Usage, to_dollars
from reread.accounting.prices import Prices, current_prices
from reread.accounting.workers import Progress
from reread.base.choices import UsageGrouping, UsageOrder
from reread.base.text import split_names
from reread.errors import Misuse
from reread.facts.counting import count_used
from reread.facts.scope import Scope, ScopeOptions
from reread.facts.store import FactStore, answered
from reread.facts.views import RESPONSES
from reread.reports.report import MONEY, TOKENS, USAGE, Report, ReportColumn, Row
from reread.reports.tally import COMMON, Figures, Measure, Money, Tally, limited, tallied_report, total_of

if TYPE_CHECKING:
    from reread.facts.scope import Source

USED = Measure(
    RESPONSES,
    {
        "responses": "sum(responses)",
        **{name: f"total({name})" for name in COUNT_NAMES},
        "reported_nanos": "sum(reported_nanos * 1e0)",
        "unconfirmed_responses": "sum(unconfirmed_responses)",
    },
    cost="cost",
)
"""What responses used."""
COLUMNS = (
    ReportColumn("responses", "Responses", short="resp"),
    ReportColumn("input_tokens", "Input", TOKENS, "in"),
    ReportColumn("output_tokens", "Output", TOKENS, "out"),
    ReportColumn("cache_writes", "Cache write", TOKENS, "write", ("cache_write_5m_tokens", "cache_write_1h_tokens")),
    ReportColumn("cache_read_tokens", "Cache read", TOKENS, "read"),
    ReportColumn("tokens", "Tokens", TOKENS),
)
REPORTED = ReportColumn("reported_cost_usd", "Reported cost", MONEY, "reported")
COST = ReportColumn("cost_usd", "Cost", MONEY, "cost")
OPTIONAL = ("cache_writes", "cache_read_tokens", "responses")
ITEM = ("session", "project", "path", "agent", "time", "model", "message", "request", "responses")
"""What is told of each response, besides its tokens; of what is billed apart for one, `responses` is 0."""
GROUPS = tuple(COMMON)
GROUP = "group"
ORDERS: dict[str, Callable[[Row], float]] = {
    "cost": lambda row: best_cost(row),
    "tokens": lambda row: row["tokens"],
    "responses": lambda row: row["responses"],
}
"""The orders of rows besides that of their groups."""


def usage(
    *sources: Source | Iterable[Source],
    by: UsageGrouping | Sequence[UsageGrouping] = "day",
    prices: str | Path | Prices | None = None,
    cache: bool = True,
    keep_deleted: bool = False,
    sort: UsageOrder = "group",
    min_cost: float | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[ScopeOptions],
) -> Report:
    """Return the tokens and cost of sessions, counting each response once, by group and in total.

    Without sources, count all sessions of this machine, or those below `root`. A source is a session or its header (its
    agents are counted, too), a folder, a file with a stream, bytes or a binary file. `by` is day, week, month, weekday,
    hour (of the day), session, project, repository (projects with their worktrees and subfolders), model, branch,
    agent, agent_type, thread (main or subagents), block (five hours), person, machine, team (of the machine that wrote
    a file), or several of them. `sort` is group, cost, tokens or responses; rows that cost less than `min_cost` dollars
    are left out. With `limit`, there are at most so many rows: the newest if they are in the order of time, else those
    that cost most, or have most of what they are sorted by. `prices` is a JSON file with prices that override the
    bundled ones. With `keep_deleted`, transcripts that were counted before and have been deleted still count.
    """
    scope = Scope(*sources, **options)
    report = usage_in(scope, by=by, prices=prices, cache=cache, keep_deleted=keep_deleted, progress=progress)
    return arrange(report, sort=sort, min_cost=min_cost, limit=limit)


def usage_in(
    scope: Scope,
    *,
    by: str | Sequence[str],
    prices: str | Path | Prices | None = None,
    cache: bool = True,
    keep_deleted: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Return the tokens and cost of a scope by group, in their order."""
    names = split_names(by)

    def count(store: FactStore) -> set[str]:
        wanted = {"agents": "agent" in names, "types": "agent_type" in names}
        return count_used(store, scope, **wanted, keep_deleted=keep_deleted, progress=progress)

    def items(tally: Tally, groups: tuple[str, ...]) -> list[Row]:
        return tally.responses((*ITEM, *COUNT_NAMES), groups)

    table = prices if isinstance(prices, Prices) else current_prices(prices)
    return tallied_report(scope, by, GROUPS, count, _report, items, prices=table, cache=cache)


def usage_totals(*scopes: Scope) -> list[Row]:
    """Return the totals of scopes of the same sessions, which are looked at once."""

    def ask(store: FactStore) -> list[Row]:
        count_used(store, scopes[0])
        tallies = (Tally(store, scope, current_prices()) for scope in scopes)
        return [Row({}, usage_figures(total_of(tally.by((), USED).values()))) for tally in tallies]

    return answered(ask) if scopes else []


def arrange(report: Report, *, sort: str = GROUP, min_cost: float | None = None, limit: int | None = None) -> Report:
    """Put the rows of a report in another order, largest first, and hide those below a cost or beyond a limit."""
    if sort != GROUP and sort not in ORDERS:
        raise Misuse(f"Cannot sort by {sort!r}; use {', '.join((GROUP, *ORDERS))}.")
    if min_cost is not None and math.isnan(min_cost):
        raise Misuse(f"Invalid cost {min_cost}; use a number of dollars, such as 0.50.")
    rows = report.rows if sort == GROUP else sorted(report.rows, key=ORDERS[sort], reverse=True)
    least = -math.inf if min_cost is None else min_cost
    cheap = [row for row in rows if best_cost(row) < least]
    rows = [row for row in rows if best_cost(row) >= least]
    order = ORDERS[sort if sort != GROUP else "cost"]
    report.rows, more = limited(rows, limit, by=report.by if sort == GROUP else (), weight=order)
    report.hidden = [*cheap, *more]
    return report


def _report(tally: Tally, groups: tuple[str, ...], unread: Iterable[str]) -> Report:
    rows, totals = tally.table(groups, [USED], usage_figures)
    is_reported = totals.reported_cost_usd is not None
    return Report(
        USAGE,
        groups,
        rows,
        totals,
        unread=unread,
        known=tally.known(RESPONSES, ("project", "model")),
        about={"prices": tally.prices.table.as_of, "comparison": _compare(tally) if is_reported else None},
        columns=(*COLUMNS, REPORTED, replace(COST, short="computed")) if is_reported else (*COLUMNS, COST),
        optional=OPTIONAL,
    )


def usage_figures(found: Figures) -> Figures:
    """Return the figures of responses as a report has them."""
    money: Money = found.get("cost") or Money()
    counts = {name: int(found.get(name) or 0) for name in COUNT_NAMES}
    responses, unconfirmed = found.get("responses") or 0, found.get("unconfirmed_responses") or 0
    reported = found.get("reported_nanos")
    return {
        "responses": responses,
        **counts,
        "cost_usd": None if responses and not money.is_priced else to_dollars(int(money.picos + 500) // 1000),
        "reported_cost_usd": None if reported is None else to_dollars(int(reported)),
        "unconfirmed_responses": unconfirmed,
        "tokens": sum(counts.values()) - counts["web_searches"],
        "unpriced_models": sorted(money.unpriced),
        "lower_bound": unconfirmed > 0,
    }


def usage_of(row: Row) -> Usage:
    """Return the figures of a row as the usage of a session has them."""
    names = (name for name in Usage.__struct_fields__ if name != "unpriced_models")
    return Usage(**{name: row[name] for name in names}, unpriced_models=tuple(row["unpriced_models"]))


def best_cost(row: Row) -> float:
    """Return a cost as the client reported it, else as computed."""
    return row["reported_cost_usd"] if row["reported_cost_usd"] is not None else row["cost_usd"] or 0.0


def _compare(tally: Tally) -> Row:
    """Compare what was reported with what was computed for the same sessions, and say what all others cost.

    A cost is None if no response of these sessions has a price; `best_usd` is that of all, as reported if it was.
    """
    sessions = tally.by(("session",), USED)
    same = {key: found for key, found in sessions.items() if found["reported_nanos"] is not None}
    others = {key: found for key, found in sessions.items() if key not in same}
    one, other = usage_figures(total_of(same.values())), usage_figures(total_of(others.values()))
    reported = one["reported_cost_usd"] or 0.0
    figures = {
        "sessions": len(same),
        "reported_usd": reported,
        "computed_usd": one["cost_usd"],
        "other_sessions": len(others),
        "other_usd": other["cost_usd"] if others else 0.0,
        "best_usd": reported + (other["cost_usd"] or 0.0),
    }
    return Row({}, figures)
