"""Answer a question: which texts match, in which order, and what there is of them in all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reread.disk.agent_files import session_file
from reread.disk.projects import guess_project
from reread.errors import Misuse
from reread.index.compile import IndexScope
from reread.index.document import KINDS, PROMPT
from reread.index.engine import tantivy
from reread.index.language import ENGLISH, question_words
from reread.index.matching import Snippet, best_span, composed, cut, is_confirmed, snippet, wanted
from reread.index.query import (
    And,
    Exact,
    InFiles,
    InProject,
    InSession,
    Kinds,
    Node,
    Not,
    Or,
    Period,
    Words,
    has_exact,
    is_plain,
    is_question_word,
    parse_query,
    signed_words,
)
from reread.index.ranking import ALL, ANY, PER_SESSION, RankedText, Ranker, location_order
from reread.index.regex import compile_pattern, required_literals, required_words
from reread.index.store import DocumentLocation, file_id
from reread.index.terms import accented_words, camel_words

if TYPE_CHECKING:
    from reread.index.document_reader import FoundDocument


class SearchQuestion(msgspec.Struct, frozen=True):
    """A query, taken apart."""

    words: tuple[Node, ...] = ()
    """The words to look for; a text may lack some unless the question is strict."""
    filters: tuple[Node, ...] = ()
    """The other conditions on every text."""
    signs: tuple[Exact, ...] = ()
    """The words with signs between or around them, as they stand: texts that have them so come first."""
    strict: bool = False
    pattern: re.Pattern[str] | None = None
    camel: dict[str, str] = {}
    """The words of camelCase identifiers, and the identifiers as written."""
    accented: dict[str, str] = {}
    """The words with accents, ligatures or other widths, by how the index writes them."""
    language: str = ENGLISH
    """The language of the question, whose forms of a word count as the word."""
    offered: dict[str, str] = {}
    """Words that few texts have, and others like them that many have."""
    changes: dict[str, str] = {}
    """Words that no text has, and what is looked for instead."""

    @classmethod
    def parse(
        cls,
        query: str,
        filters: Sequence[Node],
        *,
        regex: bool = False,
        fixed: bool = False,
        strict: bool = False,
    ) -> SearchQuestion:
        """Return the question of a query; with `regex` or `fixed` that of a pattern.

        Words of a question weigh nothing, unless there are no others. Each counts once, however often it is said. Raise
        Misuse if the query asks for nothing.
        """
        if regex or fixed:
            pattern = compile_pattern(re.escape(query) if fixed else query)
            return cls((), (required_words(pattern.pattern), *filters), strict=True, pattern=pattern)
        tree, signs = parse_query(query), signed_words(query)
        if query.strip() and tree == And(()) and not filters:
            raise Misuse(f"No words in {query!r}; search for signs with --match exact, or in quotes.")
        if strict or not is_plain(query):
            has_words = next(wanted(tree), None) is not None
            words, others = ((tree,), ()) if has_words else ((), (tree,))
            return cls(words, (*others, *filters), signs, strict=True)
        nodes = tree.nodes if isinstance(tree, And) else (tree,)
        asked = tuple(dict.fromkeys(node for node in nodes if isinstance(node, Words)))
        language, function_words = question_words(query)
        words = tuple(node for node in asked if not is_question_word(node, function_words)) or asked
        others = (node for node in nodes if not isinstance(node, Words))
        return cls(
            words,
            (*others, *filters),
            signs,
            camel=camel_words(query),
            accented=accented_words(query),
            language=language,
        )

    @property
    def has_exact(self) -> bool:
        """True if only a text itself tells whether it matches."""
        return any(map(has_exact, (*self.words, *self.filters)))

    @property
    def leaves(self) -> list[Words | Exact]:
        """All words and exact characters that are looked for; those of a question only if there are no others."""
        leaves = [leaf for node in (*self.words, *self.filters) for leaf in wanted(node)]
        return [leaf for leaf in leaves if not is_question_word(leaf)] or leaves

    @property
    def scanned(self) -> Node:
        """The condition on a text to be of use."""
        if self.strict:
            return And((*self.words, *self.filters))
        some = (Or(self.words),) if self.words and not self.has_exact else ()  # exact characters are enough
        return And((*some, *self.filters))

    def corrected(
        self, scope: IndexScope | None, read: Sequence[FoundDocument] = (), counted: Mapping[str, int] | None = None
    ) -> SearchQuestion:
        """Return the question with words that the texts of an index have, or documents that were read, or counted."""
        if self.strict or not self.words:
            return self
        from reread.index.spelling import Vocabulary, common_neighbours, corrected

        vocabulary = Vocabulary(scope, [one.document for one in read], counted)
        words, changed = corrected(self.words, vocabulary, camel=self.camel, language=self.language)
        asked = self.accented
        changes = {asked.get(word, word): asked.get(word, word) if to == word else to for word, to in changed.items()}
        return msgspec.structs.replace(
            self, words=tuple(words), changes=changes, offered=common_neighbours(self.words, vocabulary)
        )

    def joined(self, other: SearchQuestion) -> SearchQuestion:
        """Return a question for the words of both."""
        return msgspec.structs.replace(self, words=tuple(dict.fromkeys((*self.words, *other.words))))

    def marker(self) -> Callable[[FoundDocument], Snippet]:
        """Return a function that finds what is looked for in a document."""
        leaves, pattern = self.leaves, self.pattern

        def mark(found: FoundDocument) -> Snippet:
            if pattern is None:
                return snippet(found.document.text, leaves)
            text = composed(found.document.text)
            part = cut(text, *(best_span(text, [pattern]) or (0, 0)))
            marks = ((len(part.before), len(part.before) + len(part.match)),) if part.match else ()
            return msgspec.structs.replace(part, marks=marks)

        return mark


RELEVANCE, NEWEST = "relevance", "newest"
EXTRA = 200
"""How many more of the newest texts are asked for than are wanted: texts of the same time may be in any order."""
MOST_VERIFIED, BATCH = 4000, 500
"""How many texts that may match are read, newest first, if enough of them do; and how many at once."""
MOST_READ, MOST_READ_OF_WORDS = 300, 40
"""So many texts that may have exact characters are read before they are ranked; more as they are shown. Fewer if the
characters are words with spaces between them: texts that have the words in this order mostly have these, too."""
MOST_VALUES = 20
"""How many projects, months or tools are counted."""
FIRST_YEAR, LAST_YEAR = 1970, 2999
"""The years whose months are counted: any time can be claimed, and not every system knows the clock of other years."""


class Answer(NamedTuple):
    """The matches, in order."""

    texts: Iterator[RankedText]
    total: int = 0
    with_all: int = 0
    with_some: int = 0
    note: str = ""
    confirm: Node | None = None
    """The condition on each text once it is read; None if there is none."""
    words: list[str] = []
    corrected: dict[str, str] = {}
    facets: Callable[[], dict[str, dict[str, int]]] = dict
    is_guess: bool = False
    """True if nothing has all words, as far as the index knows."""


class Answering:
    """Answers a question from an index, and from documents of files that it does not have as they are."""

    def __init__(
        self,
        question: SearchQuestion,
        scope: IndexScope | None,
        scanned: Sequence[FoundDocument],
        order: str,
        enough: int | None,
    ) -> None:
        """Answer in an order; `enough` is how many texts are wanted, None for all."""
        self._question, self._scope, self._order, self._enough = question, scope, order, enough
        self._scanned = sorted(scanned, key=_recency)

    def answer(self) -> Answer:
        """Return what matches, in order."""
        question = self._question
        if question.changes and not question.words and not question.has_exact:
            return Answer(iter(()), corrected=question.changes)
        if question.pattern is not None or (question.has_exact and not question.leaves):
            answer = self._of_texts(*self._verified())
        elif not question.leaves:
            answer = self._of_sessions()
        elif self._order == NEWEST:
            answer = self._newest()
        else:
            answer = self._ranked()
        words = [leaf.text if isinstance(leaf, Exact) else " ".join(leaf.words) for leaf in question.leaves]
        return answer._replace(words=words, corrected=question.changes, facets=self._facets)

    def _ranked(self) -> Answer:
        question, note = self._question, ""
        scope, read = self._scope, self._scanned
        confirm = None
        if question.has_exact:
            confirm = self._needed()
            most = MOST_READ_OF_WORDS if all(map(_is_of_words, question.leaves)) else MOST_READ
            if scope is not None and scope.reader.search(scope.every(confirm.nodes), 1).count > most:
                note = "Texts are counted by their words; those that lack the exact characters are left out."
            else:
                read, note = self._verified()
                scope = confirm = None
        exact = [] if question.strict else [leaf for leaf in question.leaves if isinstance(leaf, Exact)]
        found = Ranker(scope, [*question.words, *exact], read, signs=question.signs, strict=question.strict).rank()
        is_guess = not found.with_all and not question.strict
        return Answer(found.texts, found.total, found.with_all, found.with_some, note, confirm, is_guess=is_guess)

    def _newest(self) -> Answer:
        """Return what has all words, the newest first; what has some of them if nothing has all."""
        question = self._question
        if question.has_exact:
            return self._of_texts(*self._verified())
        answer = self._by_time(question.words)
        if answer.total or question.strict or len(question.words) < 2:
            return answer
        return self._by_time((), ANY)._replace(is_guess=True)

    def _by_time(self, words: Sequence[Node], stage: str = ALL) -> Answer:
        """Return the newest texts that have all of some words, or, at another stage, one word of the question."""
        scope, every = self._scope, And(tuple(words))
        scanned = [one for one in self._scanned if is_confirmed(every, one.document)]
        texts: list[DocumentLocation | FoundDocument] = list(scanned)
        total = len(scanned)
        if scope is not None:
            count = self._enough + EXTRA if self._enough is not None else scope.reader.searcher.num_docs
            asked = self._question.words
            query = scope.every(words) if stage == ALL else scope.some(asked)
            found = scope.reader.search(query, count, order_by_field="time")
            texts += scope.reader.places([address for _, address in found.hits])
            total += found.count
        ordered = sorted(texts, key=_text_order)
        return Answer((RankedText(text, stage) for text in ordered), total)

    def _of_texts(self, read: Sequence[FoundDocument], note: str) -> Answer:
        return Answer((RankedText(one) for one in sorted(read, key=_recency)), len(read), note=note)

    def _needed(self) -> And:
        """Return what every text must match."""
        return And((*self._question.filters, *(self._question.words if self._question.strict else ())))

    def _verified(self) -> tuple[list[FoundDocument], str]:
        """Return the documents that really match; if there are enough and many more may, a note that says so."""
        question, verified = self._question, list(self._scanned)
        if self._scope is None:
            return verified, ""
        from reread.index.document_reader import DocumentReader

        reader = self._scope.reader
        wanted = self._needed()
        hits = reader.search(self._scope.every(wanted.nodes), reader.searcher.num_docs, order_by_field="time").hits
        places = sorted(reader.places([address for _, address in hits]), key=location_order)
        literals = required_literals(question.pattern) if question.pattern is not None else []
        documents = DocumentReader(reader)
        for first in range(0, len(places), BATCH):
            for one in documents.documents(places[first : first + BATCH], literals):
                text = one.document.text
                if (
                    question.pattern.search(text)
                    if question.pattern is not None
                    else is_confirmed(wanted, one.document)
                ):
                    verified.append(one)
            rest = len(places) - first - BATCH
            if (
                self._enough is not None
                and len(verified) >= self._enough
                and first + BATCH >= MOST_VERIFIED
                and rest > 0
            ):
                return verified, f"At least {len(verified):,} texts match; {rest:,} older ones may, too."
        return verified, ""

    def _of_sessions(self) -> Answer:
        """Return the sessions that match filters, the newest first: the first prompt of each, or the newest texts."""
        is_whole = all(map(_selects_sessions, self._question.filters))
        groups: dict[str, list[DocumentLocation | FoundDocument]] = {}
        last: Counter[str] = Counter()
        total = len(self._scanned)
        for one in self._scanned:
            session = session_file(one.path)
            groups.setdefault(session, []).append(one)
            last[session] = max(last[session], one.time_ms)
        if self._scope is not None:
            for path, (count, newest) in self._scope.files_by_time().items():
                session = session_file(path)
                last[session] = max(last[session], newest)
                total += count
        order = sorted(last, key=lambda session: (-last[session], session))
        texts = self._few_of_each(order, groups, is_whole)
        return Answer(texts, len(order) if is_whole else total, with_all=len(order))

    def _few_of_each(
        self, order: Sequence[str], groups: dict[str, list[DocumentLocation | FoundDocument]], is_whole: bool
    ) -> Iterator[RankedText]:
        """Yield what is shown of each session first, then, unless sessions are listed, the other texts of all."""
        shown = set[DocumentLocation | int]()
        for session in order:
            for text in self._session_texts(session, groups.get(session, []), is_whole):
                shown.add(_identity(text))
                yield RankedText(text)
        if not is_whole:
            yield from (one for one in self._by_time(()).texts if _identity(one.text) not in shown)

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        """The files of each session in the index."""
        files: dict[str, list[str]] = {}
        for path in self._scope.reader.cursors if self._scope is not None else ():
            files.setdefault(session_file(path), []).append(path)
        return files

    def _session_texts(
        self, session: str, scanned: Sequence[DocumentLocation | FoundDocument], is_whole: bool
    ) -> Iterator[DocumentLocation | FoundDocument]:
        """Yield what is shown of a session first: its first prompt, or the newest texts that the filters select."""
        texts = list(scanned)
        if self._scope is not None:
            reader = self._scope.reader
            prompts = self._scope.every([Kinds(frozenset((PROMPT,)))], [session])
            found: list[Any] = []
            if is_whole:
                found = reader.search(prompts, 1, order_by_field="time", order=tantivy.Order.Asc).hits
            if not found:
                found = reader.search(
                    self._scope.every([], self._files[session]), PER_SESSION, order_by_field="time"
                ).hits
            texts += reader.places([address for _, address in found])
        yield from islice(sorted(texts, key=_text_order), 1 if is_whole else PER_SESSION)

    def _facets(self) -> dict[str, dict[str, int]]:
        """Count what is in the index by project, kind, tool and month."""
        if self._scope is None:
            return {}
        words = self._question.words
        query = self._scope.every(words) if self._question.strict or not words else self._scope.some(words)
        return count_facets(self._scope, query)


def _is_of_words(leaf: Words | Exact) -> bool:
    return not isinstance(leaf, Exact) or all(map(str.isalnum, leaf.text.split()))


def _selects_sessions(node: Node) -> bool:
    """True if a filter asks for whole sessions or times."""
    if isinstance(node, And | Or):
        return all(map(_selects_sessions, node.nodes))
    return isinstance(node.node if isinstance(node, Not) else node, Period | InProject | InSession | InFiles)


def _recency(one: FoundDocument) -> tuple[int, ...]:
    return -one.time_ms, file_id(one.path), one.offset, 0


def _text_order(text: DocumentLocation | FoundDocument) -> tuple[int, ...]:
    return location_order(text) if isinstance(text, DocumentLocation) else _recency(text)


def _identity(text: DocumentLocation | FoundDocument) -> DocumentLocation | int:
    """Return what tells a text from others of the answer: a record may have several at one place."""
    return text if isinstance(text, DocumentLocation) else id(text)


def count_facets(scope: IndexScope, query: Any) -> dict[str, dict[str, int]]:
    """Return how many documents of a query there are by project, kind, tool and month, the most first."""
    projects: Counter[str] = Counter()
    for path, count in scope.count_by_file(query).items():
        main = session_file(path)
        known = scope.reader.cursors.get(main) or scope.reader.cursors[path]
        projects[known.cwd or guess_project(Path(main))] += count
    kinds = {KINDS[int(one["key"])]: int(one["doc_count"]) for one in scope.reader.count(query, "kind", len(KINDS))}
    tools = scope.reader.searcher.terms_with_prefix("tool", "", query, MOST_VALUES)
    return {
        "project": dict(projects.most_common(MOST_VALUES)),
        "kind": kinds,
        "tool": dict(tools),
        "month": _months(scope, query),
    }


def _months(scope: IndexScope, query: Any) -> dict[str, int]:
    """Count by month, as the local clock says, the newest first; texts without a time are in none."""
    span = scope.reader.time_span(query)
    if span is None or span[1] <= 0:
        return {}
    first, last = (_year(time) for time in span)
    years = list(range(first, last + 1))
    by_year = scope.reader.count_between(query, [*map(_start_ms, years), _start_ms(last + 1)])
    months: dict[str, int] = {}
    for year in (year for year, count in zip(reversed(years), reversed(by_year), strict=True) if count):
        bounds = [*(_start_ms(year, month) for month in range(1, 13)), _start_ms(year + 1)]
        counts = list(enumerate(scope.reader.count_between(query, bounds), 1))
        months |= {f"{year}-{month:02}": count for month, count in reversed(counts) if count}
        if len(months) >= MOST_VALUES:
            break
    return dict(list(months.items())[:MOST_VALUES])


def _year(time_ms: int) -> int:
    """Return the year of a time by the local clock, or the nearest whose months are counted."""
    latest = _start_ms(LAST_YEAR + 1) - 1
    return max(FIRST_YEAR, datetime.fromtimestamp(min(max(time_ms, 0), latest) / 1000).year)


def _start_ms(year: int, month: int = 1) -> int:
    """Return when a month begins by the local clock; the first, with the first time that texts claim."""
    return 1 if (year, month) == (FIRST_YEAR, 1) else int(datetime(year, month, 1).timestamp() * 1000)
