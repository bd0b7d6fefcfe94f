"""The question: the words of a query, which may be missing, and the conditions on every answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from reread.index.matching import Snippet, best_span, composed, cut, snippet, wanted
from reread.index.query import (
    And,
    Exact,
    Node,
    Or,
    Words,
    has_exact,
    is_plain,
    is_question_word,
    parse_query,
    signed_words,
)
from reread.index.regex import compile_pattern, required_words
from reread.index.terms import camel_words

if TYPE_CHECKING:
    from reread.index.compile import IndexScope
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
    goes_on: bool = False
    """True if the last word may be the beginning of one."""
    camel: dict[str, str] = {}
    """The words of camelCase identifiers, and the identifiers as written."""
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
        typing: bool = False,
    ) -> SearchQuestion:
        """Return the question of a query; with `regex` or `fixed` that of a pattern.

        If someone is still `typing`, the last word may go on.
        """
        if regex or fixed:
            pattern = compile_pattern(re.escape(query) if fixed else query)
            return cls((), (required_words(pattern.pattern), *filters), strict=True, pattern=pattern)
        tree, signs = parse_query(query), signed_words(query)
        if strict or not is_plain(query):
            has_words = next(wanted(tree), None) is not None
            words, others = ((tree,), ()) if has_words else ((), (tree,))
            return cls(words, (*others, *filters), signs, strict=True)
        nodes = tree.nodes if isinstance(tree, And) else (tree,)
        words = tuple(node for node in nodes if isinstance(node, Words))
        others = (node for node in nodes if not isinstance(node, Words))
        goes_on = typing and bool(words) and nodes[-1] is words[-1] and query[-1:].isalnum()
        return cls(words, (*others, *filters), signs, goes_on=goes_on, camel=camel_words(query))

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
        from reread.index.spelling import Vocabulary, corrected

        vocabulary = Vocabulary(scope, [one.document for one in read], counted)
        words, changes = corrected(self.words, vocabulary, goes_on=self.goes_on, camel=self.camel)
        return msgspec.structs.replace(self, words=tuple(words), changes=changes)

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
