"""Open sessions, and derive their facts."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from reread.accounting.collect import session_state
from reread.disk.agent_files import AgentFolders
from reread.disk.cache import FileState, is_stale
from reread.disk.derived_cache import stored_path
from reread.disk.sources import FileSource, whole_files
from reread.errors import RereadError, naming_file
from reread.facts.derive import SessionFacts
from reread.facts.schema import FILE, OF_SESSIONS, ORIGIN, PER_SESSION, SESSION
from reread.facts.store import FactStore, Row
from reread.session.session import Session
from reread.session.session_pass import FACTS, SessionPass, newest_first

Derived = tuple[dict[Row, int], dict[str, list[Row]]]
"""The origins and the rows of a session, which need it no longer."""


def derive_facts(store: FactStore, paths: Sequence[Path], states: Mapping[str, bytes]) -> Generator[tuple[Path, bool]]:
    """Derive the facts of sessions, the newest first; yield each, with False if it cannot be read."""
    part = FactsPart(store)
    if not store.is_lasting:
        for path in newest_first(paths):
            try:
                with naming_file(path), whole_files():
                    part.derive(Session(FileSource(path)), states.get(str(path), b""))
                part.save()
            except (RereadError, OSError):
                yield path, False
            else:
                yield path, True
        return
    with SessionPass(given={FACTS: part}) as sessions:
        for path in newest_first(paths):
            try:
                if not part.is_current(path, states.get(str(path), b"")):  # another pass may have been here
                    sessions.derive(path, FACTS)
            except (RereadError, OSError):
                yield path, False
            else:
                yield path, True


class FactsPart:
    """The facts of sessions, as a part of the pass over them."""

    def __init__(self, store: FactStore | None = None) -> None:
        self._store = store or FactStore()
        self._is_own = store is None
        self._folders = AgentFolders()
        self._unsaved: list[tuple[str, FileState, bytes, Derived]] = []

    def state(self, path: Path) -> bytes:
        """Return the state of everything that the facts of a session depend on."""
        return session_state(path, self._folders)

    def is_current(self, path: Path, state: bytes) -> bool:
        """True if the facts of a session in this state are known."""
        query = f"SELECT s.state FROM {SESSION.name} s JOIN {FILE.name} f ON f.id = s.file WHERE f.path = ?"
        known = self._store.rows(query, (stored_path(str(path)),))
        return not is_stale(known[0][0] if known else None, state)

    def derive(self, session: Session, state: bytes) -> None:
        """Derive the facts of a session; `save` stores them."""
        path, facts = str(session.path), SessionFacts(session)
        self._unsaved.append((path, FileState.at(path), state, (facts.origins, facts.rows)))

    def save(self) -> None:
        """Store what was derived."""
        unsaved, self._unsaved = self._unsaved, []
        if unsaved:
            store = self._store
            with store.writing():
                for path, file, state, facts in unsaved:
                    if store.may_store(path, file):
                        _store(store, path, state, facts)

    def close(self) -> None:
        """Close the store."""
        if self._is_own:
            self._store.close()


def _store(store: FactStore, path: str, state: bytes, facts: Derived) -> None:
    """Store the facts of a session instead of those that are known."""
    origins, rows = facts
    file = store.file_id(path)
    store.forget_session(file)
    ((first,),) = store.rows(f"SELECT coalesce(max(id), 0) + 1 FROM {ORIGIN.name}")
    store.add(ORIGIN, ((first + number, None, file, *where) for where, number in origins.items()))
    for table in OF_SESSIONS:
        store.add(table, ((first + number, *row) for number, *row in rows[table.name]))
    for table in PER_SESSION:
        store.add(table, ((file, *row) for row in rows[table.name]))
    store.add(SESSION, ((file, state, *row) for row in rows[SESSION.name]))
