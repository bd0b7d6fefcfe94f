"""Words as texts have them: other forms of a word, and the nearest of one that no text has, such as a typo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from string import ascii_lowercase, digits
from typing import TypeGuard

from reread.index.compile import IndexScope
from reread.index.document import SearchDocument
from reread.index.language import ENGLISH, GRAMMAR, stem, synonyms
from reread.index.matching import has_leaf, is_confirmed
from reread.index.query import And, Node, Or, Words, is_question_word
from reread.index.terms import LONGEST, has_single, identifier_parts, term, word_pieces, words

SHORTEST = 4
"""Shorter words have too many neighbours."""
LONG = 8
"""From so many letters on, two of them may be wrong."""
SHORTEST_PART = 2
"""A word without capitals is not taken apart into shorter ones."""
LETTERS = ascii_lowercase + digits
MOST_WORDS = 20_000
"""How many words are compared with one that may be mistyped, the most common ones."""
MOST_STEMMED = 1000
"""How many words with the same beginning may be forms of one, the most common ones."""
SHORTEST_STEM = 3
"""A shorter stem is that of too many words."""
MOST_FORMS = 4
"""How many other forms of a word are looked for."""
ENDINGS = ("", "s", "es", "d", "ed", "ing", "ion", "e", "en", "er", "n")
"""How the forms of another word for the same thing end: to look for each is faster than to read the vocabulary."""
SYNONYM_WEIGHT = 0.5
"""How much another word for the same thing counts."""
RARER = 10
"""A word at a distance of two letters has to be so many times as common as one at a distance of one."""
LESS_LIKELY = 3
"""A word that fingers do not make of the other has to be so many times as common."""
COMPARED = 8
"""How many of the likeliest words are looked for beside the other words of the query."""
KEYS = "qwertyuiop asdfghjkl zxcvbnm qwertzuiop yxcvbnm"
"""The rows of keyboards."""
FEW, OFFERED = 3, 20
"""A word in so few texts may be mistyped in them, if one that is nearly the same is so many times as common."""


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

    def together(self, word: str, others: Sequence[Node]) -> int:
        """Return how many texts have a word and one of some others."""
        asked = (Words((word,)), Or(tuple(others)))
        indexed = self._scope.reader.search(self._scope.every(asked), 1).count if self._scope is not None else 0
        return indexed + sum(is_confirmed(And(asked), one) for one in self._read)

    def near(self, word: str, distance: int) -> set[str]:
        """Return words that differ in so many letters."""
        found = {one for one in self._counted if " " not in one and is_spelled_like(word, one, distance)}
        if distance == 1 and word.isascii():  # asking for each is faster than comparing with all
            known = one_off(word)
        else:  # people rarely mistype the first letter
            known = {other for other in self.beginning(word[:1], MOST_WORDS) if is_spelled_like(word, other, distance)}
        return found | {other for other in known if self.frequency(other) and self.has(Words((other,)))}

    def beginning(self, start: str, most: int) -> set[str]:
        """Return the words that begin like this, of those of the index the most common."""
        found = {one for one in self._counted if " " not in one and one.startswith(start)}
        if self._scope is not None:
            searcher = self._scope.reader.searcher
            for field in ("text", "pieces"):
                found |= {word for word, _ in searcher.terms_with_prefix(field, start, limit=most)}
        return found

    def forms(self, word: str, language: str) -> list[str]:
        """Return other forms of a word that texts have, the most common first."""
        root = stem(word, language)
        start = root.removesuffix("i")  # that of query and queries is queri
        if has_single(word) or not word.isalpha() or len(start) < SHORTEST_STEM or not word.startswith(start):
            return []
        found = (one for one in self.beginning(start, MOST_STEMMED) if one != word and stem(one, language) == root)
        counts = {one: self.frequency(one) for one in found if self.has(Words((one,)))}
        return sorted(counts, key=lambda one: (-counts[one], one))[:MOST_FORMS]

    def synonyms(self, word: str, language: str) -> list[Words]:
        """Return other words for the same thing that texts have, in the forms that they have."""
        found: list[str] = []
        for other in synonyms(word, language):
            root = stem(other, language)
            written = (start + ending for start in dict.fromkeys((other, root)) for ending in ENDINGS)
            found += (one for one in written if self.frequency(one) and stem(one, language) == root)
        return [Words((one,), weight=SYNONYM_WEIGHT) for one in dict.fromkeys(found) if one != word]


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
    nodes: Sequence[Node], vocabulary: Vocabulary, *, camel: Mapping[str, str] | None = None, language: str = ENGLISH
) -> tuple[list[Node], dict[str, str]]:
    """Return the words of a query as texts have them, and what replaced each that no text has; "" if nothing did.

    Beside a word, its other forms in a language are looked for. A phrase that no text has becomes its words. `camel`
    has the words of camelCase identifiers, as written: their parts are meant.
    """
    camel = camel or {}
    found = list[Node]()
    changes = dict[str, str]()
    for node in _split(nodes, vocabulary):
        if _is_unspaced(node) and not vocabulary.has(node):
            changes["".join(node.words)] = ""
            continue
        if not isinstance(node, Words) or not _is_word(node):
            found.append(node)
            continue
        word = node.words[0]
        forms = [Words((form,)) for form in vocabulary.forms(word, language)] if len(nodes) > 1 else []
        others = vocabulary.synonyms(word, language) if len(nodes) > 1 else []
        if vocabulary.has(node):
            found.append(Or((node, *forms, *others)) if forms or others else node)
            continue
        written = camel.get(word, word)
        is_camel = len(identifier_parts(written)) > 1
        near = forms[0].words[0] if forms and not is_camel else ""
        phrase = _apart(written, vocabulary) if is_camel else None
        if not near and others:
            near = others[0].words[0]
        elif not near and not phrase:
            near = nearest(word, vocabulary, [other for other in nodes if other != node])
            forms = [Words((one,)) for one in (near, *vocabulary.forms(near, language)) if one != word]
        if near:
            changes[word] = near
            known = tuple(dict.fromkeys((*forms, *others)))
            found.append(Or(known) if len(known) > 1 else Words((near,), prefix=near == word))
            continue
        phrase = phrase or _apart(written, vocabulary)
        parts = [phrase] if phrase else _known_parts(written, vocabulary)
        changes[written] = " ".join(one for part in parts for one in part.words)
        found += parts
    return found, changes


def _is_unspaced(node: Node) -> TypeGuard[Words]:
    """True for several characters of a script without spaces."""
    return isinstance(node, Words) and len(node.words) > 1 and all(map(has_single, node.words))


def _is_word(node: Words) -> bool:
    return node.is_single and not node.is_hash and not is_question_word(node)


def common_neighbours(nodes: Sequence[Node], vocabulary: Vocabulary) -> dict[str, str]:
    """Return, for words that few texts have, one that is nearly the same and far more common."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, Words) and _is_word(node) and len(node.words[0]) >= SHORTEST:
            word = node.words[0]
            count = vocabulary.frequency(word)
            if 0 < count <= FEW and word.isascii() and word.isalpha():
                near = _likeliest(word, dict.fromkeys(vocabulary.near(word, 1), 1), vocabulary)
                if near and vocabulary.frequency(near) >= OFFERED * count:
                    found[word] = near
    return found


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


