"""Values that are known to be secret, in every form in which they may appear again without their context.

A value often has parts that are secret by themselves: what follows the name in `id:S`, `12|S` or `v1%3AS` opens the
same door, and stands alone where a script took the name off. A word, or a short value, is replaced only where it
stands alone: elsewhere it is part of another word, or of a path.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from urllib.parse import quote

from reread.redaction.encodings import decode_text, encoded_runs
from reread.redaction.secret_values import UUID, is_word_secret, is_wordlike, looks_secret
from reread.redaction.spans import LIKELY, OWN_TEXT, PERSONAL, Span
from reread.redaction.words import words_regex

SHORTEST = 4
"""A shorter value is replaced only in its own place: it appears in too many others."""
SHORTEST_WITHIN = 8
"""A shorter one is replaced only where it stands alone."""
SHORTEST_ENCODED = 12
SHORTEST_HEAD = 10
"""A secret that was cut off is found by its first half, which must have this many characters."""
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{32,}")
_ALNUM = re.compile(r"[A-Za-z0-9]", re.ASCII)
_IN_NAME = re.compile(r"[A-Za-z0-9_/\\-]", re.ASCII)
"""A character that makes a word a part of another, or of a path."""
_NAMED = re.compile(r"[A-Za-z0-9_.@-]{0,64}?(?:[:|]|%(?:25)?(?:3[aA]|7[cC]))", re.ASCII)
"""The name before a secret in the same value."""
_SEPARATOR = re.compile(r"%(?:25)?[0-9A-Fa-f]{2}|[^A-Za-z0-9]", re.ASCII)


class Literals:
    """Known values, and the search for them."""

    def __init__(self, values: Iterable[Span] = ()) -> None:
        self._whole: dict[str, Span] = {}
        """Each form of a value."""
        self._heads: dict[str, tuple[str, Span]] = {}
        """The first half of a value, with the value."""
        self._words: dict[str, Span] = {}
        """Forms that must stand alone, as names do."""
        self._pattern: re.Pattern[str] | None = None
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self._whole) + len(self._words)

    def add(self, known: Span) -> None:
        """Add a value, and the parts of it that are secret by themselves."""
        self._pattern = None
        if known.level == PERSONAL:
            self._words.setdefault(known.value, known)
            return
        self._add_forms(known.value, known)
        for part in secret_parts(known.value):
            self._add_forms(part, known)

    def _add_forms(self, value: str, known: Span) -> None:
        if len(value) < SHORTEST_WITHIN or (known.level == LIKELY and is_wordlike(value)):
            if len(value) >= SHORTEST:
                self._words.setdefault(value, known)
        elif "\n" in value or "\\n" in value:
            self._whole |= {line: known for line in _KEY_LINE.findall(value) if line not in self._whole}
        elif len(value) // 2 >= SHORTEST_HEAD:
            self._heads.setdefault(value[: len(value) // 2], (value, known))
        if len(value) >= SHORTEST_WITHIN:
            for form in forms_of(value):
                if form not in self._words:
                    self._whole.setdefault(form, known)

    def update(self, other: Literals) -> None:
        """Add all values of another one."""
        self._whole |= other._whole
        self._heads |= other._heads
        self._words |= other._words
        self._pattern = None

    def find(self, text: str) -> Iterator[Span]:
        """Yield every place where a known value appears."""
        if self._pattern is None:
            self._pattern = words_regex((*self._whole, *self._heads, *self._words))
        for found in self._pattern.finditer(text):
            form, start, end = found[0], found.start(), found.end()
            known = self._whole.get(form)
            if known is None and form in self._heads:
                value, known = self._heads[form]
                while end < len(text) and end - start < len(value) and text[end] == value[end - start]:
                    end += 1
            elif known is None:
                known = self._words[form]
                is_meant = known.level == PERSONAL or known.kind == OWN_TEXT  # in a path, too
                within = _ALNUM if is_meant else _IN_NAME
                if within.match(text[max(0, start - 1) : start]) or within.match(text[end : end + 1]):
                    continue
            yield Span(start, end, known.value, known.kind, known.level)


def secret_parts(value: str) -> Iterator[str]:
    """Yield the parts of a secret that are secret by themselves: what follows a name, and what looks so."""
    if "\n" in value:
        return
    if (0, len(value), value) in encoded_runs(value):
        decoded = decode_text(value)
        named = _NAMED.match(decoded.text) if decoded is not None else None
        if decoded is not None and named is not None:  # name:password, as a header has it
            yield decoded.text[named.end() :]
            return
    named = _NAMED.match(value)
    rest = value[named.end() :] if named is not None else ""
    if rest[:1] != "/" and is_word_secret(rest):
        yield rest
    if UUID.search(value) is not None:
        return
    at = 0
    for separator in (*_SEPARATOR.finditer(value), None):
        end = separator.start() if separator is not None else len(value)
        part = value[at:end]
        # The head of every JSON web token is the same text, and so is that of many others.
        if len(part) >= SHORTEST_WITHIN and part != value and not part.startswith("eyJ") and looks_secret(part):
            yield part
        at = separator.end() if separator is not None else end


def forms_of(value: str) -> Iterator[str]:
    """Yield a value as it is written in texts, JSON, URLs, HTML, base64 and hexadecimal."""
    yield value
    once = json.dumps(value)[1:-1]
    forms = [json.dumps(value, ensure_ascii=False)[1:-1], once, json.dumps(once)[1:-1], quote(value, safe="")]
    forms += [quote(value), escape(value), quote(quote(value, safe=""), safe="")]
    if len(value) >= SHORTEST_ENCODED:
        data = value.encode("utf-8", "replace")
        forms += [data.hex(), data.hex().upper(), *_base64_forms(data)]
    yield from (form for form in dict.fromkeys(forms) if form != value)


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield what base64 of any text that contains these bytes has in common."""
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        core = text[(0, 2, 3)[shift] : len(text) - (0 if (len(data) + shift) % 3 == 0 else 1)]
        yield core
        yield core.replace("+", "-").replace("/", "_")
