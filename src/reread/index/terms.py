"""The words of a text, as the index and queries split it.

A word is a run of letters and digits in lower case. So an identifier, a path or a flag is a phrase of its parts, and
each part is found too. Scripts without spaces are split into characters, which also frees identifiers between them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

LONGEST = 128
"""Longer words are not indexed: they are data, such as pictures in base64."""
CJK = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces, as the inside of a character class."""
_ASCII_WORD = re.compile("[0-9a-z]+")
_HUMP = bytes((2 if 48 <= n <= 57 or 97 <= n <= 122 else 1 if 65 <= n <= 90 else 0) for n in range(256))
"""Marks capitals, other letters and digits, and the rest of ASCII."""
_SCRIPTS = bytes((1 if n in (0xCC, 0xCD) else 2 if n in (0xE0, 0xE1) or n >= 0xE3 else 0) for n in range(256))
"""Marks the bytes that characters to be composed may begin with, and those of CJK scripts."""
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


@cache
def _cjk_character() -> re.Pattern[str]:
    """Return the pattern of a character of CJK scripts; compiled when needed, since that takes some milliseconds."""
    return re.compile(f"[{CJK}]")


@cache
def _any_word() -> re.Pattern[str]:
    return re.compile(rf"[{CJK}]|(?:(?![{CJK}])[^\W_])+")


def has_cjk(text: str) -> bool:
    """True if a text has characters of scripts without spaces."""
    return not text.isascii() and bool(_cjk_character().search(text))


def word_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for the words of a text in lower case."""
    return _ASCII_WORD if text.isascii() else _any_word()


def prepare(text: str) -> str:
    """Return a text for the index's own splitter: composed characters, and spaces around those of CJK scripts."""
    if text.isascii():
        return text
    marks = text.encode("utf-8", "replace").translate(_SCRIPTS)
    if b"\1" in marks:
        text = unicodedata.normalize("NFC", text)
    return _cjk_character().sub(r" \g<0> ", text) if b"\2" in marks else text


def words(text: str) -> list[str]:
    """Return the words of a text in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = text.lower()
    return word_pattern(text).findall(text)


def camel_pieces(text: str) -> set[str]:
    """Return the parts of the camelCase identifiers in a text, as written."""
    data = text.encode("utf-8", "replace")
    marks = data.translate(_HUMP)
    found: set[bytes] = set()
    for hump in (b"\2\1", b"\1\1\2"):
        at = marks.find(hump)
        while at >= 0:
            end = marks.find(b"\0", at)
            end = len(data) if end < 0 else end
            start = marks.rfind(b"\0", 0, at) + 1
            if end - start <= LONGEST:
                found.add(data[start:end])
            at = marks.find(hump, end)
    return {piece for word in found for piece in _pieces(word)}


@lru_cache(1 << 16)
def _pieces(word: bytes) -> tuple[str, ...]:
    return tuple(_PIECE.findall(word.decode()))
