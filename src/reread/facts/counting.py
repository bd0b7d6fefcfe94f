"""Bring what a report asks up to date: responses by a scan, sessions by opening those that changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from reread.accounting.digest import SIDECHAIN
from reread.accounting.workers import Progress as BytesRead
from reread.base.gc_pause import gc_paused
from reread.disk import layout
from reread.facts.responses import count_responses
from reread.facts.schema import ORIGIN
from reread.facts.scope import Scope
from reread.facts.sessions import AgentNames, Progress, agents_of, open_sessions
from reread.facts.store import FactStore
from reread.facts.views import show_responses, show_sessions, show_shares


def count_all(
    store: FactStore,
    scope: Scope,
    progress: Progress | None = None,
    *,
    choose: Callable[[list[int]], list[int]] = list,
    shares: bool = False,
) -> list[str]:
    """Make the views of a scope, of the sessions in the files that `choose` returns; return those not read.

    What each call cost is one of them if `shares` are asked for.
    """
    paths, inputs, unread = scope.sessions(), scope.inputs(), list[str]()
    files = open_sessions(store, paths, files=inputs, progress=progress, unread=unread)
    with gc_paused():
        counted = count_responses(store, inputs)
    show_responses(store, counted, agents_of(store, files, map(str, paths)))
    show_sessions(store, choose(files))
    if shares:
        show_shares(store)
    return sorted({*unread, *counted.unread})


def count_used(
    store: FactStore,
    scope: Scope,
    *,
    agents: bool = False,
    types: bool = False,
    keep_deleted: bool = False,
    progress: BytesRead | None = None,
) -> set[str]:
    """Make the view of responses, and return the files that could not be read; no session is opened for it.

    Only sessions tell the types of agents, and the ids of those that old clients wrote into their files.
    """
    inputs = scope.inputs()
    with gc_paused():
        counted = count_responses(store, inputs, keep_deleted=keep_deleted, progress=progress)
    names: AgentNames = {}
    unnamed = agents and store.rows(f"SELECT 1 FROM {ORIGIN.name} WHERE agent = ? LIMIT 1", (SIDECHAIN,))
    if types or unnamed or scope.opens_sessions:
        sessions = (path for path in inputs.states if not os.path.basename(path).startswith(layout.AGENT_PREFIX))
        files = open_sessions(store, sorted(map(Path, sessions)), files=inputs)
        names = agents_of(store, files, inputs.states)
        show_sessions(store, files)
    show_responses(store, counted, names)
    return counted.unread
