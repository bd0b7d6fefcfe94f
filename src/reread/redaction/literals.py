"""Values that are known to be secret, in every form in which they may appear again without their context."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from urllib.parse import quote

from reread.redaction.spans import PERSONAL, Span
from reread.redaction.words import words_regex

SHORTEST = 4
"""A shorter value is replaced only in its own place: it appears in too many others."""
SHORTEST_ENCODED = 12
SHORTEST_HEAD = 10
"""A secret that was cut off is found by its first half, which must have this many characters."""
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{32,}")
_ALNUM = re.compile(r"[A-Za-z0-9]", re.ASCII)


class Literals:
    """Known values, and the search for them."""

    def __init__(self, values: Iterable[Span] = ()) -> None:
        self._whole: dict[str, Span] = {}
        """Each form of a value."""
        self._heads: dict[str, Span] = {}
        self._words: dict[str, Span] = {}
        """Forms that must stand alone, as names do."""
        self._pattern: re.Pattern[str] | None = None
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self._whole) + len(self._words)

    def add(self, known: Span) -> None:
        """Add a value."""
        value, self._pattern = known.value, None
        if known.level == PERSONAL or len(value) < 8:
            if len(value) >= SHORTEST or known.level == PERSONAL:
                self._words.setdefault(value, known)
            return
        for form in forms_of(value):
            self._whole.setdefault(form, known)
        if "\n" in value or "\\n" in value:
            for line in _KEY_LINE.findall(value):
                self._whole.setdefault(line, known)
        elif len(value) // 2 >= SHORTEST_HEAD:
            self._heads.setdefault(value[: len(value) // 2], known)

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
                known = self._heads[form]
                while end < len(text) and end - start < len(known.value) and text[end] == known.value[end - start]:
                    end += 1
            elif known is None:
                if _ALNUM.match(text[start - 1 : start]) or _ALNUM.match(text[end : end + 1]):
                    continue
                known = self._words[form]
            yield Span(start, end, known.value, known.kind, known.level)


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
