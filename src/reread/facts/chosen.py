"""The sessions that filters choose, for those who list or search sessions and count nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from reread.disk.derived_cache import known_path
from reread.facts.schema import FILE, SESSION
from reread.facts.scope import Scope, ScopeOptions
from reread.facts.sessions import Progress, open_sessions
from reread.facts.store import FactStore, answered
from reread.facts.views import CALLS, show_sessions


def chosen_sessions(
    paths: Iterable[str | Path], progress: Progress | None = None, **options: Unpack[ScopeOptions]
) -> set[str]:
    """Return the files of those sessions that filters choose for which sessions have to be opened."""
    files = [Path(path).absolute() for path in paths]
    filters = [f"{one.column} {one.sql}" for one, _ in Scope(**options).filters.values() if one.sql]

    def ask(store: FactStore) -> set[str]:
        show_sessions(store, open_sessions(store, files, progress=progress))
        calls = f"FROM {CALLS} WHERE {' AND '.join(filters)}"
        found = store.rows(
            f"SELECT f.path FROM chosen c JOIN {SESSION.name} s ON s.file = c.file JOIN {FILE.name} f ON f.id = s.file"
            f" WHERE s.session IN (SELECT session {calls}) OR f.path IN (SELECT path {calls})"
        )
        return {known_path(path) for (path,) in found}

    return answered(ask)
