"""What is known of languages: the words that questions are made of, and forms of the same word."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from reread.index.engine import tantivy
from reread.index.query import QUESTION_WORDS
from reread.index.terms import words

ENGLISH = "english"
OTHERS = "danish dutch finnish french german hungarian italian norwegian portuguese russian spanish swedish".split()
"""The other languages of which the engine knows the words that questions are made of."""
FEWEST = 3
"""So many words tell another language: some are also English words that mean something, such as `die`."""
_LETTERS = re.compile(r"[^\W\d_]+")


def question_words(text: str) -> tuple[str, frozenset[str]]:
    """Return the language of a question, and the words that questions of this language are made of.

    It is English, whose words are those of `QUESTION_WORDS`, unless more of its words, and not few, are of another.
    """
    said = _LETTERS.findall(text.lower())
    found = {ENGLISH: [word for word in said if word in QUESTION_WORDS]}
    if tantivy is not None:
        found |= {language: [word for word in said if not _stopper(language).analyze(word)] for language in OTHERS}
    language = max(found, key=lambda one: len(found[one]))
    language = language if len(found[language]) >= FEWEST else ENGLISH
    return language, frozenset(part for word in found[language] for part in words(word))


def stem(word: str, language: str) -> str:
    """Return what forms of a word have in common; the word itself if the engine is missing."""
    return "".join(_stemmer(language).analyze(word)) if tantivy is not None else word


@cache
def _stopper(language: str) -> Any:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.stopword(language)).build()


@cache
def _stemmer(language: str) -> Any:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.stemmer(language)).build()
