"""Stars and notes of sessions, in a file of reread's own: Claude Code's folder is never written to."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from reread.base.coerce import as_dict, as_int
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.locked import change_object, read_object
from reread.errors import Misuse, Unreadable

NAME = "annotations.json"
VERSION = 1
LONGEST_NOTE = 4000


class Annotation(msgspec.Struct, frozen=True):
    """What a person added to a session."""

    starred: bool = False
    note: str = ""


class Annotations:
    """The annotations of all sessions by id. Any number of processes may read and change them."""

    def __init__(self, store: Path | None = None) -> None:
        self._path = (store or layout.default_store()) / NAME
        self._lock = threading.Lock()
        self._state: FileState | None = None
        self._known: Mapping[str, Annotation] = {}

    def all(self) -> Mapping[str, Annotation]:
        """Return the annotations by session id, as they are now; none if the file cannot be read."""
        with self._lock:
            try:
                state = FileState.at(self._path)
                if state != self._state:
                    self._known, self._state = _decode(read_object(self._path)), state
            except (OSError, Unreadable):
                self._known, self._state = {}, None
            return self._known

    def of(self, session: str) -> Annotation:
        """Return the annotation of one session."""
        return self.all().get(session, Annotation())

    def change(
        self, session: str, *, starred: bool | None = None, note: str | None = None, was: str | None = None
    ) -> bool:
        """Change what is given. `was` is the note that the new one is based on: if it changed since, return False.

        Nothing is changed then, so that no note that somebody wrote is lost.
        """
        if note is not None and len(note) > LONGEST_NOTE:
            raise Misuse(f"The note is too long; write at most {LONGEST_NOTE} characters.")
        fits = True

        def apply(value: dict[str, Any]) -> None:
            nonlocal fits
            if (as_int(value.get("version")) or VERSION) > VERSION:
                raise Misuse(f"A later version of reread wrote {self._path}; update reread to change it.")
            sessions = as_dict(value.get("sessions"))
            entry = as_dict(sessions.get(session))
            stored = _annotation(entry)
            fits = note is None or was is None or stored.note in (was, note)
            if not fits:
                return
            entry["starred"] = stored.starred if starred is None else starred
            entry["note"] = stored.note if note is None else note.strip()
            kept = {name: kept for name, kept in entry.items() if kept or name not in Annotation.__struct_fields__}
            sessions.pop(session, None)
            value["version"], value["sessions"] = VERSION, {**sessions, **({session: kept} if kept else {})}

        change_object(self._path, apply)
        return fits


def _decode(value: dict[str, Any]) -> dict[str, Annotation]:
    return {id: _annotation(as_dict(entry)) for id, entry in as_dict(value.get("sessions")).items()}


def _annotation(entry: dict[str, Any]) -> Annotation:
    note = entry.get("note")
    return Annotation(starred=entry.get("starred") is True, note=note if isinstance(note, str) else "")
