"""Match a query against texts directly: to show where a hit matches, and to search without an index."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import msgspec

from reread.disk.projects import expand_folders, is_within
from reread.index.document import SearchDocument
from reread.index.query import (
    And,
    Errors,
    Exact,
    InFiles,
    InProject,
    InSession,
    Kinds,
    NamedFilter,
    Node,
    Not,
    Or,
    Period,
    Words,
)
from reread.index.terms import CJK, EMOJI, ESCAPES, fold, has_single, word_pieces, words

AROUND = 80
"""How many characters are shown on each side of a match."""
LONGEST_WORD = 30
"""A longer word may be cut at the edge of what is shown."""
SHORTEST_PART = 3
"""Shorter words are not marked within others."""
MOST_MATCHES = 200
"""How many matches of each word are compared to find the best place."""
_END = r"(?![^\W_])"
Leaf = Words | Exact
"""The words to look for in a text."""
_ESCAPES = [escape.replace("A-F", "") for escape in ESCAPES]
"""Characters that may stand before a word, too, unless it is part of a phrase; without capitals."""


class Snippet(msgspec.Struct, frozen=True):
    """A match with the text around it, which begins and ends between words: with the space there if it was cut."""

    before: str
    match: str
    after: str
    marks: tuple[tuple[int, int], ...] = ()
    """The beginning and end of every word that was looked for, in all three together."""

    @property
    def text(self) -> str:
        """All three together."""
        return self.before + self.match + self.after


class DocumentFacts(msgspec.Struct, frozen=True):
    """The fields of a document that a query may ask for besides its text."""

    time_ms: int = 0
    model: str = ""
    branch: str = ""
    project: str = ""
    file: str = ""
    """The main file of the session."""


@lru_cache(1024)
def pattern_of(leaf: Words, inside: bool = False, *, plain: bool = False) -> re.Pattern[str]:
    """Return a pattern that finds some words in a text as `lowered` gives it; `inside` finds them within longer words.

    A plain pattern is for texts in ASCII, which have no words of one character that stand between others.
    """
    first = re.escape(leaf.words[0])
    pieces = [first]
    if not (inside or leaf.suffix or has_single(leaf.words[0])):
        pieces.append(_beginning(first, plain=plain, escapes=leaf.is_single))
    for left, right in pairwise(leaf.words):
        gap = r"[\W_]" if plain else rf"(?:_|[^\w{EMOJI}])"
        pieces += [gap, "*" if has_single(left) or has_single(right) else "+", re.escape(right)]
    if not (inside or leaf.prefix or leaf.is_hash or has_single(leaf.words[-1])):
        pieces.append(_END if plain else f"(?:{_END}|(?=[{CJK}]))")
    return re.compile("".join(pieces))


def _beginning(word: str, *, plain: bool = False, escapes: bool = True) -> str:
    """Return a pattern that looks back from the end of a word, and matches if a word begins where it does.

    It looks back, since a pattern that begins with plain characters is searched for many times faster.
    """
    befores = [] if plain else [f"(?<=[{CJK}]{word})"]
    befores += [f"(?<={escape}{word})" for escape in _ESCAPES] if escapes else []
    return "(?:" + "|".join([rf"(?<![^\W_]{word})", *befores]) + ")"


@lru_cache(1024)
def exact_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for characters as they stand; where they begin or end with a word, that word is whole."""
    first, *others = map(re.escape, text.lower().split())
    start = _beginning(first) if _is_letter(text[:1]) else ""
    end = f"(?:{_END}|(?=[{CJK}]))" if _is_letter(text[-1:]) else ""
    return re.compile("".join([first, start, *(rf"\s+{word}" for word in others), end]))


def lowered(text: str) -> str:
    """Return a text as patterns search it: folded, and without capitals; it is as long as the folded text."""
    return fold(text).lower()


def _is_letter(character: str) -> bool:
    """True for a letter or digit that words are made of; False for a character that is a word by itself."""
    return character.isalnum() and not has_single(character)


def folded_pattern(leaf: Leaf, *, inside: bool, plain: bool = False) -> re.Pattern[str]:
    """Return a pattern that finds words, or characters, in a folded text."""
    return exact_pattern(fold(leaf.text)) if isinstance(leaf, Exact) else pattern_of(leaf, inside, plain=plain)


def wanted(node: Node) -> Iterator[Leaf]:
    """Yield the words and exact characters that a query asks for, without those that it excludes."""
    if isinstance(node, Words | Exact):
        yield node
    elif isinstance(node, And | Or):
        for inner in node.nodes:
            yield from wanted(inner)


