"""Report how much was written to the cache again, by cause."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

from reread.base.choices import CacheGrouping
from reread.facts.clock import PERIODS
from reread.facts.counting import count_all
from reread.facts.scope import Scope, ScopeOptions
from reread.facts.sessions import Progress
from reread.facts.store import FactStore
from reread.facts.views import BREAKS, RESPONSES, session_titles
from reread.reports.report import CACHE_BREAKS, SHARE, TOKENS, Report, ReportColumn, Row
from reread.reports.tally import Figures, Measure, Money, Tally, limited, tallied_report
from reread.reports.usage_report import COST

if TYPE_CHECKING:
    from reread.session.session import Session

BROKEN = Measure(BREAKS, {"breaks": "count(*)", "tokens": "sum(tokens)"}, cost="cost")
WRITTEN = Measure(RESPONSES, {"written": "total(cache_write_5m_tokens + cache_write_1h_tokens)"})
COLUMNS = (
    ReportColumn("breaks", "Breaks", short="breaks"),
    ReportColumn("tokens", "Rewritten", TOKENS, "rewritten"),
    ReportColumn("share", "Of cache writes", SHARE, "share"),
    COST,
)
GROUPS = ("cause", "session", "project", "model", "agent", "thread", *PERIODS)
"""The groups of cache breaks."""
ITEM = (
    *("session", "title", "project", "path", "id", "line", "turn", "agent", "time", "model", "cause", "evidence"),
    *("tokens", "gap_seconds", "cached_tokens", "read_tokens", "detail"),
)
"""What is told of each cache break."""


def cache_breaks(
    *sources: str | os.PathLike[str] | Session,
    by: CacheGrouping | Sequence[CacheGrouping] = "cause",
    limit: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ScopeOptions],
) -> Report:
    """Return the requests that had to write again what was cached, by cause, with what that cost.

    Without sources, report on all sessions of this machine, or those below `root`. `by` is cause, session, project,
    model, agent, thread (main or subagents), day, week, month, weekday or hour, or several of them. With `limit`, there
    are at most so many rows: the newest if they are in the order of time, else those with most tokens. What a fork
    copied from another session is counted once.
    """
    return breaks_of(Scope(*sources, **options), by=by, limit=limit, cache=cache, progress=progress)


def breaks_of(
    scope: Scope,
    *,
    by: str | Sequence[str],
    limit: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Return the cache breaks of a scope."""

    def report(tally: Tally, groups: tuple[str, ...], unread: Iterable[str]) -> Report:
        written = int(tally.by((), WRITTEN).get((), {}).get("written") or 0)
        rows, totals = tally.table(
            groups, [BROKEN], lambda figures: break_figures(figures, written), lambda figures: (figures["tokens"],)
        )
        rows, hidden = limited(rows, limit, by=groups, weight=lambda row: row["tokens"])
        return Report(
            CACHE_BREAKS,
            groups,
            rows,
            totals,
            hidden=hidden,
            unread=unread,
            about={"cache_write_tokens": written},
            titles=session_titles(tally.store),
            columns=COLUMNS,
        )

    def items(tally: Tally, groups: tuple[str, ...]) -> list[Row]:
        return tally.items(BREAKS, ITEM, groups, priced=BREAKS)

    def count(store: FactStore) -> list[str]:
        return count_all(store, scope, progress)

    return tallied_report(scope, by, GROUPS, count, report, items, what="cache breaks ", cache=cache)


def break_figures(found: Figures, written: int) -> Figures:
    """Return the figures of some cache breaks; `share` is their part of all that was written to the cache."""
    tokens = found.get("tokens") or 0
    money: Money = found.get("cost") or Money()
    share = tokens / written if written else 0.0
    unpriced = sorted(money.unpriced)
    figures = {"breaks": found.get("breaks") or 0, "tokens": tokens, "cost_usd": money.dollars, "share": share}
    return {**figures, "unpriced_models": unpriced}
