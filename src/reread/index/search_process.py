"""Searches in child processes, for servers.

The search engine maps its files into memory: if one is cut short meanwhile, the system ends the process that reads it,
and no exception can prevent that. Then a child is lost, not the server. The next child sees that the index is damaged,
and has it built anew. What the engine prints when it panics goes nowhere.

A regular expression can take longer than anyone waits, and lets no other thread run meanwhile: then its child is ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from reread.base.worker import Say, Worker, WorkerLost
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet
from reread.errors import Misuse, Unreadable
from reread.index.find import DAMAGED, NEWEST, RELEVANCE, find, refresh_waiting
from reread.index.hits import Hit
from reread.index.query import Node
from reread.index.segments import damaged_file
from reread.index.store import BrokenIndex, drop_index, index_folder
from reread.index.update import BEHIND, CURRENT, LEAST, NEARLY, RefreshResult, pending_bytes, refresh

ATTEMPTS = 4
MOST_IDLE = 2
MATCHING_SECONDS = 20.0
"""How long texts may be matched with a regular expression, besides the time that indexing takes."""
MATCHING = True
"""The message of a child that begins with that."""
TOO_SLOW = (
    "The regular expression took more than {:.0f} seconds and was stopped; repeat nothing within a repetition, as "
    "(a+)+ does, or begin it with a word that all matches have."
)


class SearchRequest(msgspec.Struct):
    """The question, and the files to search."""

    query: str
    start: int
    limit: int
    newest: bool
    files: FileSet
    keys: Mapping[str, str] | None = None
    most: int | None = None
    """Up to this many new bytes are indexed before the search; None: as many as there are."""
    facets: bool = False
    """True to count what matches by project, kind, tool and month."""
    filters: Sequence[Node] = ()
    regex: bool = False
    fixed: bool = False
    strict: bool = False


class SearchReply(msgspec.Struct):
    """The findings."""

    hits: list[Hit]
    total: int
    with_all: int
    with_some: int
    words: list[str]
    """The words that were searched for."""
    facets: dict[str, dict[str, int]]
    note: str
    is_behind: bool
    """True if another process should index the files."""
    pending: int
    """How many bytes it would have to read."""
    corrected: dict[str, str] = {}
    """For each word that no text has, what was searched for instead."""


class SearchProcesses:
    """Children that search, as many as there are searches at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []
        self._closed = False

    def prepare(self) -> None:
        """Start a child, so that the first search need not wait for it."""
        self._give_back(self._take())

    def close(self) -> None:
        """End all children."""
        with self._lock:
            self._closed = True
            for child in self._busy:
                child.kill()
            idle, self._idle = self._idle, []
        for child in idle:
            child.close()

    def search(self, request: SearchRequest) -> SearchReply:
        """Search in a child; if it is lost, in another one."""
        for attempt in range(ATTEMPTS):
            child = self._take()
            reply, is_lost = _ask(child, request)
            self._give_back(child, is_lost=is_lost)
            if isinstance(reply, str):
                raise Misuse(reply)
            if reply is not None:
                if attempt and DAMAGED not in reply.note:
                    reply.note = f"{DAMAGED} {reply.note}".strip()
                return reply
            if attempt:  # a damaged file that looks intact
                drop_index(request.files.name)
        raise Unreadable("Cannot search: the search index is damaged again and again; try again later.")

    def _take(self) -> Worker:
        """Return a child for one search."""
        with self._lock:
            if self._closed:
                raise Unreadable("Cannot search: the server is closing.")
            child = self._idle.pop() if self._idle else Worker(f"{__name__}:answer_searches")
            self._busy.append(child)
            return child

    def _give_back(self, child: Worker, *, is_lost: bool = False) -> None:
        with self._lock:
            self._busy.remove(child)
            if not is_lost and not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(child)
                return
        child.close()


def _ask(child: Worker, request: SearchRequest) -> tuple[SearchReply | str | None, bool]:
    """Return the answer of a child, or what is wrong with the query, and whether the child is lost; then maybe None."""
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        child.kill()

    timer = threading.Timer(MATCHING_SECONDS, stop)
    timer.daemon = True
    try:
        reply = child.ask(request)
        while reply is MATCHING:  # once more after an index that turned out to be broken
            if not timer.is_alive():
                timer.start()
            reply = child.receive()
    except WorkerLost:
        return (TOO_SLOW.format(MATCHING_SECONDS) if expired.is_set() else None), True
    finally:
        timer.cancel()
    return reply, expired.is_set()


class Searcher:
    """Searches, with an index that stays open while no file changes."""

    def __init__(self) -> None:
        self._index: RefreshResult | None = None
        self._states: dict[str, FileState] | None = None
        """The states of all files that the index has; None if it is behind."""

    def search(self, request: SearchRequest, matching: Callable[[], None]) -> SearchReply:
        """Answer a request; `matching` is called when texts are about to be matched with a regular expression."""

        def prepare(files: FileSet, /, *, least: int = LEAST) -> RefreshResult:
            index = self._refresh(files, request.most, least)
            if request.regex:
                matching()
            return index

        found = find(
            request.query,
            request.filters,
            order=NEWEST if request.newest else RELEVANCE,
            start=request.start,
            limit=request.limit,
            files=request.files,
            keys=request.keys,
            regex=request.regex,
            fixed=request.fixed,
            strict=request.strict,
            refresh=prepare,
        )
        hits = list(found)
        index = self._index
        is_behind = index is not None and index.state == BEHIND
        pending = pending_bytes(index.reader, request.files) if index is not None and is_behind else 0
        facets = found.facets if request.facets else {}
        counts = (found.total, found.with_all, found.with_some)
        return SearchReply(hits, *counts, found.words, facets, found.note, is_behind, pending, found.corrected)

    def _refresh(self, files: FileSet, most: int | None, least: int) -> RefreshResult:
        index = self._index
        is_enough = index is not None and (least > 0 or index.state == CURRENT)
        if index is not None and is_enough and self._states == files.states and self._is_intact(files.name):
            return index
        bring_up = refresh_waiting() if most is None else partial(refresh, most=most)
        index = self._index = bring_up(files, least=least)
        self._states = files.states if index.state in (CURRENT, NEARLY) else None
        return index

    def _is_intact(self, name: str) -> bool:
        """True if the files of the index are as they were; False if it is gone. Raise BrokenIndex if one is damaged.

        A short file that is cut reads as zeros to its old end, or to that of the page: this ends no process.
        """
        try:
            damaged = damaged_file(index_folder(name))
        except OSError:
            return False
        if damaged is None:
            return True
        self._index = None
        raise BrokenIndex(f"{damaged} is not as it was written")


def answer_searches(requests: Iterator[SearchRequest], say: Say) -> None:
    """Answer requests, each with a reply or with what is wrong with the query."""
    searcher = Searcher()
    for request in requests:
        try:
            say(searcher.search(request, lambda: say(MATCHING)))
        except Misuse as error:
            say(str(error))
