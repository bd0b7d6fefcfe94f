"""A query inside one session: the text as typed, or the words and fields of a search over all sessions.

An exported page, which has no server, follows the same rules (`web/src/search/textMatcher.ts`);
`tests/fixtures/search.json` tests both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reread.index.document import SearchDocument
from reread.index.matching import DocumentFacts, composed, matches, wanted, words_span
from reread.index.query import And, InProject, InSession, NamedFilter, Node, Not, Or, Period, Words, parse_query
from reread.index.terms import fold

AROUND = 60
"""How many characters are shown on each side of a hit."""
ESCAPE = b"\\u"
"""How JSON writes characters that may be accents, or begin the escape codes of terminals, which may split a word."""
SPILLED = b"tool-results"
"""The field of a record whose result was written to another file."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;=+*()\[\]{}!?@#$%^~|-]+")
"""Characters that every JSON writer writes unescaped."""


class TextMatcher:
    """Finds the place where a text matches a query."""

    def __init__(self, query: str) -> None:
        self._literal = re.compile(re.escape(query), re.IGNORECASE)
        self._tree = _within_session(parse_query(query))
        self._leaves = list(wanted(self._tree)) if self._tree is not None else []
        plain = max(_PLAIN.findall(query), key=len, default="")
        self._needed = [[plain.lower().encode()]]
        """Pieces of text that JSON never escapes: of one of these lists, records that match have all."""
        if self._tree is not None:
            self._needed.append([word.encode() for word in _required_words(self._tree)])

    def may_match(self, records: Iterable[bytes]) -> bool:
        """False if a message with these records cannot match."""
        if not all(any(pieces) for pieces in self._needed):
            return True
        lowered = [
            raw.lower() if raw.isascii() else fold(raw.decode("utf-8", "replace")).lower().encode() for raw in records
        ]
        if any(ESCAPE in raw or SPILLED in raw for raw in lowered):
            return True
        return any(all(any(piece in raw for raw in lowered) for piece in pieces) for pieces in self._needed)

    def find(self, documents: Iterable[SearchDocument]) -> tuple[str, str, str] | None:
        """Return the match with the characters before and after it; `documents` are one text as several kinds."""
        for document in documents:
            found = self._literal.search(document.text)
            if found is not None:
                return _around(document.text, found.start(), found.end())
            if self._tree is not None and matches(self._tree, document, DocumentFacts()):
                text = composed(document.text)
                return _around(text, *(words_span(text, self._leaves) or (0, 0))[:2])
        return None


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    return text[max(0, start - AROUND) : start], text[start:end], text[end : end + AROUND]


def _within_session(node: Node) -> Node | None:
    """Return a query without what it says about whole sessions and times; None if nothing is left."""
    match node:
        case Period() | InProject() | InSession() | NamedFilter(field="model" | "branch"):
            return None
        case Not():
            inner = _within_session(node.node)
            return None if inner is None else Not(inner)
        case And() | Or():
            kept = [inner for inner in map(_within_session, node.nodes) if inner is not None]
            return type(node)(tuple(kept)) if kept else None
        case _:
            return node


def _required_words(node: Node) -> list[str]:
    """Return ASCII words that every match has."""
    nodes = node.nodes if isinstance(node, And) else (node,)
    return [word for one in nodes if isinstance(one, Words) for word in one.words if word.isascii()]
