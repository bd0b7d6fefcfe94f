"""The words of a text, as the index and queries split it.

A word is a run of letters and digits in lower case, without accents. So an identifier, a path or a flag is a phrase of
its parts, and each part is found too. Scripts without spaces are split into characters, which also frees identifiers
between them, and every emoji is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

LONGEST = 128
"""Longer words are not indexed: they are data, such as pictures in base64."""
CJK = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces, as the inside of a character class."""
EMOJI = (
    "\u203c\u2049\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Emoji and signs like them, as the inside of a character class."""
LETTERS = {
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ħ": "h",
    "ı": "i",
    "ς": "σ",
}
"""Letters that are also written with others, and that Unicode does not take apart."""
ACCENTED = (
    (0xA0, 0x52F),
    (0x1D00, 0x1FFF),
    (0x2070, 0x209F),
    (0x2100, 0x218F),
    (0x2460, 0x24FF),
    (0xFB00, 0xFB06),
    (0xFF01, 0xFF5E),
    (0x1D400, 0x1D7FF),
)
"""The first and the last of characters that are also written with others: with accents, as ligatures, in full width."""
SCRIPTS = ((0x591, 0xDFF), (0x1AB0, 0x1CFF), (0x20D0, 0x20FF), (0xFE00, 0xFE2F))
"""The first and the last of characters that have marks among them: vowel points, tones, variants."""
ESCAPES = r"\\[nrtbfv0]", r"\\x[0-9A-Fa-f]{2}", r"\\u[0-9A-Fa-f]{4}"
"""Escapes of strings, which stay in texts that quote code: their letters are no part of the word after them."""
FEW = 120
"""So many different characters are replaced one after the other, which is fastest."""
_ASCII_WORD = re.compile("[0-9a-z]+")
_ESCAPED_WORD = re.compile(rf"(?:{'|'.join(ESCAPES)})([0-9A-Za-z]+)")
_ASCII = bytes(range(128))
_EMOJI_TERM = "emoji"
_COMPOSED = re.compile("[\u1100-\u11ff\u3099\u309a]")
"""Parts of characters of CJK scripts."""
_HALF_WIDTH = re.compile("[\uff66-\uff9f]+")
"""Kana in half width: a sound mark is a character of its own there, so several may become one."""
_HUMP = bytes((2 if 48 <= n <= 57 or 97 <= n <= 122 else 1 if 65 <= n <= 90 else 0) for n in range(256))
"""Marks capitals, other letters and digits, and the rest of ASCII."""
_IDENTIFIER = re.compile("[0-9A-Za-z]+")
_WRITTEN = re.compile(r"\w+")
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


@cache
def _single() -> re.Pattern[str]:
    """Return the pattern of a word of one character; compiled when needed, since that takes some milliseconds."""
    return re.compile(f"[{CJK}{EMOJI}]")


@cache
def _any_word() -> re.Pattern[str]:
    return re.compile(rf"[{CJK}{EMOJI}]|(?:(?![{CJK}])[^\W_])+")


def has_single(text: str) -> bool:
    """True if a text has characters that are words by themselves: emoji, and those of scripts without spaces."""
    return not text.isascii() and bool(_single().search(text))


def word_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for the words of a text in lower case."""
    return _ASCII_WORD if text.isascii() else _any_word()


def prepare(text: str) -> str:
    """Return a text for the index's own splitter: folded, with spaces around words of one character."""
    return _replaced(text, _prepared)


def fold(text: str) -> str:
    """Return a text with letters as they are written without accents, ligatures and other forms of the same letter."""
    return _replaced(text, folded_character)


def term(word: str) -> str:
    """Return a word as the index has it, whose splitter drops emoji."""
    return f"{_EMOJI_TERM}{ord(word):x}" if len(word) == 1 and not word.isalnum() else word


def _replaced(text: str, written: Callable[[str], str]) -> str:
    """Return a text with each character that is not ASCII as a rule writes it."""
    if text.isascii():
        return text
    found = set(text.encode("utf-8", "replace").translate(None, _ASCII).decode())
    if any(map(_HALF_WIDTH.match, found)):
        text = _HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
        found.update(text)
    if any(map(_COMPOSED.match, found)):
        text = unicodedata.normalize("NFC", text)
        found.update(text)
    changed = {character: new for character in found if (new := written(character)) != character}
    if len(changed) > FEW:
        return text.translate(str.maketrans(changed))
    for character, new in changed.items():
        text = text.replace(character, new)
    return text


@lru_cache(1 << 16)
def _prepared(character: str) -> str:
    if _single().match(character):
        return f" {term(character)} "
    return folded_character(character)


@lru_cache(1 << 16)
def folded_character(character: str) -> str:
    """Return how a character is written without accents, ligatures and other forms of the same letter."""
    code = ord(character)
    if _in(code, SCRIPTS):
        return "" if unicodedata.category(character).startswith("M") else character
    if not _in(code, ACCENTED):
        return character
    lower = unicodedata.normalize("NFKD", character).lower()
    apart = unicodedata.normalize("NFKD", "".join(LETTERS.get(letter, letter) for letter in lower))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _in(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def words(text: str) -> list[str]:
    """Return the words of a text in order."""
    text = fold(text).lower()
    return word_pattern(text).findall(text)


def identifier_parts(word: str) -> tuple[str, ...]:
    """Return the parts of a camelCase identifier in order and in lower case; the word itself if it has no others."""
    return tuple(map(str.lower, _pieces(word.encode())))


def camel_words(text: str) -> dict[str, str]:
    """Return the camelCase identifiers of a text by their words: as they are written, with their capitals."""
    found = {word.lower(): word for word in _IDENTIFIER.findall(fold(text))}
    return {word: written for word, written in found.items() if len(identifier_parts(written)) > 1}


def accented_words(text: str) -> dict[str, str]:
    """Return the words of a text that are indexed as others, without accents for example: as they are written."""
    found = ((words(written), written) for written in _WRITTEN.findall(unicodedata.normalize("NFC", text)))
    return {known[0]: written for known, written in found if len(known) == 1 and known[0] != written.lower()}


def word_pieces(text: str) -> set[str]:
    """Return the parts of the camelCase identifiers in a text, and the words after escapes, as written."""
    found = _camel_pieces(text)
    if "\\" in text:
        for word in _ESCAPED_WORD.findall(text):
            if len(word) <= LONGEST:
                found |= {word, *_pieces(word.encode())}
    return found


def _camel_pieces(text: str) -> set[str]:
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
