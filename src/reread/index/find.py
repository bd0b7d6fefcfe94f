"""Search all sessions: from the index if there is one, else by reading the files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from reread.base.choices import SearchKind, SearchOrder
from reread.base.times import parse_period_ms, parse_time_zone
from reread.disk.file_set import FileSet, find_files
from reread.errors import Misuse
from reread.index import update
from reread.index.answer import NEWEST, RELEVANCE, Answer, Answering, SearchQuestion
from reread.index.compile import IndexScope
from reread.index.matching import is_confirmed
from reread.index.query import (
    Errors,
    InFiles,
    InProject,
    InSession,
    Node,
    Not,
    Or,
    Period,
    Words,
    named,
    parse_kinds,
    with_tags,
)
from reread.index.store import (
    BrokenIndex,
    Cursor,
    DocumentLocation,
    IndexReader,
    drop_index,
    has_older_index,
    is_available,
)

if TYPE_CHECKING:
    from reread.facts.scope import ScopeOptions
    from reread.index.document_reader import DocumentReader, FoundDocument
    from reread.index.hits import Hit
    from reread.index.matching import Snippet
    from reread.index.ranking import RankedText

WAIT_SECONDS = 30.0
"""How long a search waits for another process that updates the index."""
NO_ENGINE = "There is no search engine for this platform, so the files were searched."
NOTES = {
    update.UNWRITABLE: "The search index cannot be written, so files that are not in it were searched one by one.",
}
"""The limits of an answer, by the state of the index."""
REPLACED = "The search index of another version of reread was built anew."
DAMAGED = "The search index was damaged; it is built anew."
UNSEARCHED = "This answer is incomplete: {} of {} files are still being indexed and were not searched; try again later."


IN_INDEX = ("project", "since", "until", "tool", "model", "branch", "tag")
"""The options of a scope that texts or the names of their files tell; others are told by the facts of a session."""


class Refresh(Protocol):
    """Brings an index up to date with some files, if at least `least` bytes are new."""

    def __call__(self, files: FileSet, /, *, least: int = ...) -> update.RefreshResult:
        """Return the index."""
        ...


class Hits(Iterator["Hit"]):
    """The hits of a search; they are read from their sessions as they are taken, some at a time."""

    def __init__(self, hits: Iterator[Hit], answer: Answer, note: str = "", unsearched: int = 0) -> None:
        self.total: int = answer.total
        """How many texts match; if none has all words, how many have some."""
        self.with_all: int = answer.with_all
        """How many sessions have all words near each other."""
        self.with_some: int = answer.with_some
        """How many other sessions have some of the words."""
        self.words: list[str] = answer.words
        """The words that were searched for."""
        self.corrected: dict[str, str] = answer.corrected
        """For each word that no text has, what was searched for instead; empty if nothing was."""
        self.note: str = " ".join(filter(None, [_said(self.corrected), note]))
        """The limits of the answer, in words; empty if there are none."""
        self.unsearched = unsearched
        """How many files were not searched as they are now, since the index does not have them yet."""
        self._hits = hits
        self._facets = answer.facets

    def __next__(self) -> Hit:
        return next(self._hits)

    @cached_property
    def facets(self) -> dict[str, dict[str, int]]:
        """How many texts match in each project and month, of each kind and tool; of what is in the index."""
        return self._facets()


def search(
    query: str,
    *,
    kinds: SearchKind | Sequence[SearchKind] | None = None,
    errors: bool = False,
    path: str | None = None,
    order: SearchOrder = "relevance",
    limit: int | None = 100,
    regex: bool = False,
    fixed: bool = False,
    strict: bool = False,
    without: str | Sequence[str] | None = None,
    progress: update.Progress | None = None,
    **scope: Unpack[ScopeOptions],
) -> Hits:
    """Search everything that is said in all sessions, and iterate over the places where the query matches.

    A query has words, "exact characters", prefixes (`handl*`), AND, OR, -not, parentheses and fields such as
    `tool:bash`, `is:error` or `before:tuesday`. The sessions that match best come first: rare words near each
    other in a short text, best in a prompt or title. A word that occurs nowhere is replaced by the most similar one
    that does. With `strict`, or with
    AND, OR or parentheses, nothing is guessed: a text has to contain all words, except where OR offers a choice. A
    query of fields alone lists what they select, the newest first: sessions, if they are only about projects and times.
    `tag` and `tag:word` choose sessions by their tags. `kinds` are prompts, text, thinking, inputs, results, notices,
    titles and requests. `tool`, `errors`, `model`, `branch` and `path` are filters: calls of these tools, what failed,
    what a model wrote, a git branch, calls about a file. The other options of a scope (`person`, `machine`, `state`,
    `failed`) choose sessions. `order` is relevance or newest. With `regex`, the query is a regular expression; with
    `fixed`, exactly its characters are found. Sessions whose ids begin as `without` says are left out. The result has
    the `total` number of matches, and a `note` if something limits the answer, such as files that are `unsearched`
    because another process is still indexing them. `progress` is called with the number of bytes that were read to
    bring the index up to date.
    """
    filters = search_filters(kinds=kinds, errors=errors, path=path, without=without, **scope)
    root = scope.get("root")
    roots = [root] if isinstance(root, str | Path) else root
    return find(
        query,
        filters,
        order=order,
        limit=limit,
        regex=regex,
        fixed=fixed,
        strict=strict,
        roots=roots,
        progress=progress,
    )


def search_filters(
    *,
    kinds: str | Sequence[str] | None = None,
    errors: bool = False,
    path: str | None = None,
    without: str | Sequence[str] | None = None,
    **scope: Unpack[ScopeOptions],
) -> list[Node]:
    """Return what the options of `search` demand besides the query."""
    project, since, until, tool, model, branch, tag = (scope.get(name) for name in IN_INDEX)
    filters: list[Node] = []
    if project:
        filters.append(InProject(tuple(map(str, [project] if isinstance(project, str | Path) else project))))
    if since is not None or until is not None:
        filters.append(Period(*parse_period_ms(since, until, parse_time_zone(scope.get("tz")))))
    if kinds:
        filters.append(parse_kinds(",".join(_list(kinds))))
    if tool:
        filters.append(_any([named("tool")(name) for name in _list(tool)]))
    if tag:
        filters.append(with_tags(tag))
    if errors:
        filters.append(Errors())
    fields = (("model", model), ("branch", branch), ("path", path))
    filters += [named(field)(",".join(_list(text))) for field, text in fields if text]
    if any(value for name, value in scope.items() if name not in (*IN_INDEX, "tz", "root")):
        from reread.facts.chosen import chosen_sessions  # loaded late: other filters need no facts

        others: Any = {name: value for name, value in scope.items() if name not in IN_INDEX}
        filters.append(InFiles(frozenset(chosen_sessions(**others))))
    filters += [Not(InSession(id.lower())) for id in _list(without or ()) if id]
    return filters


def _list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _any(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))


def find(
    query: str,
    filters: Sequence[Node] = (),
    *,
    order: str = RELEVANCE,
    limit: int | None = None,
    start: int = 0,
    regex: bool = False,
    fixed: bool = False,
    strict: bool = False,
    roots: Sequence[str | Path] | None = None,
    files: FileSet | None = None,
    keys: Mapping[str, str] | None = None,
    refresh: Refresh | None = None,
    progress: update.Progress | None = None,
) -> Hits:
    """Search some sessions, those below `roots` or some files; the index is brought up to date first, by `refresh`.

    An index that turns out to be broken is dropped, and built anew.
    """
    if order not in (RELEVANCE, NEWEST):
        raise Misuse(f"Unknown order {order!r}; use {RELEVANCE} or {NEWEST}.")
    question = SearchQuestion.parse(query, filters, regex=regex, fixed=fixed, strict=strict)
    files = files or find_files(roots, prompts=True)
    options = (order, limit, start, files, keys, refresh or refresh_waiting(progress))
    try:
        return _find(question, *options)
    except BrokenIndex:
        drop_index(files.name)
        found = _find(question, *options)
        found.note = f"{DAMAGED} {found.note}".strip()
        return found


def _find(
    question: SearchQuestion,
    order: str,
    limit: int | None,
    start: int,
    files: FileSet,
    keys: Mapping[str, str] | None,
    refresh: Refresh,
) -> Hits:
    replaced = REPLACED if has_older_index() else ""
    start = min(start, sys.maxsize)
    limit = None if limit is None else min(limit, sys.maxsize - start)
    enough = None if limit is None else start + limit
    index = refresh(files)
    answer, asked, unsearched = _ask(question, order, enough, files, index)
    if index.state == update.NEARLY and (answer.corrected or answer.is_guess):
        # what is meant may be in the lines that the index lacks, and these are not compared with typos
        index = refresh(files, least=0)
        answer, asked, unsearched = _ask(question, order, enough, files, index)
    texts = islice(answer.texts, start, None)
    documents = _documents(index.reader, texts, answer.confirm)
    hits = _hits(keys, documents, asked.marker(), limit)
    few = [f"Few texts have “{word}”; many have “{other}”." for word, other in asked.offered.items()]
    note = " ".join(filter(None, [replaced, *few, answer.note, _note(index.state, files, unsearched)]))
    return Hits(hits, answer, note, unsearched)


def _ask(
    question: SearchQuestion, order: str, enough: int | None, files: FileSet, index: update.RefreshResult
) -> tuple[Answer, SearchQuestion, int]:
    """Return an answer from an index and the files that it lacks, the question of it, and how many files it lacks."""
    reader, state = index
    rest = update.unindexed(reader, files) if reader is None or state != update.CURRENT else {}
    unsearched = 0
    if reader is not None and state == update.BEHIND and update.pending_bytes(reader, files) > update.SCANNED:
        unsearched, rest = len(rest), {}
    scope = IndexScope(reader, files, rest, question.filters) if reader is not None else None
    changed = question.corrected(scope) if scope is not None else question
    scanned = _scan(question.joined(changed), rest, files) if rest else []  # moves the cursors of the rest
    changed = question.corrected(scope, scanned) if rest else changed
    if rest and state != update.NEARLY and changed.words != question.words:  # all words of the rest are to be known
        changed = question.corrected(scope, scanned, _count_words(question, update.unindexed(reader, files), files))
        scanned = _scan(question.joined(changed), update.unindexed(reader, files), files)
    question = changed
    return Answering(question, scope, scanned, order, enough).answer(), question, unsearched


def _scan(question: SearchQuestion, rest: Mapping[str, Cursor], files: FileSet) -> list[FoundDocument]:
    """Return the documents that match in files that the index does not have as they are."""
    from reread.index.file_pass import scan

    return list(scan(question.scanned, rest, files.failures, question.pattern))


def _count_words(question: SearchQuestion, rest: Mapping[str, Cursor], files: FileSet) -> Counter[str]:
    """Return how many documents have each word, in files that the index does not have as they are.

    Words that together spell one of the question count as a phrase, too.
    """
    from reread.index.file_pass import units_after
    from reread.index.spelling import all_words

    asked = {word for node in question.words if isinstance(node, Words) for word in node.words}
    counted: Counter[str] = Counter()
    for _, document, _, _ in units_after(rest, files.failures):
        counted.update(all_words(document, asked))
    return counted


def _documents(
    reader: IndexReader | None, texts: Iterator[RankedText], confirm: Node | None
) -> Iterator[tuple[FoundDocument, RankedText]]:
    """Yield the documents of an answer that match what is confirmed; what reads them is imported if there are any."""
    documents: DocumentReader | None = None
    for text in texts:
        if not isinstance(text.text, DocumentLocation):
            yield text.text, text
            continue
        if documents is None:
            from reread.index.document_reader import DocumentReader

            assert reader is not None
            documents = DocumentReader(reader)
        for found in documents.documents([text.text]):
            if confirm is None or is_confirmed(confirm, found.document):
                yield found, text


def _said(corrected: Mapping[str, str]) -> str:
    """Say what was searched for instead of words that no text has."""
    said = [
        f"No “{word}”; showing “{other}{'…' if other == word else ''}”." if other else f"No “{word}”."
        for word, other in corrected.items()
    ]
    return " ".join(said)


def _note(state: str, files: FileSet, unsearched: int) -> str:
    """Say what limits an answer."""
    note = NOTES.get(state, "") if is_available() else NO_ENGINE
    missing = UNSEARCHED.format(unsearched, len(files.states)) if unsearched else ""
    return " ".join(filter(None, [note, missing, *dict.fromkeys(files.failures)]))


def refresh_waiting(progress: update.Progress | None = None) -> Refresh:
    """Return a function that indexes all files, and waits for another process that does so."""

    def refresh(files: FileSet, /, *, least: int | None = None) -> update.RefreshResult:
        least = update.LEAST if least is None else least
        return update.refresh(files, wait=WAIT_SECONDS, progress=progress, least=least, scanned=update.SCANNED)

    return refresh


def _hits(
    keys: Mapping[str, str] | None,
    documents: Iterator[tuple[FoundDocument, RankedText]],
    mark: Callable[[FoundDocument], Snippet],
    limit: int | None,
) -> Iterator[Hit]:
    """Make hits of documents, each place once: a record may have been written several times."""
    first = next(documents, None)
    if first is None:
        return
    from reread.index.hits import HitBuilder  # not needed if nothing matches

    seen: set[tuple[object, ...]] = set()
    with closing(HitBuilder(keys)) as builder:
        for found, text in chain([first], documents):
            if limit is not None and len(seen) >= limit:
                return
            hit = builder.hit(found, mark(found), text)
            if hit is None:
                continue
            identity = (hit.link, hit.kind, hit.before, hit.match, hit.after)
            if identity not in seen:
                seen.add(identity)
                yield hit
