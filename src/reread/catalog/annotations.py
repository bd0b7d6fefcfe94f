"""Stars, notes and tags of sessions, in a file of reread's own: Claude Code's folder is never written to."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reread.base.coerce import as_dict, as_int, as_list
from reread.base.text import split_names
from reread.disk import layout
from reread.disk.cache import FileState
from reread.errors import Misuse, Unreadable
from reread.storage.json_update import change_object, read_object

NAME = "annotations.json"
VERSION = 1
LONGEST_NOTE = 4000
MOST_TAGS = 32
_TAG = re.compile(r"\w[\w.+#/-]{0,39}")


class Annotation(msgspec.Struct, frozen=True):
    """The additions of a person to a session."""

    starred: bool = False
    note: str = ""
    tags: tuple[str, ...] = ()


class Annotations:
    """The annotations of all sessions by id. Any number of processes may read and change them."""

    def __init__(self, store: Path | None = None, *, roots: Sequence[str | Path] = ()) -> None:
        """Read the user's own annotations, and below them those that lie in the roots, as in the samples."""
        self._path = (store or layout.default_store()) / NAME
        self._brought = {id: found for root in roots for id, found in _read_annotations(Path(root) / NAME).items()}
        self._lock = threading.Lock()
        self._state: FileState | None = None
        self._known: Mapping[str, Annotation] = {}

    def all(self) -> Mapping[str, Annotation]:
        """Return the annotations by session id, as they are now; none if the file cannot be read."""
        with self._lock:
            try:
                state = FileState.at(self._path)
                if state != self._state:
                    self._known, self._state = {**self._brought, **_decode(read_object(self._path))}, state
            except (OSError, Unreadable):
                self._known, self._state = self._brought, None
            return self._known

    def of(self, session: str) -> Annotation:
        """Return the annotation of one session."""
        return self.all().get(session, Annotation())

    def change(
        self,
        session: str,
        *,
        starred: bool | None = None,
        note: str | None = None,
        was: str | None = None,
        tag: Iterable[str] = (),
        untag: Iterable[str] = (),
    ) -> bool:
        """Change what is given. `was` is the note that the new one is based on: if it changed since, return False.

        Nothing is changed then, so that no note that somebody wrote is lost. Tags are added and taken away one by one,
        so that those that others add meanwhile stay.
        """
        added, removed = set(map(as_tag, tag)), set(map(_folded, untag))
        if note is not None and len(note) > LONGEST_NOTE:
            raise Misuse(f"The note is too long; write at most {LONGEST_NOTE} characters.")
        fits = True

        def apply(value: dict[str, Any]) -> None:
            nonlocal fits
            if (as_int(value.get("version")) or VERSION) > VERSION:
                raise Misuse(f"A later version of reread wrote {self._path}; update reread to change it.")
            sessions = as_dict(value.get("sessions"))
            entry = as_dict(sessions.get(session))
            stored = _annotation(entry) if entry else self._brought.get(session, Annotation())
            fits = note is None or was is None or stored.note in (was, note)
            if not fits:
                return
            entry["starred"] = stored.starred if starred is None else starred
            entry["note"] = stored.note if note is None else note.strip()
            entry["tags"] = sorted({*stored.tags, *added} - removed)
            if len(entry["tags"]) > MOST_TAGS:
                raise Misuse(f"Too many tags for one session; use at most {MOST_TAGS}.")
            brought = session in self._brought  # then an entry without anything takes away what was brought
            kept = {n: kept for n, kept in entry.items() if kept or brought or n not in Annotation.__struct_fields__}
            sessions.pop(session, None)
            value["version"], value["sessions"] = VERSION, {**sessions, **({session: kept} if kept else {})}

        change_object(self._path, apply)
        return fits


def _read_annotations(path: Path) -> dict[str, Annotation]:
    try:
        return _decode(read_object(path))
    except (OSError, Unreadable):
        return {}


def _decode(value: dict[str, Any]) -> dict[str, Annotation]:
    return {id: _annotation(as_dict(entry)) for id, entry in as_dict(value.get("sessions")).items()}


def _annotation(entry: dict[str, Any]) -> Annotation:
    note, tags = entry.get("note"), entry.get("tags")
    return Annotation(
        starred=entry.get("starred") is True,
        note=note if isinstance(note, str) else "",
        tags=tuple(tag for tag in as_list(tags) if isinstance(tag, str)),
    )


def as_tag(text: str) -> str:
    """Return a tag as it is stored: in small letters; raise Misuse if it is not one word."""
    tag = _folded(text)
    if not _TAG.fullmatch(tag):
        raise Misuse(f"Invalid tag {text!r}; use one word of letters, digits and . _ + # / -, at most 40.")
    return tag


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip().removeprefix("#")).casefold()


def wanted_tags(wanted: str | Iterable[str] | None) -> frozenset[str]:
    """Return tags that are looked for, as they are stored."""
    return frozenset(map(_folded, split_names(wanted)))


def tagged_sessions(wanted: str | Iterable[str] | None) -> frozenset[str]:
    """Return the ids of the sessions that have one of some tags."""
    tags = wanted_tags(wanted)
    return frozenset(id for id, known in Annotations().all().items() if not tags.isdisjoint(known.tags))
