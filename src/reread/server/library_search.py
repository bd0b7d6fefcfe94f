"""Search over the sessions that the server offers, from an index that is kept up to date."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence

import msgspec

from reread.disk.cache import FileState
from reread.disk.file_set import FileSet
from reread.errors import Misuse
from reread.index.build import BuildJob
from reread.index.find import NEWEST, RELEVANCE, find
from reread.index.hits import Hit, group_by_session
from reread.index.matching import pattern_of, wanted
from reread.index.query import parse_query
from reread.index.update import BEHIND, CURRENT, LEAST, NEARLY, Refreshed, pending_bytes, refresh
from reread.reader import library_schema
from reread.server.library import SessionLibrary

SMALL = 4 << 20
"""Up to this many new bytes are indexed by the server itself, more by another process."""
COUNT = 20
MOST = 200
MOST_TITLES = 8
FRESH_SECONDS = 0.3
"""How long an answer may be old: while someone types, the folders are not searched for every letter."""


class SearchService:
    """Searches the sessions of a library. No lock is held between searches."""

    def __init__(self, library: SessionLibrary) -> None:
        self._library = library
        self._lock = threading.Lock()
        """Held while the index is brought up to date."""
        self._index: Refreshed | None = None
        self._states: dict[str, FileState] | None = None
        """The states of all files that the index has; None if it is behind."""
        self._pending = 0
        self._builder: subprocess.Popen[bytes] | None = None
        self._prepared = False
        self._closed = False

    def prepare(self) -> None:
        """Index all sessions in the background, once, so that the first search finds them."""
        if not self._prepared:
            self._prepared = True
            self._build()

    def close(self) -> None:
        """Stop indexing; what is committed stays."""
        self._closed = True
        builder = self._builder
        if builder is not None:
            builder.kill()

    def search(
        self, query: str, *, start: int = 0, count: int | None = None, newest: bool = False
    ) -> library_schema.LibrarySearch:
        """Return the sessions and texts that match a query, beginning with the text at `start`."""
        if not query.strip():
            raise Misuse("Missing query parameter q; set it to the words to find.")
        limit = min(count or COUNT, MOST)
        found = find(
            query,
            order=NEWEST if newest else RELEVANCE,
            start=start,
            limit=limit,
            files=self._library.files(FRESH_SECONDS),
            keys=self._library.keys(),
            refresh=self._refresh,
        )
        hits = list(found)
        end = start + limit
        return library_schema.LibrarySearch(
            titles=self._titles(query) if start == 0 else [],
            sessions=[_session(group) for group in group_by_session(hits).values()],
            total=found.total,
            next=end if end < found.total else None,
            note=found.note,
            pending=self._pending,
        )

    def _titles(self, query: str) -> list[library_schema.LibraryRow]:
        """Return the sessions whose title, project or id has all the words of a query."""
        patterns = [pattern_of(leaf, inside=True) for leaf in wanted(parse_query(query))]
        if not patterns:
            return []
        rows = self._library.listing().sessions
        names = ((row, f"{row.title}\n{row.project}\n{row.id}") for row in rows)
        return [row for row, name in names if all(pattern.search(name) for pattern in patterns)][:MOST_TITLES]

    def _refresh(self, files: FileSet) -> Refreshed:
        with self._lock:
            if self._index is not None and self._states == files.states:
                return self._index
            index = self._index = refresh(files, least=LEAST, most=SMALL)
            self._states = files.states if index.state in (CURRENT, NEARLY) else None
            self._pending = pending_bytes(index.reader, files) if index.state == BEHIND else 0
        if index.state == BEHIND:
            self._build()
        return index

    def _build(self) -> None:
        """Have another process index everything, unless one is at it."""
        if self._closed or (self._builder is not None and self._builder.poll() is None):
            return
        job = BuildJob([str(root) for root in self._library.roots or ()], [str(path) for path in self._library.paths])
        self._builder = subprocess.Popen(
            [sys.executable, "-m", "reread.index.build", msgspec.json.encode(job).decode()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=None if sys.platform == "win32" else 0,
        )
        threading.Thread(target=self._builder.wait, daemon=True).start()


def _session(hits: Sequence[Hit]) -> library_schema.FoundSession:
    first = hits[0]
    texts = [
        library_schema.FoundText(
            link=hit.link,
            kind=hit.kind,
            turn=hit.turn,
            agent=hit.agent,
            call=hit.call,
            tool=hit.tool,
            file=hit.file,
            time=hit.time,
            before=hit.before,
            match=hit.match,
            after=hit.after,
        )
        for hit in hits
    ]
    return library_schema.FoundSession(
        key=first.key, id=first.session, title=first.title, project=first.project, hits=texts
    )
