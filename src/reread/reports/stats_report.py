"""Report what sessions did: calls, failures, time, context, changed lines and cost, by group."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from reread.accounting.prices import current_prices
from reread.base.choices import DENIED, DONE, FAILED, StatsGrouping
from reread.facts.counting import count_all
from reread.facts.scope import Scope, ScopeOptions
from reread.facts.sessions import Progress
from reread.facts.store import FactStore, answered
from reread.facts.views import CALLS, RESPONSES, SHARES, TURNS, session_titles
from reread.reports.cache_report import BROKEN, WRITTEN, break_figures
from reread.reports.report import CHANGE, SECONDS, STATS, TOKENS, Report, ReportColumn, Row
from reread.reports.tally import COMMON, OF_CALLS, Figures, Measure, Money, Tally, limited, tallied_report
from reread.reports.usage_report import COST

if TYPE_CHECKING:
    from reread.session.session import Session

LASTED = Measure(
    TURNS,
    {
        "turns": "count(*)",
        "model_seconds": "total(model_seconds)",
        "tool_seconds": "total(tool_seconds)",
        "waiting_seconds": "total(waiting_seconds)",
        "context_peak": "max(context_peak)",
        "context_growth": "sum(context_growth)",
        "compactions": "sum(compactions)",
        "tokens_removed": "sum(tokens_removed)",
        "unmeasured_compactions": "sum(unmeasured_compactions)",
    },
)
"""What happened in turns: the time in which the model answered and no tool ran, in which some tool ran, and all other
time between the first prompt and the end; the most tokens that were in the context, and those that turns added and
compactions removed, as far as these say how many."""
ANSWERED = Measure(
    RESPONSES,
    {
        "responses": "sum(responses)",
        "tokens": "total(input_tokens + output_tokens + cache_write_5m_tokens + cache_write_1h_tokens"
        " + cache_read_tokens)",
        "unconfirmed_responses": "sum(unconfirmed_responses)",
    },
    cost="cost",
)
COUNTED = Measure(
    RESPONSES,
    {**{name: ANSWERED.figures[name] for name in ("responses", "unconfirmed_responses")}, **WRITTEN.figures},
)
"""Figures of all responses that have no price."""
CALLED = Measure(
    CALLS,
    {
        "calls": "count(*)",
        "failed": "sum(state = 'failed')",
        "denied": "sum(state = 'denied')",
        "interrupted": "sum(state = 'interrupted')",
        "retries": "sum(is_retry)",
        "call_seconds": "total(seconds)",
        "lines_added": "sum(lines_added)",
        "lines_removed": "sum(lines_removed)",
    },
)
"""What calls did: a retry comes next after a failed call of the same tool, in the same turn; the durations of calls
that ran side by side count for each."""
SPLIT = ("responses", "tokens")
"""Figures of responses, which groups of calls split."""
SHARED = Measure(SHARES, {}, cost="cost")
"""What calls cost: their part of the responses that made them."""
WITHOUT_CALLS = Measure(
    RESPONSES, {}, cost="cost", where="(message IS NULL OR message NOT IN (SELECT message FROM calls_of))"
)
ITEM = (
    *("session", "title", "project", "path", "id", "tool", "state", "failure", "is_retry", "line", "agent"),
    *("agent_type", "model", "time", "seconds", "file", "lines_added", "lines_removed", "command", "skill", "turn"),
)
"""What is told of each call."""
COLUMNS = (
    ReportColumn("turns", "Turns", short="turns"),
    ReportColumn("calls", "Calls", short="calls", state=""),
    ReportColumn("failed", "Failed", short="failed", state=FAILED),
    ReportColumn("denied", "Denied", short="denied", state=DENIED),
    ReportColumn("retries", "Retries", short="retry"),
    ReportColumn("call_seconds", "Call time", SECONDS, "time"),
    ReportColumn("model_seconds", "Model", SECONDS, "model"),
    ReportColumn("tool_seconds", "Tools", SECONDS, "tools"),
    ReportColumn("waiting_seconds", "Waiting", SECONDS, "waiting"),
    ReportColumn("context_peak", "Peak context", TOKENS, "context"),
    ReportColumn("lines", "Lines", CHANGE, "lines", ("lines_added", "lines_removed")),
    COST,
)
OF_EACH_CALL = ("retries", "denied", "call_seconds")
OPTIONAL = (*OF_EACH_CALL, "context_peak", "waiting_seconds", "tool_seconds", "model_seconds", "lines")
GROUPS = tuple(name for name in (*OF_CALLS, *COMMON) if name not in ("block", "repository", "branch"))
"""The groups of statistics."""


def stats(
    *sources: str | os.PathLike[str] | Session,
    by: StatsGrouping | Sequence[StatsGrouping] = "tool",
    limit: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ScopeOptions],
) -> Report:
    """Return what sessions did: their calls, failures, time, context, changed lines and cost, by group and in total.

    Without sources, report on all sessions of this machine, or those below `root`. A source is a session or a
    folder. `by` is tool, failure (the kind), state, file, skill, mcp_server, agent, agent_type, thread (main or
    subagents), model, session, project, person, machine, team (of the machine that wrote a file), day, week, month,
    weekday or hour, or several of them. `tool` and `state` count only such calls, `model` only what a model or family
    answered and called: turns have none, so their figures are None then. With `limit`, there are at most so
    many rows: the newest if they are in the order of time, else those that cost most, or with most calls if groups are
    of calls. What a fork copied from another session is counted once.
    """
    scope = Scope(*sources, **options)

    def report(tally: Tally, groups: tuple[str, ...], unread: Iterable[str]) -> Report:
        return _report(tally, groups, limit, unread)

    def items(tally: Tally, groups: tuple[str, ...]) -> list[Row]:
        return tally.items(CALLS, ITEM, groups, priced=SHARES)

    def count(store: FactStore) -> list[str]:
        return count_all(store, scope, progress, shares=True)

    return tallied_report(scope, by, GROUPS, count, report, items, cache=cache)


def files_changed(*sources: str | os.PathLike[str] | Session, **options: Unpack[ScopeOptions]) -> list[Row]:
    """Return each file that calls changed in each session: the lines in all, and the last change, with its turn."""
    scope = Scope(*sources, **options)
    names = ("file", "path", "session", "title", "project", "turn")
    lines = [f"CAST(total({name}) AS INTEGER)" for name in ("lines_added", "lines_removed")]

    def ask(store: FactStore) -> list[Row]:
        count_all(store, scope)
        where = Tally(store, scope, current_prices()).conditions[CALLS]
        # The columns without an aggregate are those of the row with the latest time.
        rows = store.rows(
            f"SELECT {', '.join([*names, 'max(time)', *lines])} FROM {CALLS} WHERE {where} AND state = '{DONE}'"
            " AND file IS NOT NULL AND (lines_added > 0 OR lines_removed > 0) GROUP BY file, path"
        )
        figures = (*names, "last_ms", "added", "removed")
        return [Row({}, dict(zip(figures, row, strict=True))) for row in rows]

    return answered(ask)


def _report(tally: Tally, groups: tuple[str, ...], limit: int | None, unread: Iterable[str]) -> Report:
    is_whole = tally.counts(RESPONSES)  # not only some calls
    by_call = not is_whole or not set(OF_CALLS).isdisjoint(groups)
    measures = (CALLED, SHARED, WITHOUT_CALLS) if by_call else (LASTED, ANSWERED, CALLED)
    unknown = {*LASTED.figures} if by_call or not tally.counts(TURNS) else set[str]()
    unknown |= {*SPLIT} if by_call else set()
    rows, totals = tally.table(groups, measures, partial(_figures, unknown=unknown), _most_calls)
    rows, hidden = limited(rows, limit, by=groups, weight=lambda row: _weight(row, by_call))
    counted = _sessions(tally)
    scope, store = tally.scope, tally.store
    is_of_all_time = scope.period == (None, None)
    about: dict[str, Any] = {
        "sessions": len(counted),
        "empty_sessions": len(_opened(store) - counted) if is_whole and is_of_all_time and not scope.filters else 0,
    }
    if is_whole:
        used = tally.by((), COUNTED).get((), {})
        about |= {name: used.get(name) or 0 for name in ("responses", "unconfirmed_responses")}
        about["cache"] = break_figures(tally.by((), BROKEN).get((), {}), int(used.get("written") or 0))
    return Report(
        STATS,
        groups,
        rows,
        totals,
        hidden=hidden,
        unread=unread,
        known=tally.known(CALLS, ("project", "model", "tool")),
        about=about,
        titles=session_titles(store),
        columns=_columns(by_call, unknown),
        optional=OPTIONAL,
    )


def _columns(by_call: bool, unknown: set[str]) -> list[ReportColumn]:
    """Return the columns that are known; terminals have no room for all, and those of calls are of less interest."""
    known = [column for column in COLUMNS if unknown.isdisjoint(column.figures)]
    return [column if by_call or column.name not in OF_EACH_CALL else replace(column, short="") for column in known]


def _figures(found: Figures, unknown: Collection[str]) -> Figures:
    """Return the figures of a group; those that it splits, or that a filter cannot tell, are None."""
    money: Money = found.get("cost") or Money()
    figures: Figures = {name: found.get(name) or 0 for name in (*LASTED.figures, *SPLIT, *CALLED.figures)}
    figures = {name: round(value, 6) if isinstance(value, float) else value for name, value in figures.items()}
    figures["tokens"] = int(figures["tokens"])
    figures["context_peak"] = found.get("context_peak")
    if figures["compactions"]:
        figures["tokens_removed"] = found.get("tokens_removed")
    return {
        **figures,
        **dict.fromkeys(unknown),
        "cost_usd": money.dollars,
        "unpriced_models": sorted(money.unpriced),
    }


def _most_calls(figures: Figures) -> tuple[float, ...]:
    """Return what the first groups have most of: calls, then cost."""
    money: Money = figures.get("cost") or Money()
    return figures.get("calls") or 0, money.picos


def _weight(row: Row, by_call: bool) -> tuple[float, float]:
    """Return what the largest groups have most of."""
    cost = row["cost_usd"] or 0.0
    return (row["calls"], cost) if by_call else (cost, row["calls"])


def _sessions(tally: Tally) -> set[str]:
    """Return the sessions of which anything is counted."""
    views = [view for view in (TURNS, RESPONSES, CALLS) if tally.counts(view)]
    found = (tally.store.rows(f"SELECT DISTINCT session FROM {view} WHERE {tally.conditions[view]}") for view in views)
    return {session for rows in found for (session,) in rows if session}


def _opened(store: FactStore) -> set[str]:
    return {id for (id,) in store.rows("SELECT s.session FROM session s JOIN chosen c ON c.file = s.file")}
