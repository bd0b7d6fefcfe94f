"""Words that no text has: the nearest that one has, so that a typo or the beginning of a word finds something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase, digits

from reread.index.compile import IndexScope
from reread.index.document import SearchDocument
from reread.index.document_reader import DocumentReader
from reread.index.engine import tantivy
from reread.index.matching import has_leaf
from reread.index.query import Node, Or, Words, is_question_word
from reread.index.terms import LONGEST, has_single, identifier_parts, term, word_pieces, words

SHORTEST = 4
"""Shorter words have too many neighbours."""
LONG = 8
"""From so many letters on, two of them may be wrong."""
SHORTEST_PART = 2
"""A word without capitals is not taken apart into shorter ones."""
LETTERS = ascii_lowercase + digits
EXAMPLES = 10
"""How many texts are read to see which words are meant."""


class Vocabulary:
    """The words of all texts: those of an index, those that were found in other files, and all of these if counted."""

    def __init__(
        self, scope: IndexScope | None, read: Sequence[SearchDocument] = (), counted: Mapping[str, int] | None = None
    ) -> None:
        self._scope, self._read, self._counted = scope, read, counted or {}

    def has(self, leaf: Words) -> bool:
        """True if a text has these words."""
        if self._scope is not None and self._scope.has(leaf):
            return True
        if " ".join(leaf.words) in self._counted and not leaf.prefix:
            return True
        if len(leaf.words) == 1 and any(map(leaf.words[0].__eq__, self._beginnings(leaf))):
            return True
        return any(has_leaf(leaf, one) for one in self._read)

    def _beginnings(self, leaf: Words) -> Iterator[str]:
        """Yield the counted words, as much of each as is asked for."""
        return (word[: len(leaf.words[0])] if leaf.prefix else word for word in self._counted)

    def frequency(self, word: str) -> int:
        """Return about how many texts have a word."""
        searcher = self._scope.reader.searcher if self._scope is not None else None
        indexed = sum(searcher.doc_freq(field, term(word)) for field in ("text", "pieces")) if searcher else 0
        return indexed + self._counted.get(word, 0)

    def near(self, word: str, distance: int) -> set[str]:
        """Return words that differ in so many letters."""
        found = {one for one in self._counted if " " not in one and is_spelled_like(word, one, distance)}
        if distance == 1 and word.isascii():  # asking for each is faster than reading texts
            return found | {other for other in one_off(word) if self.frequency(other) and self.has(Words((other,)))}
        if self._scope is None:
            return found
        reader = self._scope.reader
        for field in ("text", "pieces"):
            query = tantivy.Query.fuzzy_term_query(reader.schema, field, word, distance=distance)
            hits = reader.search(self._scope.in_any_text(query), EXAMPLES).hits
            for one in DocumentReader(reader).documents(reader.places([address for _, address in hits])):
                found |= {other for other in all_words(one.document) if is_spelled_like(word, other, distance)}
            if found:
                break
        return found


def all_words(document: SearchDocument, spelled: Iterable[str] = ()) -> set[str]:
    """Return the words of a document, the parts of its identifiers, and the phrases that spell some words."""
    found = words(document.text)
    phrases = (phrase for word in spelled for phrase in _phrases(found, word))
    return {*found, *(piece.lower() for piece in word_pieces(document.text)), *phrases}


def _phrases(found: Sequence[str], word: str) -> Iterator[str]:
    """Yield words that follow each other and together spell one."""
    for start, first in enumerate(found):
        if word.startswith(first):
            end, length = start + 1, len(first)
            while length < len(word) and end < len(found):
                length += len(found[end])
                end += 1
            if "".join(found[start:end]) == word:
                yield " ".join(found[start:end])


def corrected(
    nodes: Sequence[Node], vocabulary: Vocabulary, *, goes_on: bool = False, camel: Mapping[str, str] | None = None
) -> tuple[list[Node], dict[str, str]]:
    """Return the words of a query with those that no text has replaced, and what replaced each; "" if nothing did.

    A phrase that no text has becomes its words. If the last word `goes_on`, it is still being typed: longer words that
    begin with it are meant, too. `camel` has the words of camelCase identifiers, as written: their parts are meant.
    """
    camel = camel or {}
    if goes_on and isinstance(last := nodes[-1], Words) and _may_go_on(last, vocabulary):
        found, changes = corrected(nodes[:-1], vocabulary, camel=camel)
        return [*found, Or((last, Words(last.words, prefix=True)))], changes
    found = list[Node]()
    changes = dict[str, str]()
    for node in _split(nodes, vocabulary):
        is_word = isinstance(node, Words) and node.is_single and not node.is_hash and not is_question_word(node)
        if not isinstance(node, Words) or not is_word or vocabulary.has(node):
            found.append(node)
            continue
        word = node.words[0]
        written = camel.get(word, word)
        near = "" if (phrase := _apart(written, vocabulary)) else nearest(word, vocabulary)
        if near:
            changes[word] = near
            found.append(Words((near,), prefix=near == word))
            continue
        parts = [phrase] if phrase else _known_parts(written, vocabulary)
        changes[written] = " ".join(one for part in parts for one in part.words)
        found += parts
    return found, changes


def _apart(word: str, vocabulary: Vocabulary) -> Words | None:
    """Return the words that an identifier is made of, if a text has them next to each other.

    They are its parts in camelCase; without capitals, any two.
    """
    parts = identifier_parts(word)
    if len(word) > LONGEST or not word.isascii():
        return None
    cuts = range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
    choices = [parts] if len(parts) > 1 else [(word[:at], word[at:]) for at in cuts]
    known = (Words(choice) for choice in choices if all(map(vocabulary.frequency, choice)))
    return next(filter(vocabulary.has, known), None)


def _known_parts(word: str, vocabulary: Vocabulary) -> list[Words]:
    """Return the parts of a camelCase identifier that texts have, wherever they are."""
    parts = identifier_parts(word)
    known = [Words((part,)) for part in dict.fromkeys(parts) if len(parts) > 1]
    return [part for part in known if not is_question_word(part) and vocabulary.has(part)]


def _may_go_on(word: Words, vocabulary: Vocabulary) -> bool:
    """True for a word that is long enough to be the beginning of few others, and is one."""
    is_beginning = word.is_single and len(word.words[0]) >= SHORTEST - 1
    return is_beginning and vocabulary.has(Words(word.words, prefix=True))


def _split(nodes: Sequence[Node], vocabulary: Vocabulary) -> list[Node]:
    """Return the nodes, those phrases that no text has as words."""
    out: list[Node] = []
    for node in nodes:
        is_phrase = isinstance(node, Words) and len(node.words) > 1 and not (node.prefix or node.suffix)
        if isinstance(node, Words) and is_phrase and not vocabulary.has(node):
            out += [Words((word,)) for word in node.words]
        else:
            out.append(node)
    return out


def nearest(word: str, vocabulary: Vocabulary) -> str:
    """Return the word that a text has and that is nearest; the same word if it is the beginning of one; else ""."""
    if len(word) > LONGEST or has_single(word) or word.isdigit():
        return ""
    if len(word) >= SHORTEST and (found := _within(word, 1, vocabulary)):
        return found
    if len(word) >= SHORTEST - 1 and vocabulary.has(Words((word,), prefix=True)):
        return word
    return _within(word, 2, vocabulary) if len(word) >= LONG else ""


def _within(word: str, distance: int, vocabulary: Vocabulary) -> str:
    """Return the likeliest word that differs in so many letters; a swap of two neighbours is one.

    People rarely mistype the first letter, so the words that share it come first, and among them the most common.
    """

    def likelihood(other: str) -> tuple[bool, int, str]:
        return (other[:1] == word[:1], vocabulary.frequency(other), other)

    return max(vocabulary.near(word, distance), key=likelihood, default="")


def one_off(word: str) -> set[str]:
    """Return everything that is spelled like a word but for one letter, or two that are swapped."""
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    fewer = {start + end[1:] for start, end in halves if end}
    swapped = {start + end[1] + end[0] + end[2:] for start, end in halves if len(end) > 1}
    others = {start + new + end[cut:] for start, end in halves for new in LETTERS for cut in (0, 1)}
    return (fewer | swapped | others) - {word}


def is_spelled_like(word: str, other: str, distance: int) -> bool:
    """True if so many letters added, left out, changed or swapped with their neighbour make one word of the other."""
    if abs(len(word) - len(other)) > distance or len(set(word) ^ set(other)) > 2 * distance:
        return False  # most words differ more
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(word, 1):
        new = [i]
        for j, right in enumerate(other, 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and word[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        before, row = row, new
    return row[-1] <= distance
