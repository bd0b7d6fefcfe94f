"""The library: every session as a row, the keys by which they are asked for, and what counting adds to them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from reread.catalog.summaries import Header, read_header, with_transcript
from reread.disk import layout
from reread.disk.sources import file_fingerprint, is_being_written
from reread.errors import NotFound, Unreadable
from reread.reader import schema
from reread.reader.counts import RowCounts
from reread.reader.keys import key_for
from reread.reports.usage_report import report_value, usage
from reread.server.counter_process import CounterProcess
from reread.server.event_bus import EventBus

LOOK_AGAIN_SECONDS = 2.0
"""How often the folders are looked through while someone watches."""
USAGE = ("by", "since", "until", "tz", "project", "model")
"""What can be asked of the usage report."""


class LibraryEntry(msgspec.Struct):
    """A session in the library."""

    key: str
    path: Path
    state: object
    """What changes when the file does."""
    header: Header
    counted: RowCounts | None = None
    live: bool = False

    def listed(self, transcripts: Mapping[str, Header] | None = None) -> schema.LibraryRow:
        """The session as a row; a captured one with what the transcript of its session knows better."""
        row = schema.LibraryRow.of(self.key, with_transcript(self.header, transcripts or {}))
        return msgspec.structs.replace((self.counted or RowCounts()).on(row), live=self.live)


class Library:
    """The sessions below some folders, and some named ones."""

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
        self._shelf: dict[Path, LibraryEntry] = {}
        self._keys: dict[str, Path] = {}
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._looked = 0.0
        self._stop = threading.Event()
        self._clerk = CounterProcess(self._note_counted) if count else None

    def start(self) -> None:
        """Look through the folders, and again and again while someone watches."""
        threading.Thread(target=self._keep_looking, name="library", daemon=True).start()

    def close(self) -> None:
        """Stop looking and counting."""
        self._stop.set()
        self.bus.close()
        if self._clerk is not None:
            self._clerk.close()

    def value(self) -> schema.Library:
        """Every session, newest first."""
        if time.monotonic() - self._looked > LOOK_AGAIN_SECONDS:
            self.look()
        with self._lock:
            shelf = list(self._shelf.values())
        transcripts = {shelved.header.id: shelved.header for shelved in shelf if not shelved.header.captured}
        rows = [shelved.listed(transcripts) for shelved in shelf]
        rows.sort(key=lambda row: (row.updated.timestamp() if row.updated else 0.0, row.id), reverse=True)
        roots = [str(path) for path in (self._roots or self._paths or layout.default_roots())]
        pending = sum(row.turns is None for row in rows) if self._clerk is not None else 0
        return schema.Library(sessions=rows, roots=roots, pending=pending, demo=self._demo)

    def usage(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """What the library's sessions spent, grouped and narrowed as asked."""
        choice: dict[str, Any] = {name: asked[name] for name in USAGE if asked.get(name)}
        sources = [*self._paths, *self._roots] if self._paths else []
        return report_value(usage(*sources, root=None if sources else self._roots or None, **choice))

    @property
    def roots(self) -> list[Path] | None:
        """Where what belongs to a session is looked for; None for this machine's own folders."""
        return self._roots or None

    def find(self, key: str) -> Path:
        """The file of a session that is in the library: nothing else can be asked for."""
        if key not in self._keys:
            self.look()
        path = self._keys.get(key)
        if path is None:
            raise NotFound(f"there is no session {key!r} here")
        return path

    def undisturbed(self) -> AbstractContextManager[None]:
        """Nothing is counted meanwhile."""
        return self._clerk.held() if self._clerk is not None else nullcontext()

    def key_of(self, path: Path) -> str | None:
        """What addresses call a session's file."""
        self.look()
        found = self._shelf.get(path)
        return found.key if found is not None else None

    def look(self) -> None:
        """See which sessions are there, and read the headers of those that changed."""
        with self._looking:
            before = {path: shelved.listed() for path, shelved in self._shelf.items()}
            shelf = {shelved.path: shelved for shelved in self._looked_at(self._files())}
            with self._lock:
                self._shelf = shelf
                self._keys = {shelved.key: path for path, shelved in shelf.items()}
            self._looked = time.monotonic()
        self._tell(before)
        if self._clerk is not None:
            newest = sorted(shelf.values(), key=lambda s: str(s.header.updated), reverse=True)
            self._clerk.want([(shelved.path, shelved.state) for shelved in newest])

    def _files(self) -> Iterator[Path]:
        listed = layout.session_files(self._roots or None) if self._roots or not self._paths else ()
        return layout.unique_files(itertools.chain(self._paths, listed))

    def _looked_at(self, paths: Iterable[Path]) -> Iterator[LibraryEntry]:
        taken: dict[str, Path] = {shelved.key: path for path, shelved in self._shelf.items()}
        for path in paths:
            state, known = file_fingerprint(path), self._shelf.get(path)
            if known is not None and known.state == state:
                known.live = known.live and is_being_written(path)
                yield known
                continue
            with suppress(Unreadable):
                header = read_header(path)
                key = known.key if known is not None else key_for(path, taken)
                taken[key] = path
                counted = known.counted if known is not None else None
                yield LibraryEntry(key, path, state, header, counted, is_being_written(path))

    def _note_counted(self, path: Path, counted: RowCounts) -> None:
        with self._lock:
            shelved = self._shelf.get(path)
            if shelved is not None:
                shelved.counted = counted
        if shelved is not None:
            self.bus.tell("listed", shelved.listed())

    def _tell(self, before: dict[Path, schema.LibraryRow]) -> None:
        if before.keys() != self._shelf.keys():
            self.bus.tell("library", {})
        elif self.bus.listeners:
            for path, shelved in self._shelf.items():
                row = shelved.listed()
                if row != before[path]:
                    self.bus.tell("listed", row)

    def _keep_looking(self) -> None:
        self.look()
        while not self._stop.wait(LOOK_AGAIN_SECONDS):
            if self.bus.listeners:
                self.look()
