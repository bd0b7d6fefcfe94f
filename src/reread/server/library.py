"""The list of sessions that the server offers, kept up to date with the files on disk."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from reread.base.coerce import as_dict
from reread.base.paths import path_name
from reread.base.structs import copied
from reread.catalog.annotations import Annotation, Annotations
from reread.catalog.archived import is_archived
from reread.catalog.header import Header
from reread.catalog.headers import KeptMarks, read_headers, with_transcript
from reread.catalog.resolve import found_by_record
from reread.disk import layout
from reread.disk.agent_files import session_of
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet, find_files
from reread.disk.sources import LIVE_SECONDS
from reread.errors import Ambiguous, Misuse, NotFound, RereadError
from reread.facts.owners import file_owners
from reread.reader import library_schema
from reread.reader.library_schema import LibraryNow, NowSession, session_key
from reread.reader.schema import TITLE
from reread.render.format import heading
from reread.render.now_table import activity_text, summary_text
from reread.reports.now_report import LiveSession, NowWatch, ticks_of
from reread.server.event_bus import EventBus
from reread.server.list_counts import ListCounter, RowCounts
from reread.session.activity import ENDED
from reread.session.follower import folder_ticks
from reread.storage.prompt_history import is_prompts

LISTENING_SECONDS = 0.5
"""How soon sessions are looked at once a browser listens."""
NOTHING = LibraryNow(summary="", waiting=0, sessions=[])


class RunningSessions:
    """The sessions that run, published as they change."""

    def __init__(self, key_of: Callable[[str], str | None], roots: Sequence[Path], *, enabled: bool) -> None:
        self.bus: EventBus[None] = EventBus()
        self._key_of = key_of
        self._roots = list(roots) or None
        self._enabled = enabled
        self._stop = threading.Event()
        self._watch = NowWatch(self._roots)
        self._lock = threading.Lock()
        self._now = NOTHING

    def start(self) -> None:
        """Look at what runs whenever a browser listens, in the background."""
        if self._enabled:
            threading.Thread(target=self._keep_looking, name="now", daemon=True).start()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()

    def now(self) -> LibraryNow:
        """Return what runs now."""
        return self._look(None) if self._enabled else NOTHING

    def _keep_looking(self) -> None:
        while not self._stop.wait(LISTENING_SECONDS):
            if self.bus.listeners:
                self._publish_while_heard()

    def _publish_while_heard(self) -> None:
        for touched in ticks_of(self._watch, self._stop):
            if not self.bus.listeners:
                return
            before = self._now
            if self._look(touched) != before:
                self.bus.publish("now", self._now)

    def _look(self, touched: set[str] | None) -> LibraryNow:
        with self._lock:
            live = [one for one in self._watch.update(touched) if one.state != ENDED]
            waiting = sum(one.waits for one in live)
            summary = summary_text(live) if live else ""
            self._now = LibraryNow(summary=summary, waiting=waiting, sessions=list(map(self._row, live)))
            return self._now

    def _row(self, one: LiveSession) -> NowSession:
        return copied(
            NowSession,
            one,
            id=one.session,
            key=self._key_of(one.path) if one.path is not None else None,
            title=heading(one.title or one.session, TITLE),
            project=path_name(one.project),
            activity=heading(activity_text(one), TITLE),
        )


REFRESH_SECONDS = 2.0
"""How old a listing may be."""
HEARTBEAT_MS = 5000
"""How often sessions that are being written are looked at while a browser listens, even if nothing is reported."""
SWEEP_SECONDS = 30.0
"""How often all folders are searched then: with thousands of sessions, that takes a while."""
STEP_MS = 50
"""How long changes are gathered before the system reports them."""
PAUSE_SECONDS = 0.15
"""The pause after a change, so that a session that is being written costs little."""
NO_ANNOTATION = Annotation()


class LibraryEntry(msgspec.Struct):
    """A session in the library."""

    key: str
    path: Path
    states: tuple[FileState, ...]
    """The states of the session's file and those of its agents: they differ when one of them has changed."""
    header: Header
    counts: RowCounts | None
    live: bool
    machine: str | None = None
    person: str | None = None

    def row(
        self, annotation: Annotation = NO_ANNOTATION, transcripts: Mapping[str, Header] | None = None
    ) -> library_schema.LibraryRow:
        """Return the row for this session, completed from its transcript if it is a captured conversation."""
        row = library_schema.LibraryRow.of(self.key, with_transcript(self.header, transcripts or {}))
        added: dict[str, Any] = {**msgspec.structs.asdict(annotation), "tags": [*annotation.tags]}
        added["archived"] = is_archived(self.header)
        if self.counts is not None:
            added |= msgspec.structs.asdict(self.counts) | {"models": self.counts.models or row.models}
        return msgspec.structs.replace(row, live=self.live, machine=self.machine, person=self.person, **added)