def composed(text: str) -> str:
    """Return a text with composed characters, as it is indexed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def matches(node: Node, document: SearchDocument, facts: DocumentFacts) -> bool:
    """True if a document matches a query, as the index would decide."""
    return _matches(node, document, facts, True)


def is_confirmed(node: Node, document: SearchDocument) -> bool:
    """True if a document that the index found has the words and exact characters of a query.

    What else a query asks for, the index has decided.
    """
    return _matches(node, document, None, True)


def _matches(node: Node, document: SearchDocument, facts: DocumentFacts | None, unknown: bool) -> bool:
    """True if a document matches; without its facts, other conditions count as `unknown` says."""
    match node:
        case Words() | Exact():
            return has_leaf(node, document)
        case And():
            return all(_matches(inner, document, facts, unknown) for inner in node.nodes)
        case Or():
            return any(_matches(inner, document, facts, unknown) for inner in node.nodes)
        case Not():
            return not _matches(node.node, document, facts, not unknown)
        case _:
            return unknown if facts is None else _has_field(node, document, facts)


def _has_field(node: Node, document: SearchDocument, facts: DocumentFacts) -> bool:
    match node:
        case Kinds():
            return document.kind in node.kinds
        case NamedFilter():
            names = {"tool": [document.tool], "path": document.files, "model": [facts.model], "branch": [facts.branch]}
            return any(_contains(words(name), node.words) for name in names[node.field])
        case Errors():
            return document.error
        case Period():
            return (node.since is None or facts.time_ms >= node.since) and (
                node.until is None or facts.time_ms < node.until
            )
        case InProject():
            return is_within(facts.project, expand_folders(node.projects))
        case InSession():
            return Path(facts.file).stem.lower().startswith(node.id)
        case _:
            return isinstance(node, InFiles) and facts.file in node.paths


def has_leaf(leaf: Leaf, document: SearchDocument) -> bool:
    """True if a document has these words, or these characters."""
    if isinstance(leaf, Exact):
        is_plain = fold(leaf.text) == leaf.text  # what is asked for without accents is found with them, too
        text = lowered(document.text) if is_plain else composed(document.text).lower()
        return exact_pattern(composed(leaf.text)).search(text) is not None
    text = fold(document.text)
    if pattern_of(leaf, plain=text.isascii()).search(text.lower()):
        return True
    return leaf.is_single and any(_is_piece(piece.lower(), leaf) for piece in word_pieces(text))


def _is_piece(piece: str, leaf: Words) -> bool:
    return piece.startswith(leaf.words[0]) if leaf.is_hash else piece == leaf.words[0]


def _contains(name: Sequence[str], part: Sequence[str]) -> bool:
    return any(tuple(name[n : n + len(part)]) == tuple(part) for n in range(len(name) - len(part) + 1))


def snippet(text: str, leaves: Sequence[Leaf]) -> Snippet:
    """Return the place of a text where most of the words are, with the text around; its beginning if none is there."""
    text = composed(text)
    span = words_span(text, leaves)
    found = cut(text, *(span or (0, 0, 2 * AROUND)))
    return msgspec.structs.replace(found, marks=tuple(_marks(found.text, leaves)))


def _marks(text: str, leaves: Sequence[Leaf]) -> list[tuple[int, int]]:
    """Return where the words are in a text, those that overlap as one."""
    folded = lowered(text)
    plain = folded.isascii()
    spans: list[tuple[int, int]] = []
    for leaf in leaves:
        for inside in (False, True) if _is_long(leaf) else (False,):
            found = [
                (one.start(), one.end()) for one in folded_pattern(leaf, inside=inside, plain=plain).finditer(folded)
            ]
            spans += found
            if found:
                break
    joined: list[tuple[int, int]] = []
    for start, end in sorted(span if len(folded) == len(text) else _unfolded(text, *span) for span in spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    return joined


def _is_long(leaf: Leaf) -> bool:
    """True for what is worth marking within other words."""
    return isinstance(leaf, Words) and sum(map(len, leaf.words)) >= SHORTEST_PART


def words_span(text: str, leaves: Sequence[Leaf]) -> tuple[int, int, int] | None:
    """Return the place of a composed text where most of the words are, if need be within others; None if none is.

    It is the first of them there, and the end of the last one.
    """
    folded = lowered(text)
    plain = folded.isascii()
    spans = (
        best_span(folded, [folded_pattern(leaf, inside=inside, plain=plain) for leaf in leaves])
        for inside in (False, True)
    )
    span = next((span for span in spans if span is not None), None)
    if span is None or len(folded) == len(text):
        return span
    return (*_unfolded(text, *span[:2]), _unfolded(text, *span[1:])[1])


def _unfolded(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a text that becomes a place of the folded one."""
    places = range(len(text) + 1)

    def length(place: int) -> int:
        return len(fold(text[:place]))

    return bisect_right(places, start, key=length) - 1, bisect_left(places, end, key=length)


def best_span(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[int, int, int] | None:
    """Return the first match that has matches of most other patterns near it, and where the last of these ends.

    None if nothing matches.
    """
    spans: list[tuple[int, int, int]] = []
    for number, pattern in enumerate(patterns):
        for count, found in enumerate(pattern.finditer(text)):
            if count == MOST_MATCHES:
                break
            if found.end() > found.start():
                spans.append((found.start(), found.end(), number))
    spans.sort()
    best: tuple[int, int, int, int] | None = None
    last = 0
    for first, (start, end, _) in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1][1] <= start + 2 * AROUND:
            last += 1
        kinds = len({number for _, _, number in spans[first : min(last + 1, first + MOST_MATCHES)]})
        if best is None or kinds > best[0]:
            best = (kinds, start, end, max(end, spans[last][1]))
            if kinds == len(patterns):
                break
    return None if best is None else best[1:]


def cut(text: str, start: int, end: int, last: int = 0) -> Snippet:
    """Return a match with the text around it, up to where the last word near it ends."""
    begin, stop = max(0, start - AROUND), min(len(text), max(end + AROUND, last + AROUND // 4))
    if begin > 0:
        begin = next((at for at in range(begin, min(start, begin + LONGEST_WORD)) if text[at].isspace()), begin)
    if stop < len(text):
        low = max(end, last, stop - LONGEST_WORD)
        stop = next((at for at in range(stop, low, -1) if text[at - 1].isspace()), stop)
    return Snippet(text[begin:start], text[start:end], text[end:stop])
