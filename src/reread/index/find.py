"""Search all sessions: from the index if there is one, else by reading the files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from heapq import merge
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reread.base.times import TimeLike, parse_period_ms
from reread.disk.file_set import FileSet, find_files
from reread.errors import Misuse
from reread.index import update
from reread.index.compile import compile_query
from reread.index.matching import Snippet, best_span, composed, cut, snippet, wanted
from reread.index.query import And, Errors, InProject, InSession, Node, Not, Or, Period, named, parse_kinds, parse_query
from reread.index.regex import compile_pattern, required_literals, required_words
from reread.index.store import TAIL_BIT, BrokenIndex, Cursor, IndexReader, UnitPlace, drop_index, file_id, is_available
from reread.index.unit import INPUT, KINDS, NOTICE, PROMPT, RESULT, TEXT, THINKING, TITLE

if TYPE_CHECKING:
    from reread.index.hits import Hit
    from reread.index.unit_reader import FoundUnit

RELEVANCE, NEWEST = "relevance", "newest"
CANDIDATES = 200
"""How many of the best matches are ranked again by recency and kind."""
WEIGHTS = {TITLE: 2.0, PROMPT: 1.6, TEXT: 1.2, THINKING: 1.0, INPUT: 1.0, RESULT: 0.8, NOTICE: 0.6}
"""How much a match counts by its kind."""
HALF_LIFE_DAYS = 60.0
MOST_VERIFIED, BATCH = 4000, 500
"""How many texts that may match a regular expression are read, newest first, if enough of them do; and at once."""
WAIT_SECONDS = 30.0
"""How long a search waits for another process that updates the index."""
NO_ENGINE = "There is no search engine for this platform, so the files were searched."
NOTES = {
    update.BEHIND: "Another process is updating the index; the newest texts may be missing.",
    update.UNWRITABLE: "The search index cannot be written, so files that are not in it were searched one by one.",
}
"""What limits an answer, by the state of the index."""


class Hits(Iterator["Hit"]):
    """The hits of a search; each is read from its session when it is taken."""

    def __init__(self, hits: Iterator[Hit], total: int, note: str = "") -> None:
        self.total = total
        """How many texts match."""
        self.note = note
        """What limits the answer, in words; empty if nothing does."""
        self._hits = hits

    def __next__(self) -> Hit:
        return next(self._hits)


def search(
    query: str,
    *,
    project: str | Path | Sequence[str | Path] | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    kinds: str | Sequence[str] | None = None,
    tools: str | Sequence[str] | None = None,
    errors: bool = False,
    model: str | None = None,
    branch: str | None = None,
    path: str | None = None,
    order: str = RELEVANCE,
    limit: int | None = 100,
    regex: bool = False,
    without: str | Sequence[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: update.Progress | None = None,
) -> Hits:
    """Search everything that is said in all sessions, and iterate over the places where the query matches.

    A query has words, "exact phrases", prefixes (`handl*`), AND, OR, -not, parentheses and fields such as
    `tool:bash`, `is:error` or `before:tuesday`. `kinds` are prompts, text, thinking, inputs, results, notices and
    titles. `order` is relevance or newest. With `regex`, the query is a regular expression. Sessions whose ids
    begin as `without` says are left out. The result has the `total` number of matches, and a `note` if something limits
    the answer. `progress` is called with the number of bytes that were read to bring the index up to date.
    """
    filters: list[Node] = []
    if project:
        filters.append(InProject(tuple(map(str, [project] if isinstance(project, str | Path) else project))))
    if since is not None or until is not None:
        filters.append(Period(*parse_period_ms(since, until, None)))
    if kinds:
        filters.append(parse_kinds(",".join(_list(kinds))))
    if tools:
        filters.append(_any([named("tool")(name) for name in _list(tools)]))
    if errors:
        filters.append(Errors())
    filters += [named(field)(text) for field, text in (("model", model), ("branch", branch), ("path", path)) if text]
    filters += [Not(InSession(id.lower())) for id in _list(without or ()) if id]
    if query.strip() and not regex and not filters and parse_query(query) == And(()):
        raise Misuse(f"No words in {query!r}; search for signs with a regular expression.")
    roots = [root] if isinstance(root, str | Path) else root
    return find(query, filters, order=order, limit=limit, regex=regex, roots=roots, progress=progress)


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
    roots: Sequence[str | Path] | None = None,
    files: FileSet | None = None,
    keys: Mapping[str, str] | None = None,
    refresh: Callable[[FileSet], update.Refreshed] | None = None,
    progress: update.Progress | None = None,
) -> Hits:
    """Search some sessions, those below `roots` or some files; the index is brought up to date first, by `refresh`.

    An index that turns out to be broken is dropped, and built anew.
    """
    options = (order, limit, start, regex, files or find_files(roots), keys, refresh or _refresh(progress))
    try:
        return _find(query, filters, *options)
    except BrokenIndex:
        drop_index()
        return _find(query, filters, *options)


def _find(
    query: str,
    filters: Sequence[Node],
    order: str,
    limit: int | None,
    start: int,
    regex: bool,
    files: FileSet,
    keys: Mapping[str, str] | None,
    refresh: Callable[[FileSet], update.Refreshed],
) -> Hits:
    if order not in (RELEVANCE, NEWEST):
        raise Misuse(f"Unknown order {order!r}; use {RELEVANCE} or {NEWEST}.")
    pattern = compile_pattern(query) if regex else None
    tree = required_words(query) if regex else parse_query(query)
    node = And((tree, *filters))
    reader, state = refresh(files)
    mark = _marker(tree, pattern)
    rest = update.unindexed(reader, files) if reader is None or state in (update.NEARLY, update.UNWRITABLE) else {}
    compiled = compile_query(node, reader, files, rest) if reader is not None else None
    scanned = _scan(node, rest, files, pattern) if rest else []  # moves the cursors of the rest
    if reader is None:
        return Hits(_hits(keys, islice(scanned, start, None), mark, limit), len(scanned), _note(state, files))
    wanted_count = None if limit is None else start + limit
    note = _note(state, files)
    if pattern is not None:
        _, places = ranked_places(reader, compiled, NEWEST, None)
        verified, more = _verify(reader, places, pattern, wanted_count)
        total, units, note = len(verified), iter(verified), " ".join(filter(None, [more, note]))
    else:
        total, places = ranked_places(reader, compiled, order, wanted_count)
        units = _units(reader, places)
    found = merge(scanned, units, key=_recency) if pattern is not None or order == NEWEST else chain(scanned, units)
    return Hits(_hits(keys, islice(found, start, None), mark, limit), len(scanned) + total, note)


def _recency(found: FoundUnit) -> tuple[int, ...]:
    return -found.time_ms, file_id(found.path), found.offset


def _scan(node: Node, rest: Mapping[str, Cursor], files: FileSet, pattern: re.Pattern[str] | None) -> list[FoundUnit]:
    """Return the units that match in files that the index does not have as they are, the newest first."""
    from reread.index.scan import scan

    return sorted(scan(node, rest, files.failures, pattern), key=_recency)


def _units(reader: IndexReader, places: Sequence[UnitPlace]) -> Iterator[FoundUnit]:
    """Yield the units at some places; what reads them is imported if there are any."""
    if places:
        from reread.index.unit_reader import UnitReader

        yield from UnitReader(reader).units(places)


def _verify(
    reader: IndexReader, places: Sequence[UnitPlace], pattern: re.Pattern[str], enough: int | None
) -> tuple[list[FoundUnit], str]:
    """Return the units that match a pattern; and, if there are enough and many more that may, a note that says so."""
    from reread.index.unit_reader import UnitReader

    verified: list[FoundUnit] = []
    units = UnitReader(reader)
    literals = required_literals(pattern)
    for first in range(0, len(places), BATCH):
        found = units.units(places[first : first + BATCH], literals)
        verified += [one for one in found if pattern.search(one.unit.text)]
        rest = len(places) - first - BATCH
        if enough is not None and len(verified) >= enough and first + BATCH >= MOST_VERIFIED and rest > 0:
            return verified, f"At least {len(verified):,} texts match; {rest:,} older ones may, too."
    return verified, ""


def _note(state: str, files: FileSet) -> str:
    """Say what limits an answer."""
    note = NOTES.get(state, "") if is_available() else NO_ENGINE
    return " ".join(filter(None, [note, *files.failures]))


def _refresh(progress: update.Progress | None) -> Callable[[FileSet], update.Refreshed]:
    return lambda files: update.refresh(files, wait=WAIT_SECONDS, progress=progress, least=update.LEAST)


Mark = Callable[["FoundUnit"], Snippet]


def _marker(tree: Node, pattern: re.Pattern[str] | None) -> Mark:
    """Return a function that finds the match in a unit."""
    leaves = list(wanted(tree))

    def mark(found: FoundUnit) -> Snippet:
        if pattern is None:
            return snippet(found.unit.text, leaves)
        text = composed(found.unit.text)
        span = best_span(text, [pattern])
        return cut(text, *span) if span is not None else Snippet(text[:160], "", "")

    return mark


def ranked_places(reader: IndexReader, query: Any, order: str, count: int | None) -> tuple[int, list[UnitPlace]]:
    """Return how many units match, and the places of the best or newest."""
    if order == NEWEST:
        wanted_count = (count + CANDIDATES) if count is not None else reader.searcher.num_docs
        found = reader.search(query, wanted_count, order_by_field="time")
        return found.count, sorted(reader.places([address for _, address in found.hits]), key=_position)
    wanted_count = max(CANDIDATES, count if count is not None else reader.searcher.num_docs)
    found = reader.search(query, wanted_count)
    places = reader.places([address for _, address in found.hits])
    now = time.time() * 1000
    scored = [(-score * _weight(place, now), place) for (score, _), place in zip(found.hits, places, strict=True)]
    scored.sort(key=lambda pair: (pair[0], *_position(pair[1])))
    return found.count, [place for _, place in scored]


def _position(place: UnitPlace) -> tuple[int, ...]:
    """Return what orders equal matches, the newest first; the engine's order depends on when they were indexed."""
    return -place.time_ms, place.file & ~TAIL_BIT, place.offset, place.place


def _weight(place: UnitPlace, now_ms: float) -> float:
    """Return how much a match counts by its kind and age."""
    days = max(0.0, now_ms - place.time_ms) / 86_400_000
    return WEIGHTS[KINDS[place.kind]] * (0.5 + 0.5 * 0.5 ** (days / HALF_LIFE_DAYS))


def _hits(keys: Mapping[str, str] | None, units: Iterator[FoundUnit], mark: Mark, limit: int | None) -> Iterator[Hit]:
    """Make hits of units, each place once: a record may have been written several times."""
    first = next(units, None)
    if first is None:
        return
    from reread.index.hits import HitBuilder  # not needed if nothing matches

    seen: set[tuple[object, ...]] = set()
    with closing(HitBuilder(keys)) as builder:
        for found in chain([first], units):
            if limit is not None and len(seen) >= limit:
                return
            hit = builder.hit(found, mark(found))
            if hit is None:
                continue
            identity = (hit.link, hit.kind, hit.before, hit.match, hit.after)
            if identity not in seen:
                seen.add(identity)
                yield hit
