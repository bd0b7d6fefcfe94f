"""Rank the sessions that a question is about, and the best texts of each.

People remember a few words, not the words. So each session has one score, of four parts: its best text, with what texts
near it add; how many identifiers, paths or flags a text writes with their very signs; and, a bit less each, how good
the session is as one long text, and the share of the words that are near each other. In all of them rare words weigh
more than common ones.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from reread.disk.agent_files import session_file
from reread.index.compile import IndexScope
from reread.index.document import INPUT, KINDS, NOTICE, PROMPT, REQUEST, RESULT, TEXT, THINKING, TITLE
from reread.index.document_reader import DocumentReader, FoundDocument
from reread.index.matching import has_leaf, is_confirmed
from reread.index.query import Exact, Node, Or, Words
from reread.index.regex import PLAIN
from reread.index.store import TAIL_BIT, DocumentLocation, file_id

ALL, MOST, ANY = "all", "most", "any"
"""How many of the words a session has near each other."""
WEIGHTS = {TITLE: 2.0, PROMPT: 1.6, TEXT: 1.2, THINKING: 1.0, INPUT: 1.0, RESULT: 0.8, NOTICE: 0.6, REQUEST: 0.4}
"""How much a match counts by its kind."""
HALF_LIFE_DAYS = 60.0
CANDIDATES = 200
"""How many of the best texts are ranked again by recency and kind."""
MOST_SIGNED, MOST_DECODED, ENOUGH_SIGNED = 300, 60, 20
"""How many of the best texts with the words of an identifier, a path or a flag are read to see its signs: the first if
the bytes of a record tell that it lacks them, else the second; fewer if as many as the third have them."""
EXAMINED = 40
"""How many of the best sessions are searched for words near each other, and for texts to show."""
PER_SESSION = 3
"""How many texts of a session come before those of the next."""
NEAR_LINES = 12
"""Texts at most so many lines apart are near each other: about a short turn."""
LESS = 0.7
"""How much the whole session, and the words that are near each other, count beside the best text."""
SATURATION, LENGTH_WEIGHT = 1.2, 0.9
"""The constants of BM25 for sessions: how soon more texts with a word count no more, and how much length counts."""
SHORT = 4 << 10
"""The size up to which sessions count as equally long, in bytes."""


class MatchingText(NamedTuple):
    """A text that matches: its place in the index, or the text itself if it was read."""

    session: str
    """The path of the session's main file."""
    score: float
    has_all: bool
    """True if it has all words that count."""
    text: DocumentLocation | FoundDocument
    signs: int = 0
    """How many of the words with signs it has as they stand."""

    @property
    def kind(self) -> str:
        """The kind of its text."""
        return KINDS[self.text.kind] if isinstance(self.text, DocumentLocation) else self.text.document.kind

    @property
    def position(self) -> tuple[int, ...]:
        """The order of equal matches, the newest first; the engine's depends on when they were indexed."""
        if isinstance(self.text, DocumentLocation):
            return location_order(self.text)
        return -self.text.time_ms, file_id(self.text.path), self.text.offset, 0

    @property
    def copy_key(self) -> tuple[object, ...]:
        """A value that copies of a text in forks and resumed sessions share: their records keep the time."""
        return self.text.time_ms, self.kind, round(self.score, 3)


@dataclass
class SessionScore:
    """How well a session matches."""

    whole: float = 0.0
    """As one long text."""
    best: float = 0.0
    """By its best text, with what those near it add."""
    together: float = 0.0
    """The share of the words that are near each other, by their weights."""
    signs: int = 0
    """How many words with signs a text has as they stand."""
    total: float = 0.0


class RankedText(NamedTuple):
    """A text in the order of an answer."""

    text: DocumentLocation | FoundDocument
    stage: str = ALL
    """How many of the words its session has near each other: all, most or any."""
    score: float = 0.0
    copies: int = 0
    """How many other sessions have the same text."""


