"""Words that no text has: the nearest that one has, so that a typo or the beginning of a word finds something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase, digits

from reread.index.compile import IndexScope
from reread.index.document import SearchDocument
from reread.index.document_reader import DocumentReader
from reread.index.engine import tantivy
from reread.index.matching import has_leaf
from reread.index.query import Node, Or, Words
from reread.index.store import IndexReader
from reread.index.terms import LONGEST, has_single, term, word_pieces, words

SHORTEST = 4
"""Shorter words have too many neighbours."""
LONG = 8
"""From so many letters on, two of them may be wrong."""
LETTERS = ascii_lowercase + digits
EXAMPLES = 10
"""How many texts are read to see which words are meant."""


def corrected(
    nodes: Sequence[Node], scope: IndexScope, read: Sequence[SearchDocument] = (), *, goes_on: bool = False
) -> tuple[list[Node], dict[str, str]]:
    """Return the words of a query with those that no text has replaced, and what replaced each; "" if nothing did.

    A text is one of the index, or one that was read. A phrase that no text has becomes its words. If the last word
    `goes_on`, it is still being typed: longer words that begin with it are meant, too.
    """
    if goes_on and isinstance(last := nodes[-1], Words) and _may_go_on(last, scope):
        found, changes = corrected(nodes[:-1], scope, read)
        return [*found, Or((last, Words(last.words, prefix=True)))], changes
    found = list[Node]()
    changes = dict[str, str]()
    for node in _split(nodes, scope, read):
        if not isinstance(node, Words) or not node.is_single or node.is_hash or _is_said(node, scope, read):
            found.append(node)
            continue
        word = node.words[0]
        changes[word] = nearest(word, scope)
        if changes[word]:
            found.append(Words((changes[word],), prefix=changes[word] == word))
    return found, changes


def _may_go_on(word: Words, scope: IndexScope) -> bool:
    """True for a word that is long enough to be the beginning of few others, and is one."""
    is_beginning = word.is_single and len(word.words[0]) >= SHORTEST - 1
    return is_beginning and scope.has(Words(word.words, prefix=True))


def _split(nodes: Sequence[Node], scope: IndexScope, read: Sequence[SearchDocument]) -> list[Node]:
    """Return the nodes, those phrases that no text has as words."""
    out: list[Node] = []
    for node in nodes:
        is_phrase = isinstance(node, Words) and len(node.words) > 1 and not (node.prefix or node.suffix)
        if isinstance(node, Words) and is_phrase and not _is_said(node, scope, read):
            out += [Words((word,)) for word in node.words]
        else:
            out.append(node)
    return out


def _is_said(leaf: Words, scope: IndexScope, read: Sequence[SearchDocument]) -> bool:
    """True if a text has these words."""
    return scope.has(leaf) or any(has_leaf(leaf, one) for one in read)


def nearest(word: str, scope: IndexScope) -> str:
    """Return the word that a text has and that is nearest; the same word if it is the beginning of one; else ""."""
    if len(word) > LONGEST or has_single(word) or word.isdigit():
        return ""
    if len(word) >= SHORTEST and (found := _within(word, 1, scope)):
        return found
    if len(word) >= SHORTEST - 1 and scope.has(Words((word,), prefix=True)):
        return word
    return _within(word, 2, scope) if len(word) >= LONG else ""


def _within(word: str, distance: int, scope: IndexScope) -> str:
    """Return the likeliest word that differs in so many letters; a swap of two neighbours is one.

    People rarely mistype the first letter, so the words that share it come first, and among them the most common.
    """
    reader = scope.reader

    def likelihood(other: str) -> tuple[bool, int, str]:
        return (other[:1] == word[:1], _frequency(other, reader), other)

    if distance == 1 and word.isascii():  # asking for each is faster than reading texts
        likely = sorted(map(likelihood, one_off(word)), reverse=True)
        return next((other for _, count, other in likely if count and scope.has(Words((other,)))), "")
    found: Counter[str] = Counter()
    for field in ("text", "pieces"):
        query = tantivy.Query.fuzzy_term_query(reader.schema, field, word, distance=distance)
        hits = reader.search(scope.in_any_text(query), EXAMPLES).hits
        for one in DocumentReader(reader).documents(reader.places([address for _, address in hits])):
            text = one.document.text
            near = {*words(text), *(piece.lower() for piece in word_pieces(text))}
            found.update(other for other in near if is_spelled_like(word, other, distance))
        if found:
            break
    return max(found, key=likelihood, default="")


def one_off(word: str) -> set[str]:
    """Return everything that is spelled like a word but for one letter, or two that are swapped."""
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    fewer = {start + end[1:] for start, end in halves if end}
    swapped = {start + end[1] + end[0] + end[2:] for start, end in halves if len(end) > 1}
    others = {start + new + end[cut:] for start, end in halves for new in LETTERS for cut in (0, 1)}
    return (fewer | swapped | others) - {word}


def _frequency(word: str, reader: IndexReader) -> int:
    return sum(reader.searcher.doc_freq(field, term(word)) for field in ("text", "pieces"))


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
