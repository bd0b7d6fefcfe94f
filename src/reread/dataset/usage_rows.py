"""Rows of `usage`: the responses of many files, each counted once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reread.accounting.billing import COUNT_NAMES
from reread.accounting.collect import Inputs
from reread.accounting.entries import UsageEntry, rates_for
from reread.accounting.prices import current_prices
from reread.accounting.workers import Progress
from reread.base.gc_pause import gc_paused
from reread.dataset.freshness import path_text
from reread.dataset.rows import RewrittenTokens, entry_rows
from reread.dataset.schema import Row
from reread.disk import layout
from reread.disk.file_set import FileSet
from reread.facts.responses import count_responses
from reread.facts.sessions import agents_of, open_sessions
from reread.facts.store import FactStore, answered
from reread.facts.views import BREAKS, RESPONSES, show_responses, show_sessions
from reread.session.cache_breaks import rewriting_cost

ENTRY = (
    *("path", "time", "session", "project", "branch", "agent", "model", "mode", "prompt", "responses"),
    *(*COUNT_NAMES, "reported_nanos", "unconfirmed_responses", "message", "request"),
)
"""The columns of responses, in the order of a usage entry's fields."""


def settled_rows(
    files: FileSet, machine: str, *, keep_deleted: bool = False, cache: bool = True, progress: Progress | None = None
) -> Iterator[Row]:
    """Yield the rows of all files together: no other files can change them. Files in the store are not read."""
    inputs = Inputs(files.states, files.folders, files.failures)
    sessions = (Path(path) for path in files.states if not os.path.basename(path).startswith(layout.AGENT_PREFIX))

    def ask(store: FactStore) -> tuple[list[UsageEntry], dict[str, str], dict[str, RewrittenTokens]]:
        with gc_paused():
            counted = count_responses(store, inputs, keep_deleted=keep_deleted, progress=progress)
        opened = open_sessions(store, sorted(sessions))
        agents = agents_of(store, opened, files.states)
        show_responses(store, counted, {})
        show_sessions(store, opened)
        rows = store.rows(f"SELECT {', '.join(ENTRY)} FROM {RESPONSES} ORDER BY path, time, message, request")
        types = {id: kind for id, (_, kind) in agents.items() if kind is not None}
        return [UsageEntry(*row) for row in rows], types, _breaks(store)

    entries, types, breaks = answered(ask, cache=cache)
    for entry in entries:
        entry.path = path_text(entry.path)
    yield from entry_rows(entries, machine, types, breaks)


def _breaks(store: FactStore) -> dict[str, RewrittenTokens]:
    """Return what responses had to write to the cache again, by their ids."""
    prices, found = current_prices(), dict[str, RewrittenTokens]()
    columns = "id, cause, tokens, hour_tokens, model, time / 86400000, mode, prompt"
    for id, cause, tokens, one_hour, *priced in store.rows(f"SELECT {columns} FROM {BREAKS}"):
        cost = rewriting_cost(rates_for(prices, *priced), tokens, one_hour)
        found[id] = RewrittenTokens(cause, tokens, cost)
    return found
