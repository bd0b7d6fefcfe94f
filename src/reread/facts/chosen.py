"""The sessions that filters choose, for those who list or search sessions and count nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from reread.disk.derived_cache import known_path
from reread.facts.counting import count_all
from reread.facts.schema import FILE, SESSION
from reread.facts.scope import Scope, ScopeOptions
from reread.facts.sessions import Progress
from reread.facts.store import FactStore, answered
from reread.facts.views import CALLS, NONE, RESPONSES, TURNS, conditions

if TYPE_CHECKING:
    from reread.catalog.header import Header


def chosen_sessions(progress: Progress | None = None, **options: Unpack[ScopeOptions]) -> set[str]:
    """Return the files of the sessions of a scope in which anything counts, and of the copies of these sessions."""
    scope = Scope(**options)

    def ask(store: FactStore) -> set[str]:
        count_all(store, scope, progress)
        found = conditions(store, scope)
        facts = [f"FROM {view} WHERE {found[view]}" for view in (TURNS, RESPONSES, CALLS) if found[view] != NONE]
        meant = " OR ".join(f"s.session IN (SELECT session {one}) OR f.path IN (SELECT path {one})" for one in facts)
        rows = store.rows(
            f"SELECT f.path FROM chosen c JOIN {SESSION.name} s ON s.file = c.file JOIN {FILE.name} f ON f.id = s.file"
            f" WHERE {meant}"
        )
        return {known_path(path) for (path,) in rows}

    return answered(ask)


def chosen_headers(headers: Iterable[Header], progress: Progress | None = None, **options: Any) -> Iterator[Header]:
    """Yield the headers of the sessions that filters choose; all of them if there is none but `root`."""
    if not any(value for name, value in options.items() if name != "root"):
        yield from headers
        return
    chosen = chosen_sessions(progress, **options)
    yield from (header for header in headers if str(Path(header.path).absolute()) in chosen)
