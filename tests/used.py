"""The figures of responses by name, from whatever has them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reread.accounting.billing import COUNT_NAMES
from reread.facts.sessions import open_sessions
from reread.facts.store import FactStore, answered
from reread.facts.views import BREAKS, CALLS, TURNS, show_sessions

FIGURES = ("responses", *COUNT_NAMES, "cost_usd", "reported_cost_usd", "unconfirmed_responses")


def figures(usage: Any) -> dict[str, Any]:
    """Return the figures of a row, or of the usage of a session."""
    return {name: usage[name] for name in FIGURES}


def facts_of(paths: Iterable[Path]) -> list[Any]:
    """Return what the store has of some sessions, after those that changed were opened: for each its path and rows."""

    def ask(store: FactStore) -> list[Any]:
        show_sessions(store, open_sessions(store, list(paths)))
        sessions = "SELECT f.path, s.session, s.title, s.project, s.began, s.file FROM session s"
        rows = store.rows(f"{sessions} JOIN chosen c ON c.file = s.file JOIN file f ON f.id = s.file ORDER BY f.path")
        return [(*row, [_rows(store, name, row[0]) for name in (TURNS, CALLS, BREAKS)]) for *row, _ in rows]

    return answered(ask)


def _rows(store: FactStore, view: str, path: str) -> list[Any]:
    columns = [name for _, name, *_ in store.rows(f"PRAGMA table_info({view})") if name not in ("row", "place")]
    return store.rows(f"SELECT {', '.join(columns)} FROM {view} WHERE path = ? ORDER BY row", (path,))