class SessionLibrary:
    """The sessions below some folders, or an explicit list of files."""

    def __init__(
        self,
        roots: Sequence[Path] = (),
        *,
        paths: Sequence[Path] = (),
        demo: bool = False,
        count: bool = True,
    ) -> None:
        self.bus: EventBus[None] = EventBus(self._stop_watching)
        self._watching: threading.Event | None = None
        """Ends the watch of the folders; None if there is none."""
        self._roots = list(roots)
        self._paths = list(paths)
        self._demo = demo
        self._entries: dict[Path, LibraryEntry] = {}
        self._keys: dict[str, Path] = {}
        self._lock = threading.Lock()
        """Held while the entries are replaced or read."""
        self._refresh_lock = threading.Lock()
        """Held during a whole refresh."""
        self._refreshed = 0.0
        self._swept = -SWEEP_SECONDS
        self._files = FileSet()
        self._owners: dict[str, str | None] = {}
        """The session's file that each file belongs to."""
        self._annotations = Annotations(roots=roots)
        self._published = self._annotations.all()
        """The annotations as browsers know them."""
        self._stop = threading.Event()
        self._counter = ListCounter(self._set_counts, roots=self.roots, paths=self._paths) if count else None
        self.running: RunningSessions = RunningSessions(
            lambda path: self.keys().get(path), roots, enabled=not demo and not (paths and not roots)
        )

    def start(self) -> None:
        """Search the folders in the background, repeatedly while a browser listens."""
        threading.Thread(target=self._keep_refreshing, name="library", daemon=True).start()
        self.running.start()

    def close(self) -> None:
        """Stop refreshing and counting, and end every stream."""
        self._stop.set()
        self.running.close()
        self._stop_watching()
        self.bus.close()
        if self._counter is not None:
            self._counter.close()

    def listing(self, age: float = REFRESH_SECONDS) -> library_schema.Library:
        """Return a row for every session, newest first, as they were at most so many seconds ago."""
        self.files(age)
        with self._lock:
            entries = list(self._entries.values())
        transcripts = {entry.header.id: entry.header for entry in entries if not entry.header.captured}
        added = self._annotations.all()
        rows = [entry.row(added.get(entry.header.id, NO_ANNOTATION), transcripts) for entry in entries]
        rows.sort(key=lambda row: (row.updated.timestamp() if row.updated else 0.0, row.id), reverse=True)
        roots = [str(path) for path in (self._roots or self._paths or layout.default_roots())]
        uncounted = sum(row.turns is None and not row.prompts_only for row in rows)
        pending = uncounted if self._counter is not None else 0
        return library_schema.Library(sessions=rows, roots=roots, pending=pending, demo=self._demo)

    def rows_by_session(self) -> dict[str, library_schema.LibraryRow]:
        """Return the row of each of Claude Code's sessions by its id; captured conversations stand for theirs."""
        rows = {row.key: row for row in self.listing().sessions}
        with self._lock:
            ids = {id: entry.key for entry in self._entries.values() for id in entry.header.sessions}
            ids |= {entry.header.id: entry.key for entry in self._entries.values()}
        return {id: rows[key] for id, key in ids.items() if key in rows}

    def files(self, age: float) -> FileSet:
        """Return all files of the sessions, as they were at most so many seconds ago."""
        if time.monotonic() - self._refreshed > age:
            self.refresh()
        return self._files

    @property
    def is_watched(self) -> bool:
        """True if the system reports what changes, because a browser listens."""
        return self._watching is not None

    def watched_files(self) -> FileSet:
        """Return all files of the sessions: as the watch knows them, if there is one."""
        return self._files if self.is_watched else self.files(REFRESH_SECONDS)

    def owner(self, path: str) -> str | None:
        """Return the file of the session that a file belongs to; None if it is not known."""
        return self._owners.get(path)

    @property
    def paths(self) -> list[Path]:
        """The files that were named when the server was started."""
        return self._paths

    def keys(self) -> dict[str, str]:
        """Return the keys of all sessions by path."""
        with self._lock:
            return {str(path): entry.key for path, entry in self._entries.items()}

    @property
    def roots(self) -> list[Path] | None:
        """The folders to search for files that belong to a session; None for this machine's default folders."""
        return self._roots or None

    def find(self, key: str) -> Path:
        """Return the file of the session with this key or id; raise NotFound if the library does not list it."""
        if key not in self._keys:
            self.refresh()
        path = self._keys.get(key) or self._by_id(key)
        if path is None:
            raise NotFound("This session no longer exists.")
        return path

    def _by_id(self, id: str) -> Path | None:
        """Return the file of a session that is not called after it; others may be in the same file."""
        with self._lock:
            headers = [entry.header for entry in self._entries.values()]
        try:
            return found_by_record(id, headers)
        except Ambiguous:
            return None

    def annotation(self, key: str) -> Annotation:
        """Return the star, the note and the tags of a session."""
        return self._annotations.of(self._id(key))

    def annotate(self, key: str, body: Any) -> library_schema.AnnotationChange:
        """Change the star, the note or the tags of a session as asked; a note that changed meanwhile stays."""
        id = self._id(key)
        request = as_dict(body)
        given = {"starred": bool, "note": str, "was": str, "tag": list, "untag": list}
        wrong = [name for name, value in request.items() if not isinstance(value, given.get(name, type(None)))]
        wrong += [name for name in ("tag", "untag") if any(not isinstance(one, str) for one in request.get(name, ()))]
        if wrong:
            raise Misuse(
                f"Invalid {wrong[0]!r}; send `starred` (true or false), `note` and `was` (texts), `tag` and `untag`"
                " (lists of words)."
            )
        saved = self._annotations.change(id, **request)
        self._publish_annotations()
        annotation = self._annotations.of(id)
        return copied(library_schema.AnnotationChange, annotation, tags=[*annotation.tags], saved=saved)

    def _id(self, key: str) -> str:
        path = self.find(key)
        with self._lock:
            return self._entries[path].header.id

    def pause_counting(self) -> AbstractContextManager[None]:
        """Return a context manager that pauses background counting."""
        return self._counter.paused() if self._counter is not None else nullcontext()

    def key_of(self, path: Path) -> str | None:
        """Return the key of a session's file; None if the library does not list it."""
        self.refresh()
        entry = self._entries.get(path.absolute())
        return entry.key if entry is not None else None

    def refresh(self, touched: Collection[str] = ()) -> None:
        """Find all files, read the headers of sessions that changed, and publish the differences.

        If only known files were touched, the folders are not searched.
        """
        with self._refresh_lock:
            before, old = self._entries.keys(), self._files
            files = self._files.restated(touched) if touched else None
            if files is None:
                files = find_files(self.roots, self._paths, prompts=True)
                self._swept = time.monotonic()
            entries, changed = self._read_entries(files)
            with self._lock:
                self._files, self._entries = files, entries
                self._keys = {entry.key: path for path, entry in entries.items()}
            self._refreshed = time.monotonic()
        if before != entries.keys():
            self.bus.publish("library", {})
        elif self.bus.listeners:
            for entry in changed:
                self._publish(entry)
            if files.states != old.states:
                self.bus.publish("grown", {})
        self._publish_annotations()
        if self._counter is not None and files.states != old.states:
            self._counter.request()

    def _read_entries(self, files: FileSet) -> tuple[dict[Path, LibraryEntry], list[LibraryEntry]]:
        """Return the entries of all sessions, and those that changed."""
        entries: dict[Path, LibraryEntry] = {}
        changed: list[LibraryEntry] = []
        unread: dict[str, tuple[FileState, ...]] = {}
        for main, states in self._sessions(files).items():
            known = self._entries.get(Path(main))
            if known is None or known.states[0] != states[0]:
                unread[main] = states
                continue
            live = _is_live(states)
            if (known.states, known.live) != (states, live):
                known.states, known.live = states, live
                changed.append(known)
            entries[known.path] = known
        taken: dict[str, Path] = {entry.key: path for path, entry in self._entries.items()}
        owner = _file_owners() if unread else None
        for header in map(KeptMarks().mark, read_headers(unread, () if self._entries else files.folders)):
            path, states = Path(header.path), unread[header.path]
            known = self._entries.get(path)
            key = known.key if known is not None else session_key(path, taken)
            taken[key] = path
            counts = known.counts if known is not None else None
            whose = [owner(name, header.path) for name in ("machine", "person")] if owner is not None else ()
            entries[path] = LibraryEntry(key, path, states, header, counts, _is_live(states), *whose)
            changed.append(entries[path])
        return entries, changed

    def _sessions(self, files: FileSet) -> dict[str, tuple[FileState, ...]]:
        """Return the states of each session's file and its agents' by the path of the former, each file once."""
        named = {str(path.absolute()) for path in self._paths}
        seen: set[tuple[int, int]] = set()
        groups: dict[str, list[FileState]] = {}
        agents: list[tuple[str, FileState]] = []
        for path, state in files.states.items():
            owner = path if path in named or is_prompts(path) else self._owner(path, files.folders)
            identity = (state.device, state.inode)
            if owner is None or identity in seen:
                continue
            if state.inode:  # some file systems have no numbers
                seen.add(identity)
            if owner == path:
                groups[path] = [state]
            else:
                agents.append((owner, state))
        for owner, state in agents:
            if owner in groups:
                groups[owner].append(state)
        return {path: tuple(states) for path, states in groups.items()}

    def _owner(self, path: str, folders: Iterable[str]) -> str | None:
        if path not in self._owners:
            folder = next((folder for folder in folders if Path(path).is_relative_to(folder)), None)
            owner = session_of(Path(path), Path(folder)) if folder is not None else None
            self._owners[path] = str(owner) if owner is not None else None
        return self._owners[path]

    def count_first(self, keys: Iterable[str]) -> None:
        """Count the sessions with these keys before all others: they are on the screen."""
        with self._lock:
            shown = [path for key in keys if (path := self._keys.get(key)) is not None]
        if self._counter is not None:
            self._counter.request(shown)

    def _set_counts(self, counts: Mapping[Path, RowCounts]) -> None:
        changed: list[LibraryEntry] = []
        with self._lock:
            for path, counted in counts.items():
                entry = self._entries.get(path)
                if entry is not None and entry.counts != counted:
                    entry.counts = counted
                    changed.append(entry)
        for entry in changed:
            self._publish(entry)

    def _publish(self, entry: LibraryEntry) -> None:
        self.bus.publish("row", entry.row(self._annotations.of(entry.header.id)))

    def _publish_annotations(self) -> None:
        """Publish the rows whose annotations changed since, by this process or another."""
        before, self._published = self._published, self._annotations.all()
        for entry in list(self._entries.values()) if before is not self._published else ():
            if before.get(entry.header.id) != self._published.get(entry.header.id):
                self._publish(entry)

    def _keep_refreshing(self) -> None:
        self._attempt(self.refresh)
        while not self._stop.wait(LISTENING_SECONDS):
            if self.bus.listeners:
                self._attempt(self._watch)

    def _attempt(self, work: Callable[[], None]) -> None:
        """Do it, or wait if a folder or bucket cannot be read now: every request says so, and it may come back."""
        try:
            work()
        except RereadError:
            self._stop.wait(HEARTBEAT_MS / 1000)

    def _watch(self) -> None:
        """Refresh whenever a file changes, until no browser listens."""
        stop = self._watching = threading.Event()
        self._swept = -SWEEP_SECONDS  # something may have changed before the watch
        for touched in folder_ticks(self._watched, stop, heartbeat=HEARTBEAT_MS, step=STEP_MS):
            if stop.is_set() or not self.bus.listeners:
                break
            files = {path for path in touched if path.endswith(".jsonl")}
            folders = {path for path in touched - files if os.path.isdir(path)}
            if files or folders:
                self.refresh(files | folders)
                stop.wait(PAUSE_SECONDS)
            elif not touched:
                self._refresh_unreported()
            if folders:  # what is written into a folder before the system watches it is not reported
                self.refresh()
        self._watching = None

    def _refresh_unreported(self) -> None:
        """Look at the sessions that are being written, or search all folders if that was long ago."""
        live = {str(path) for path, entry in self._entries.items() if entry.live}
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            self.refresh()
        elif live:
            self.refresh(live)
        else:
            self._publish_annotations()

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.set()

    def _watched(self) -> list[str]:
        """Return the folders and files in which sessions are written, as far as they exist now."""
        named = [str(path.absolute()) for path in self._paths if os.path.exists(path)]
        below = layout.session_folders(self.roots) if self._roots or not self._paths else ()
        return [*named, *(str(folder.absolute()) for folder in below)]


def _is_live(states: Sequence[FileState]) -> bool:
    """True if one of some files was modified recently, so that it is probably still being written."""
    return time.time() - max(state.modified for state in states) / 1e9 < LIVE_SECONDS


def _file_owners() -> Callable[[str, str | None], str | None] | None:
    """Return what tells whose a file is; None if the settings of the team are wrong, as reports by person say."""
    try:
        return file_owners()
    except Misuse:
        return None
