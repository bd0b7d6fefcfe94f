"""Search over the sessions that the server offers, from an index that is kept up to date."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from reread.base.structs import copied
from reread.base.worker import Worker
from reread.errors import Misuse
from reread.index.hits import Hit, group_by_session
from reread.index.matching import folded_pattern, lowered, wanted
from reread.index.query import is_question_word, parse_query
from reread.index.search_process import SearchProcesses, SearchRequest
from reread.reader import library_schema
from reread.server.library import REFRESH_SECONDS, SessionLibrary
from reread.session.pass_process import PassJob, start_pass

SMALL = 4 << 20
"""Up to this many new bytes are indexed before a search, more in the background."""
COUNT = 20
MOST = 200
MOST_TITLES = 8
FRESH_SECONDS = 0.3
"""How long an answer may be old: while someone types, the folders are not searched for every letter."""
WATCHED_SECONDS = 10.0
"""The same while the folders are watched. To search them takes 0.12 s of CPU with 939 files."""


class SearchService:
    """Searches the sessions of a library. No lock is held between searches."""

    def __init__(self, library: SessionLibrary) -> None:
        self._library = library
        self._processes = SearchProcesses()
        self._builder: Worker | None = None
        self._prepared = False
        self._closed = False

    def prepare(self) -> None:
        """Index all sessions in the background, once, so that the first search finds them."""
        if not self._prepared:
            self._prepared = True
            self._build()
            self._processes.prepare()

    def close(self) -> None:
        """Stop indexing; what is committed stays."""
        self._closed = True
        builder = self._builder
        if builder is not None:
            builder.kill()
        self._processes.close()

    def search(
        self, query: str, *, start: int = 0, count: int | None = None, newest: bool = False
    ) -> library_schema.LibrarySearch:
        """Return the sessions and texts that match a query, beginning with the text at `start`."""
        if not query.strip():
            raise Misuse("Missing query parameter q; set it to the words to find.")
        limit = min(count or COUNT, MOST)
        age = WATCHED_SECONDS if self._library.is_watched else FRESH_SECONDS
        files, keys = self._library.files(age), self._library.keys()
        found = self._processes.search(
            SearchRequest(query, start, limit, newest, files, keys, SMALL, facets=start == 0)
        )
        if found.is_behind:
            self._build()
        end = start + limit
        return copied(
            library_schema.LibrarySearch,
            found,
            titles=self._titles(query, age) if start == 0 else [],
            sessions=[_session(group) for group in group_by_session(found.hits).values()],
            next=end if len(found.hits) == limit else None,
        )

    def _titles(self, query: str, age: float) -> list[library_schema.LibraryRow]:
        """Return the sessions whose title, project or id has most of the words of a query, all of them first."""
        leaves = list(wanted(parse_query(query)))
        counting = [leaf for leaf in leaves if not is_question_word(leaf)] or leaves
        patterns = [folded_pattern(leaf, inside=True) for leaf in counting]
        found: list[tuple[int, library_schema.LibraryRow]] = []
        for row in self._library.listing(max(age, REFRESH_SECONDS)).sessions if patterns else ():
            name = lowered(f"{row.title}\n{row.project}\n{row.id}")
            count = sum(pattern.search(name) is not None for pattern in patterns)
            if 2 * count > len(patterns):
                found.append((count, row))
        return [row for _, row in sorted(found, key=lambda pair: -pair[0])][:MOST_TITLES]

    def _build(self) -> None:
        """Have another process index everything, unless one is at it."""
        if self._closed or (self._builder is not None and self._builder.is_running):
            return
        roots, paths = self._library.roots or (), self._library.paths
        self._builder = start_pass(PassJob([*map(str, roots)], [*map(str, paths)]))
        threading.Thread(target=self._builder.wait, daemon=True).start()


def _session(hits: Sequence[Hit]) -> library_schema.FoundSession:
    first = hits[0]
    texts = [copied(library_schema.FoundText, hit) for hit in hits]
    return copied(library_schema.FoundSession, first, id=first.session, hits=texts)