def _split(nodes: Sequence[Node], vocabulary: Vocabulary) -> list[Node]:
    """Return the nodes, those phrases that no text has as words; characters of scripts without spaces as pairs.

    If no text has any of these characters, they stay together.
    """
    out: list[Node] = []
    for node in nodes:
        is_phrase = isinstance(node, Words) and len(node.words) > 1 and not (node.prefix or node.suffix)
        if isinstance(node, Words) and is_phrase and not vocabulary.has(node):
            parts = list(dict.fromkeys(_unspaced_parts(node)))
            known = list(filter(vocabulary.has, parts))
            meant = {word for part in parts for word in part.words}
            singles = [Words((word,)) for word in node.words if not has_single(word) or word in meant]
            if _is_unspaced(node) and not any(map(vocabulary.has, singles)):
                out.append(node)
                continue
            out += known or singles
            out += [Words((word,)) for word in node.words if known and not has_single(word)]
        else:
            out.append(node)
    return out


def _unspaced_parts(node: Words) -> Iterator[Words]:
    """Yield the pairs of characters of scripts without spaces, and those that stand alone, without grammar if any."""
    text = "".join(word if has_single(word) else " " for word in node.words)
    for run in GRAMMAR.sub(" ", text).split() or text.split():
        yield from map(Words, pairwise(run) if len(run) > 1 else [(run,)])


def nearest(word: str, vocabulary: Vocabulary, others: Sequence[Node] = ()) -> str:
    """Return the word that a text has and that is nearest; the same word if it is the beginning of one; else ""."""
    if len(word) > LONGEST or has_single(word) or word.isdigit():
        return ""
    near = dict.fromkeys(vocabulary.near(word, 1), 1) if len(word) >= SHORTEST else {}
    if not near and len(word) >= SHORTEST - 1 and vocabulary.has(Words((word,), prefix=True)):
        return word
    if len(word) >= LONG:
        near = dict.fromkeys(vocabulary.near(word, 2), 2) | near
    return _likeliest(word, near, vocabulary, others)


def _likeliest(word: str, near: Mapping[str, int], vocabulary: Vocabulary, others: Sequence[Node] = ()) -> str:
    """Return the likeliest of some words at a distance: the one that most texts have with other words of the query.

    Else it is the most common; one at a distance of two by far. People rarely mistype the first letter, so the words
    that share it come first.
    """

    def unlikely(other: str) -> int:
        return RARER ** (near[other] - 1) * (1 if is_slip(word, other) else LESS_LIKELY)

    def likelihood(other: str) -> tuple[bool, float, str]:
        return other[:1] == word[:1], vocabulary.frequency(other) / unlikely(other), other

    def beside(other: str) -> tuple[bool, float]:
        return other[:1] == word[:1], vocabulary.together(other, others) / unlikely(other)

    likely = sorted(near, key=likelihood, reverse=True)[:COMPARED] or [""]
    return max(likely, key=beside) if len(likely) > 1 and others else likely[0]


def is_slip(word: str, other: str) -> bool:
    """True for what fingers do: two letters swapped, one doubled or not, or a key beside the right one."""
    if sorted(word) == sorted(other) or _without_doubles(word) == _without_doubles(other):
        return True
    wrong = [pair for pair in zip(word, other, strict=False) if pair[0] != pair[1]]
    return len(word) == len(other) and all(a + b in KEYS or b + a in KEYS for a, b in wrong)


def _without_doubles(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


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
