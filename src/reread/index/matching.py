"""Match a query against texts directly: to show where a hit matches, and to search without an index."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from reread.disk import layout
from reread.index.query import And, Errors, InProject, InSession, Kinds, Named, Node, Not, Or, Period, Words
from reread.index.terms import CJK, camel_pieces, has_cjk, words
from reread.index.unit import Unit

AROUND = 80
"""How many characters are shown on each side of a match."""
MOST_MATCHES = 200
"""How many matches of each word are compared to find the best place."""
_GAP, _ANY_GAP = r"[\W_]++", r"[\W_]*+"
_START, _END = r"(?<![^\W_])", r"(?![^\W_])"
_CJK_START, _CJK_END = rf"(?:{_START}|(?<=[{CJK}]))", rf"(?:{_END}|(?=[{CJK}]))"


class Snippet(msgspec.Struct, frozen=True):
    """A match with the text around it."""

    before: str
    match: str
    after: str


class UnitFacts(msgspec.Struct, frozen=True):
    """What a query may ask of a unit besides its text."""

    time_ms: int = 0
    model: str = ""
    branch: str = ""
    project: str = ""
    session: str = ""


@lru_cache(1024)
def pattern_of(leaf: Words, inside: bool = False, *, cjk: bool = False) -> re.Pattern[str]:
    """Return a pattern that finds some words in a text; `inside` finds them within longer words too.

    `cjk` says whether the text has characters of scripts without spaces, between which words may stand.
    """
    pieces = [f"(?i:{re.escape(leaf.words[0])})"]
    for left, right in zip(leaf.words, leaf.words[1:], strict=False):
        pieces += [_ANY_GAP if has_cjk(left) or has_cjk(right) else _GAP, f"(?i:{re.escape(right)})"]
    if not (inside or leaf.suffix or has_cjk(leaf.words[0])):
        pieces.insert(0, _CJK_START if cjk else _START)
    if not (inside or leaf.prefix or leaf.is_hash or has_cjk(leaf.words[-1])):
        pieces.append(_CJK_END if cjk else _END)
    return re.compile("".join(pieces))


def wanted(node: Node) -> Iterator[Words]:
    """Yield the words that a query asks for, without those that it excludes."""
    if isinstance(node, Words):
        yield node
    elif isinstance(node, And | Or):
        for inner in node.nodes:
            yield from wanted(inner)


def composed(text: str) -> str:
    """Return a text with composed characters, as it is indexed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def matches(node: Node, unit: Unit, facts: UnitFacts) -> bool:
    """True if a unit matches a query, as the index would decide."""
    match node:
        case Words():
            return _has_words(node, unit)
        case And():
            return all(matches(inner, unit, facts) for inner in node.nodes)
        case Or():
            return any(matches(inner, unit, facts) for inner in node.nodes)
        case Not():
            return not matches(node.node, unit, facts)
        case Kinds():
            return unit.kind in node.kinds
        case Named():
            names = {"tool": [unit.tool], "path": unit.files, "model": [facts.model], "branch": [facts.branch]}
            return any(_contains(words(name), node.words) for name in names[node.field])
        case Errors():
            return unit.error
        case Period():
            return (node.since is None or facts.time_ms >= node.since) and (
                node.until is None or facts.time_ms < node.until
            )
        case InProject():
            return layout.is_within(facts.project, layout.expand_folders(node.projects))
        case InSession():
            return facts.session.lower().startswith(node.id)


def _has_words(leaf: Words, unit: Unit) -> bool:
    text = composed(unit.text)
    if pattern_of(leaf, cjk=has_cjk(text)).search(text):
        return True
    if len(leaf.words) > 1 or leaf.prefix or leaf.suffix:
        return False
    return any(piece.lower() == word for word in leaf.words for piece in camel_pieces(unit.text))


def _contains(name: Sequence[str], part: Sequence[str]) -> bool:
    return any(tuple(name[n : n + len(part)]) == tuple(part) for n in range(len(name) - len(part) + 1))


def snippet(text: str, leaves: Sequence[Words]) -> Snippet:
    """Return the place of a text where most of the words are, with the text around; its beginning if none is there."""
    text = composed(text)
    span = words_span(text, leaves)
    return cut(text, *span) if span is not None else Snippet(text[: 2 * AROUND], "", "")


def words_span(text: str, leaves: Sequence[Words]) -> tuple[int, int] | None:
    """Return the place of a composed text where most of the words are, if need be within others; None if none is."""
    cjk = has_cjk(text)
    spans = (best_span(text, [pattern_of(leaf, inside, cjk=cjk) for leaf in leaves]) for inside in (False, True))
    return next((span for span in spans if span is not None), None)


def best_span(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[int, int] | None:
    """Return the first match that has matches of most other patterns near it; None if nothing matches."""
    spans: list[tuple[int, int, int]] = []
    for number, pattern in enumerate(patterns):
        for count, found in enumerate(pattern.finditer(text)):
            if count == MOST_MATCHES:
                break
            if found.end() > found.start():
                spans.append((found.start(), found.end(), number))
    spans.sort()
    best: tuple[int, int, int] | None = None
    last = 0
    for first, (start, end, _) in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1][1] <= start + 2 * AROUND:
            last += 1
        kinds = len({number for _, _, number in spans[first : min(last + 1, first + MOST_MATCHES)]})
        if best is None or kinds > best[0]:
            best = (kinds, start, end)
            if kinds == len(patterns):
                break
    return None if best is None else (best[1], best[2])


def cut(text: str, start: int, end: int) -> Snippet:
    """Return a match with the text around it."""
    return Snippet(text[max(0, start - AROUND) : start], text[start:end], text[end : end + AROUND])
