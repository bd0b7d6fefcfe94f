"""Rows of `usage`: the responses of many files, each counted once, as the store of facts has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reread.accounting.billing import MS_PER_DAY, NANOS_PER_DOLLAR, PICOS_PER_DOLLAR, rates_for
from reread.accounting.collect import Inputs
from reread.accounting.prices import Rates, current_prices
from reread.accounting.workers import Progress
from reread.base.gc_pause import gc_paused
from reread.base.times import month_of
from reread.dataset.freshness import path_text
from reread.dataset.schema import USAGE, Row
from reread.disk import layout
from reread.disk.derived_cache import known_path
from reread.disk.file_set import FileSet
from reread.facts.responses import Counted, count_responses
from reread.facts.schema import COUNTS
from reread.facts.sessions import AgentNames, agents_of, open_sessions
from reread.facts.store import FactStore, answered
from reread.facts.views import BREAKS, RESPONSES, show_responses, show_sessions
from reread.session.cache_breaks import rewriting_cost

_COUNTS = [column.name for column in COUNTS]
_WRITTEN = " + ".join(f"r.{name}" for name in _COUNTS if name.startswith("cache_write"))
_PRICED = "model, time, mode, prompt"
_VALUES = {
    "machine": "?",
    "month": "month_of(time)",
    "path": "path_text(path)",
    "cost_usd": f"CASE WHEN reported_nanos IS NULL OR responses > 0 THEN cost({_PRICED}, {', '.join(_COUNTS)}) END",
    "reported_cost_usd": f"reported_nanos / {float(NANOS_PER_DOLLAR)}",
    "cache_break_cause": "CASE WHEN number = 1 THEN cause END",
    "cache_rewritten_tokens": "CASE WHEN number = 1 THEN rewritten END",
    "cache_rewritten_usd": "CASE WHEN number = 1 THEN rewriting(break_model, break_time, break_mode, break_prompt,"
    " rewritten, hour_tokens) END",
}
"""What the columns are made of, in SQL, unless the store has a column of that name."""
QUERY = (
    f"SELECT {', '.join(_VALUES.get(name, name) for name in USAGE.names(text=True))} FROM (SELECT r.*, b.cause,"
    " b.tokens AS rewritten, b.hour_tokens, b.model AS break_model, b.time AS break_time, b.mode AS break_mode,"
    " b.prompt AS break_prompt, row_number() OVER (PARTITION BY b.id ORDER BY r.path, r.time, r.request) AS number"
    f" FROM {RESPONSES} r LEFT JOIN {BREAKS} b ON b.id = r.message AND b.id <> '' AND b.tokens <= {_WRITTEN})"
    " ORDER BY path, time, message, request"
)
"""A response with a cache break may be in several rows: the first one that wrote as much to the cache has it."""


def settled_rows(
    files: FileSet, machine: str, *, keep_deleted: bool = False, cache: bool = True, progress: Progress | None = None
) -> Iterator[Row]:
    """Yield the rows of all files together: no other files can change them. Files in the store are not read."""
    inputs = Inputs(files.states, files.folders, files.failures)
    sessions = (Path(path) for path in files.states if not os.path.basename(path).startswith(layout.AGENT_PREFIX))

    def ask(store: FactStore) -> list[Row]:
        with gc_paused():
            counted = count_responses(store, inputs, keep_deleted=keep_deleted, progress=progress)
        opened = open_sessions(store, sorted(sessions), files=inputs)
        return response_rows(store, machine, counted, agents_of(store, opened, files.states), opened)

    yield from answered(ask, cache=cache)


def response_rows(
    store: FactStore, machine: str, counted: Counted, agents: AgentNames, opened: list[int] | None = None
) -> list[Row]:
    """Return the rows of responses that were counted, with the cache breaks of opened sessions."""
    prices = current_prices()

    def rates(model: str | None, time: int | None, mode: int, prompt: int) -> Rates | None:
        return rates_for(prices, model, None if time is None else time // MS_PER_DAY, mode, prompt)

    def cost(*values: Any) -> float | None:
        found = rates(*values[:4])
        return None if found is None else found.cost(*values[4:]) / PICOS_PER_DOLLAR

    def rewriting(*values: Any) -> float | None:
        return rewriting_cost(rates(*values[:4]), *values[4:])

    for function in (month_of, cost, rewriting):
        store.define(function.__name__, function, arguments=-1)
    store.define("path_text", _path_text)
    show_responses(store, counted, agents)
    show_sessions(store, opened or [])
    return store.rows(QUERY, (machine,))


def _path_text(stored: str | bytes) -> str:
    return path_text(known_path(stored))
