"""The places of a session's texts, as a part of the pass over sessions."""

from __future__ import annotations

from pathlib import Path

from reread.disk import layout
from reread.disk.cache import FileState
from reread.index.hit_locations import LocationsTable
from reread.index.hit_locator import OpenedSession
from reread.session.session import Session, threads_of


class PlacesPart:
    """The places of the texts of sessions."""

    def __init__(self) -> None:
        self._table = LocationsTable()

    def state(self, path: Path) -> FileState:
        """Return the state of a session's file; those of its agents are kept with the places."""
        return FileState.at(path)

    def is_current(self, path: Path, state: FileState) -> bool:
        """True if the places of all files of a session are known."""
        agents = layout.agent_files(path, [path.stem]).values()
        return all(self._table.has(str(file), str(path)) for file in (path, *agents))

    def derive(self, session: Session, state: FileState) -> None:
        """Find the places of a session's texts; before its agents are read, so that their states are known."""
        OpenedSession(str(session.path), threads_of(session), state).save_all(self._table)

    def save(self) -> None:
        """Write the places to the catalogue."""
        self._table.flush()

    def close(self) -> None:
        """Close the catalogue."""
        self._table.close()
