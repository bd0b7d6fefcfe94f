"""The list of sessions that the server offers, kept up to date with the files on disk."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from reread.catalog.summaries import Header, read_headers, with_transcript
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.sources import is_being_written
from reread.errors import NotFound
from reread.reader import schema
from reread.reader.row_counts import RowCounts
from reread.reader.session_keys import session_key
from reread.reports.usage_report import report_value, usage
from reread.server.counter_process import CounterProcess
from reread.server.event_bus import EventBus

REFRESH_SECONDS = 2.0
"""How often the folders are searched while a browser listens."""
USAGE_OPTIONS = ("by", "since", "until", "tz", "project", "model")
"""The query parameters of the usage report."""


class LibraryEntry(msgspec.Struct):
    """A session in the library."""

    key: str
    path: Path
    state: FileState
    """Differs when the file has changed."""
    header: Header
    counts: RowCounts | None = None
    live: bool = False

    def row(self, transcripts: Mapping[str, Header] | None = None) -> schema.LibraryRow:
        """Return the row for this session, completed from its transcript if it is a captured conversation."""
        row = schema.LibraryRow.of(self.key, with_transcript(self.header, transcripts or {}))
        return msgspec.structs.replace((self.counts or RowCounts()).add_to(row), live=self.live)


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
        self.bus: EventBus[None] = EventBus()
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
        self._stop = threading.Event()
        self._counter = CounterProcess(self._set_counts) if count else None

    def start(self) -> None:
        """Search the folders in the background, repeatedly while a browser listens."""
        threading.Thread(target=self._keep_refreshing, name="library", daemon=True).start()

    def close(self) -> None:
        """Stop refreshing and counting, and end every stream."""
        self._stop.set()
        self.bus.close()
        if self._counter is not None:
            self._counter.close()

    def listing(self) -> schema.Library:
        """Return a row for every session, newest first."""
        if time.monotonic() - self._refreshed > REFRESH_SECONDS:
            self.refresh()
        with self._lock:
            entries = list(self._entries.values())
        transcripts = {entry.header.id: entry.header for entry in entries if not entry.header.captured}
        rows = [entry.row(transcripts) for entry in entries]
        rows.sort(key=lambda row: (row.updated.timestamp() if row.updated else 0.0, row.id), reverse=True)
        roots = [str(path) for path in (self._roots or self._paths or layout.default_roots())]
        pending = sum(row.turns is None for row in rows) if self._counter is not None else 0
        return schema.Library(sessions=rows, roots=roots, pending=pending, demo=self._demo)

    def usage(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the usage report of these sessions, grouped and filtered by the query parameters."""
        options: dict[str, Any] = {name: query[name] for name in USAGE_OPTIONS if query.get(name)}
        sources = [*self._paths, *self._roots] if self._paths else []
        return report_value(usage(*sources, root=None if sources else self._roots or None, **options))

    @property
    def paths(self) -> list[Path]:
        """The files that were named when the server was started."""
        return self._paths

    def keys(self) -> dict[str, str]:
        """Return the keys of all sessions by path."""
        with self._lock:
            return {str(path.absolute()): entry.key for path, entry in self._entries.items()}

    @property
    def roots(self) -> list[Path] | None:
        """The folders to search for files that belong to a session; None for this machine's default folders."""
        return self._roots or None

    def find(self, key: str) -> Path:
        """Return the file of the session with this key; raise NotFound if the library does not list it."""
        if key not in self._keys:
            self.refresh()
        path = self._keys.get(key)
        if path is None:
            raise NotFound(f"No session has the key {key!r}; reload the list of sessions.")
        return path

    def pause_counting(self) -> AbstractContextManager[None]:
        """Return a context manager that pauses background counting."""
        return self._counter.paused() if self._counter is not None else nullcontext()

    def key_of(self, path: Path) -> str | None:
        """Return the key of a session's file; None if the library does not list it."""
        self.refresh()
        entry = self._entries.get(path)
        return entry.key if entry is not None else None

    def refresh(self) -> None:
        """Find all session files, read the headers of those that changed, and publish the differences."""
        with self._refresh_lock:
            before = {path: entry.row() for path, entry in self._entries.items()}
            entries = {entry.path: entry for entry in self._read_entries(self._files())}
            with self._lock:
                self._entries = entries
                self._keys = {entry.key: path for path, entry in entries.items()}
            self._refreshed = time.monotonic()
        self._publish_changes(before)
        if self._counter is not None:
            newest_first = sorted(entries.values(), key=lambda entry: str(entry.header.updated), reverse=True)
            self._counter.forget(before.keys() - entries.keys())
            self._counter.request([(entry.path, entry.state) for entry in newest_first])

    def _files(self) -> Iterator[Path]:
        below_roots = layout.session_files(self._roots or None) if self._roots or not self._paths else ()
        return layout.unique_files(itertools.chain(self._paths, below_roots))

    def _read_entries(self, paths: Iterable[Path]) -> Iterator[LibraryEntry]:
        changed: dict[str, FileState] = {}
        for path in paths:
            with suppress(OSError):
                state, known = FileState.at(path), self._entries.get(path)
                if known is not None and known.state == state:
                    known.live = known.live and is_being_written(path)
                    yield known
                else:
                    changed[str(path)] = state
        taken: dict[str, Path] = {entry.key: path for path, entry in self._entries.items()}
        for header in read_headers(changed, () if self._entries else self._folders()):
            path = Path(header.path)
            known = self._entries.get(path)
            key = known.key if known is not None else session_key(path, taken)
            taken[key] = path
            counts = known.counts if known is not None else None
            yield LibraryEntry(key, path, changed[header.path], header, counts, is_being_written(path))

    def _folders(self) -> Iterable[Path]:
        """Return the folders of which all sessions are in the library."""
        return layout.session_folders(self._roots or None) if self._roots or not self._paths else ()

    def _set_counts(self, path: Path, counts: RowCounts) -> None:
        with self._lock:
            entry = self._entries.get(path)
            if entry is not None:
                entry.counts = counts
        if entry is not None:
            self.bus.publish("row", entry.row())

    def _publish_changes(self, before: dict[Path, schema.LibraryRow]) -> None:
        if before.keys() != self._entries.keys():
            self.bus.publish("library", {})
        elif self.bus.listeners:
            for path, entry in self._entries.items():
                row = entry.row()
                if row != before[path]:
                    self.bus.publish("row", row)

    def _keep_refreshing(self) -> None:
        self.refresh()
        while not self._stop.wait(REFRESH_SECONDS):
            if self.bus.listeners:
                self.refresh()