class Ranking(NamedTuple):
    """The answer to a question."""

    texts: Iterator[RankedText]
    total: int
    """How many texts have all words; if none has, how many have one."""
    with_all: int
    """How many sessions have all words near each other."""
    with_some: int
    """How many other sessions have one of them or more."""


def location_order(place: DocumentLocation) -> tuple[int, ...]:
    """Return what orders documents of the index, the newest first."""
    return -place.time_ms, place.file & ~TAIL_BIT, place.offset, place.place


def _sign_literals(text: str) -> list[bytes]:
    """Return the signs of a word that stand together, as every record that has them writes them."""
    return [run.encode() for run in re.findall(r"[^\w\s]{2,}", text) if PLAIN.issuperset(run)]


def _weight_in(leaf: Node, one: FoundDocument) -> float:
    """Return how much a word counts in a text that has it, or another word for the same thing."""
    others = leaf.nodes if isinstance(leaf, Or) else ()
    return max(
        (word.weight for word in others if isinstance(word, Words) and has_leaf(word, one.document)), default=1.0
    )


class Ranker:
    """Ranks what has some words: texts of the index, and texts that were read."""

    def __init__(
        self,
        scope: IndexScope | None,
        leaves: Sequence[Node],
        read: Sequence[FoundDocument] = (),
        *,
        signs: Sequence[Exact] = (),
        strict: bool = False,
    ) -> None:
        """Rank texts with these words, those first that also have the `signs`; if strict, only texts with all words."""
        self._scope, self._leaves, self._read, self._signs, self._strict = scope, leaves, read, signs, strict
        self._now_ms = time.time() * 1000
        self._session_of: dict[str, str] = {}
        self._contents: dict[tuple[int, ...], tuple[str, str] | None] = {}
        self._documents: DocumentReader | None = None
        self._all = range(len(leaves))
        """The numbers of the words."""
        self._found = [{n for n, leaf in enumerate(leaves) if is_confirmed(leaf, one.document)} for one in read]
        """The words of each text that was read."""
        self._counts = {n: self._count([n]) for n in self._all}
        """For each word, how many texts of each session have it."""
        self._weights = self._word_weights()

    def rank(self) -> Ranking:
        """Return the texts in order."""
        has_all = self._count(self._all)
        candidates = self._candidates()
        sessions = self._whole_scores()
        for session, group in candidates.items():
            sessions.setdefault(session, SessionScore()).best = max(one.score for one in group)
            sessions[session].signs = max(one.signs for one in group)
        if self._strict:
            sessions = {session: score for session, score in sessions.items() if session in has_all}
        for session, score in sessions.items():
            score.together = 1.0 if session in has_all else 0.0
        examined = self._ordered(sessions)[:EXAMINED]
        self._look_near(examined, sessions)
        order = self._ordered(sessions)
        near = {session for session, score in sessions.items() if score.together == 1.0}
        stages = {session: ALL if session in near else self._stage(session) for session in order}
        self._add_missing(order[:EXAMINED], candidates)
        texts, copies = self._without_copies(order, candidates)
        repeating = {session for session in order if candidates.get(session) and not texts[session]}
        total = sum(has_all.values()) - sum(one.has_all for one in copies.values()) or self._count_any() - len(copies)
        with_all = len(near - repeating)
        ordered = self._in_order(order, texts, copies, sessions, stages)
        return Ranking(ordered, total, with_all, len(order) - len(repeating) - with_all)

    def _ordered(self, sessions: dict[str, SessionScore]) -> list[str]:
        """Return the sessions, the best first, with the score of each."""
        most = max((one.whole for one in sessions.values()), default=0.0) or 1.0
        highest = max((one.best for one in sessions.values()), default=0.0) or 1.0
        for one in sessions.values():
            signs = one.signs / max(1, len(self._signs))
            one.total = one.best / highest + signs + LESS * (one.whole / most + one.together)
        return sorted(sessions, key=lambda session: (-sessions[session].total, session))

    def _session(self, path: str) -> str:
        """Return the path of the session that a file belongs to."""
        session = self._session_of.get(path)
        if session is None:
            session = self._session_of[path] = session_file(path)
        return session

    def _count(self, numbers: Sequence[int]) -> dict[str, int]:
        """Return how many texts of each session have all of some words."""
        counts: dict[str, int] = defaultdict(int)
        if self._scope is not None:
            query = self._scope.every([self._leaves[n] for n in numbers])
            for path, count in self._scope.count_by_file(query).items():
                counts[self._session(path)] += count
        for one, found in zip(self._read, self._found, strict=True):
            counts[self._session(one.path)] += found.issuperset(numbers)
        return {session: count for session, count in counts.items() if count}

    def _count_any(self) -> int:
        query = self._any() if self._scope is not None else None
        indexed = self._scope.reader.search(query, 1).count if self._scope is not None else 0
        return indexed + sum(map(bool, self._found))

    def _word_weights(self) -> dict[int, float]:
        """Return how much each word that counts weighs: the fewer sessions have it, the more."""
        known = self._scope.reader.cursors if self._scope is not None else ()
        sessions = len({self._session(path) for path in chain(known, (one.path for one in self._read))})
        having = ((n, len(counts)) for n, counts in self._counts.items())
        return {n: math.log(1 + (sessions - count + 0.5) / (count + 0.5)) for n, count in having}

    def _any(self, sessions: Iterable[str] | None = None) -> Any:
        assert self._scope is not None
        return self._scope.some(self._leaves, None if sessions is None else self._files(sessions))

    def _files(self, sessions: Iterable[str]) -> list[str]:
        """Return the files of some sessions that the index has."""
        assert self._scope is not None
        chosen = set(sessions)
        return [path for path in self._scope.reader.cursors if self._session(path) in chosen]

    def _candidates(self) -> dict[str, list[MatchingText]]:
        """Return the best texts of sessions, the best first."""
        found: dict[tuple[int, ...], MatchingText] = {}
        if self._scope is not None:
            every = self._scope.every(self._leaves)
            some = () if self._strict else self._best(self._any())
            for one in chain(self._signed(), self._best(every, has_all=True), some):
                found.setdefault(one.position, one)
        for one, words in zip(self._read, self._found, strict=True):
            if words.issuperset(self._all) or (words and not self._strict):
                candidate = self._read_candidate(one, words)
                found[candidate.position] = candidate
        groups: dict[str, list[MatchingText]] = defaultdict(list)
        for one in sorted(found.values(), key=lambda one: (-one.signs, not one.has_all, -one.score, *one.position)):
            groups[one.session].append(one)
        return groups

    def _signed(self) -> Iterator[MatchingText]:
        """Yield the texts that have words with their signs: the index knows only the words, so they are read."""
        assert self._scope is not None
        seen: set[tuple[int, ...]] = set()
        needed = self._leaves if self._strict else ()  # fields stand among the words there
        for one in self._signs:
            count, literals = 0, _sign_literals(one.text)
            most = MOST_SIGNED if literals else MOST_DECODED
            for text in self._best(self._scope.every([one, *needed]), count=most):
                found = self._document(text, literals) if text.position not in seen else None
                signs = self._count_signs(found)
                if found is None or not signs:
                    continue
                seen.add(text.position)
                has_all = all(is_confirmed(leaf, found.document) for leaf in self._leaves)
                if has_all or not self._strict:
                    yield text._replace(has_all=has_all, signs=signs)
                count += 1
                if count == ENOUGH_SIGNED:
                    break

    def _count_signs(self, found: FoundDocument | None) -> int:
        return 0 if found is None else sum(has_leaf(one, found.document) for one in self._signs)

    def _best(self, query: Any, *, has_all: bool = False, count: int = CANDIDATES) -> Iterator[MatchingText]:
        """Yield the best texts that the index finds, ranked by kind and age too."""
        assert self._scope is not None
        reader = self._scope.reader
        hits = reader.search(query, count).hits
        for (score, _), place in zip(hits, reader.places([address for _, address in hits]), strict=True):
            path = reader.path_of(place.file)
            if path is not None:
                weight = self._text_weight(KINDS[place.kind], place.time_ms)
                yield MatchingText(self._session(path), score * weight, has_all, place)

    def _read_candidate(self, one: FoundDocument, words: set[int]) -> MatchingText:
        score = sum(self._read_score(one, n) for n in words) or 1.0
        return MatchingText(self._session(one.path), score, words.issuperset(self._all), one, self._count_signs(one))

    def _read_score(self, one: FoundDocument, n: int) -> float:
        weight = self._weights[n] * _weight_in(self._leaves[n], one) * self._text_weight(one.document.kind, one.time_ms)
        return (SATURATION + 1) / 2 * weight

    def _text_weight(self, kind: str, time_ms: int) -> float:
        """Return how much a match counts by its kind and age: half if it is very old."""
        days = max(0.0, self._now_ms - time_ms) / 86_400_000
        return WEIGHTS[kind] * (0.5 + 0.5 * 0.5 ** (days / HALF_LIFE_DAYS))

    def _whole_scores(self) -> dict[str, SessionScore]:
        """Return how good each session is as one long text."""
        found: dict[str, SessionScore] = defaultdict(SessionScore)
        lengths = self._lengths()
        average = sum(lengths.values()) / max(1, len(lengths)) or 1.0
        for n, counts in self._counts.items():
            for session, count in counts.items():
                norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths.get(session, average) / average)
                found[session].whole += self._weights[n] * count * (SATURATION + 1) / (count + norm)
        return found

    def _lengths(self) -> dict[str, int]:
        """Return the size of each session in the index; short ones count as equally long."""
        lengths: dict[str, int] = defaultdict(int)
        if self._scope is not None:
            for path, cursor in self._scope.reader.cursors.items():
                lengths[self._session(path)] += cursor.offset
        return {session: max(length, SHORT) for session, length in lengths.items()}

    def _look_near(self, sessions: Sequence[str], scores: dict[str, SessionScore]) -> None:
        """Look at the best texts of some sessions with those near them, and improve the scores of the sessions."""
        lines: dict[str, dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        for path, line, n, score in self._scored_lines(sessions):
            known = lines[path][line]
            known[n] = max(score, known.get(n, 0.0))
        every = sum(self._weights.values()) or 1.0
        for path, by_line in lines.items():
            session = scores[self._session(path)]
            for value, words in self._with_near(by_line):
                session.best = max(session.best, value)
                is_all = len(words) == len(self._leaves)
                share = 1.0 if is_all else sum(self._weights[n] for n in words) / every
                session.together = max(session.together, share)

    def _scored_lines(self, sessions: Sequence[str]) -> Iterator[tuple[str, int, int, float]]:
        """Yield the texts of some sessions: file, line, the number of a word that it has, and how well it does."""
        chosen = set(sessions)
        for one, words in zip(self._read, self._found, strict=True):
            if self._session(one.path) in chosen:
                yield from ((one.path, one.line, n, self._read_score(one, n)) for n in words)
        if self._scope is None:
            return
        files = self._files(chosen)
        for n, leaf in enumerate(self._leaves):
            for one in self._best(self._scope.every([leaf], files)):
                assert isinstance(one.text, DocumentLocation)
                yield self._scope.reader.path_of(one.text.file) or "", one.text.line, n, one.score

    @staticmethod
    def _with_near(by_line: Mapping[int, Mapping[int, float]]) -> Iterator[tuple[float, Collection[int]]]:
        """Yield how good each text of a file is together with the texts near it, and the words that they have.

        A word of a near text counts less with each line between.
        """
        order = sorted(by_line)
        first = 0
        for line in order:
            while order[first] < line - NEAR_LINES:
                first += 1
            best = dict[int, float]()
            for other in islice(order, first, bisect_right(order, line + NEAR_LINES)):
                for n, score in by_line[other].items():
                    best[n] = max(score / (1 + abs(other - line)), best.get(n, 0.0))
            yield sum(best.values()), best.keys()

    def _in_order(
        self,
        order: Sequence[str],
        texts: dict[str, list[tuple[MatchingText, int]]],
        copies: dict[tuple[int, ...], MatchingText],
        scores: dict[str, SessionScore],
        stages: dict[str, str],
    ) -> Iterator[RankedText]:
        """Yield the best texts of each session, then the other ones of all."""
        firsts = (one for session in order for one in texts[session][:PER_SESSION])
        rests = (one for session in order for one in texts[session][PER_SESSION:])
        known = {*copies, *(one.position for one, _ in chain(*texts.values()))}
        others = ((one, 0) for one in self._others(known) if one.session in stages)
        for one, count in chain(firsts, rests, others):
            yield RankedText(one.text, stages[one.session], round(scores[one.session].total, 4), count)

    def _without_copies(
        self, order: Sequence[str], candidates: dict[str, list[MatchingText]]
    ) -> tuple[dict[str, list[tuple[MatchingText, int]]], dict[tuple[int, ...], MatchingText]]:
        """Return the texts of each session with how many other sessions repeat each, and the copies by place."""
        alike: dict[tuple[object, ...], list[MatchingText]] = defaultdict(list)
        for one in chain.from_iterable(candidates.values()):
            alike[one.copy_key].append(one)
        texts: dict[str, list[tuple[MatchingText, int]]] = {session: [] for session in order}
        seen: dict[tuple[int, ...], MatchingText] = {}
        for one in chain.from_iterable(candidates.get(session, []) for session in order):
            if one.position not in seen:
                copies = self._copies(one, alike[one.copy_key])
                seen.update((copy.position, copy) for copy in copies)
                texts[one.session].append((one, len({copy.session for copy in copies})))
        return texts, seen

    def _copies(self, one: MatchingText, alike: Sequence[MatchingText]) -> list[MatchingText]:
        """Return the texts of other sessions that are the same: forks and resumed sessions repeat records."""
        others = [other for other in alike if other.session != one.session]
        content = self._content(one) if others else None
        return [other for other in others if content is not None and self._content(other) == content]

    def _content(self, one: MatchingText) -> tuple[str, str] | None:
        """Return what makes a text the same wherever it stands: its record's uuid, and what it says."""
        if one.position not in self._contents:
            found = self._document(one)
            known = (found.uuid, found.document.text) if found is not None and found.uuid else None
            self._contents[one.position] = known
        return self._contents[one.position]

    def _document(self, one: MatchingText, literals: Sequence[bytes] = ()) -> FoundDocument | None:
        if not isinstance(one.text, DocumentLocation):
            return one.text
        self._documents = self._documents or (DocumentReader(self._scope.reader) if self._scope else None)
        return next(self._documents.documents([one.text], literals), None) if self._documents else None

    def _stage(self, session: str) -> str:
        has = sum(self._weights[n] for n in self._all if session in self._counts[n])
        return MOST if 2 * has > sum(self._weights.values()) else ANY

    def _add_missing(self, sessions: Sequence[str], candidates: dict[str, list[MatchingText]]) -> None:
        """Find texts of good sessions whose words are in many texts, none of which is among the best of all."""
        missing = [session for session in sessions if session not in candidates]
        if missing and self._scope is not None:
            for one in self._best(self._any(missing)):
                candidates[one.session].append(one)

    def _others(self, known: set[tuple[int, ...]]) -> Iterator[MatchingText]:
        """Yield what is not known to be among the best, for whoever reads on."""
        if self._scope is None:
            return
        every = self._scope.every(self._leaves)
        for query in (every,) if self._strict else (every, self._any()):
            for one in self._best(query, has_all=query is every, count=self._scope.reader.searcher.num_docs):
                if one.position not in known:
                    known.add(one.position)
                    yield one
