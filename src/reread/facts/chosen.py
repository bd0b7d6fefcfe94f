"""The sessions that filters choose, for those who list or search sessions and count nothing."""

from __future__ import annotations

from reread.facts.scope import Scope
from reread.facts.sessions import Progress, open_sessions
from reread.facts.store import FactStore, answered
from reread.facts.views import CALLS, show_sessions


def chosen_sessions(scope: Scope, progress: Progress | None = None) -> set[str]:
    """Return the ids of the sessions that the filters choose for which sessions have to be opened."""
    filters = [one for one, _ in scope.filters.values() if one.sql]

    def ask(store: FactStore) -> set[str]:
        show_sessions(store, open_sessions(store, scope.sessions(), progress=progress))
        where = " AND ".join(f"{one.column} {one.sql}" for one in filters)
        return {session for (session,) in store.rows(f"SELECT DISTINCT session FROM {CALLS} WHERE {where}") if session}

    return answered(ask)
