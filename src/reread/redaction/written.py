"""The text that the redactor wrote in one export, known by its exact text, so that it is never taken for a secret.

Replacing has to end: `password = [redacted-password-1]` still has a value after a name for a secret, and a token that
was replaced inside base64 is base64 behind the same name again. A text that only looks like a replacement is not
trusted: every replacement is kept here when it is made, and an encoded text when it was encoded again. What stands
beside one of them is looked at as ever, so each round leaves less that is not ours, and the last finds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from reread.redaction.literals import Literals
from reread.redaction.spans import CERTAIN, Span

_OPEN, _CLOSE = r"(?:\\{0,8}\[|%(?:25)?5[Bb]|&#(?:91|x5[Bb]);)", r"(?:\\{0,8}\]|%(?:25)?5[Dd]|&#(?:93|x5[Dd]);)"
_REPLACEMENT = re.compile(rf"{_OPEN}(?P<name>redacted-[A-Za-z0-9-]{{1,90}})(?P<end>{_CLOSE})?")
_PSEUDONYM = re.compile(
    r"(?:person-[0-9a-f]{6}@example\.com|owner-[0-9a-f]{6}(?:/repo-[0-9a-f]{6})?|(?:user|host|person)-[0-9a-f]{6})"
)

_SIGNS = " \t\r\n\"'`\\,.;:!?()[]{}<>|=&/*_-+@#$%~^"
"""Text between two replacements that says nothing."""


class WrittenTexts:
    """Replacements, pseudonyms and encoded texts that were written instead of others."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._sorted: list[str] | None = None
        self._pseudonyms: set[str] = set()
        self._encoded = Literals()

    def add(self, replacement: str) -> None:
        """Remember what something is replaced by."""
        found = _REPLACEMENT.fullmatch(replacement)
        if found is None:
            self._pseudonyms.add(replacement)
        else:
            self._names.add(found["name"])
            self._sorted = None

    def noting(self, encode: Callable[[str], str]) -> Callable[[str], str]:
        """Return a function that encodes a text and remembers what came of it."""

        def noted(text: str) -> str:
            encoded = encode(text)
            self._encoded.add(Span(0, 0, encoded, "", CERTAIN))
            return encoded

        return noted

    def update(self, other: WrittenTexts) -> None:
        """Remember all that another one knows."""
        self._names |= other._names
        self._pseudonyms |= other._pseudonyms
        self._encoded.update(other._encoded)
        self._sorted = None

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return where a text is of our own writing, in order."""
        found = list(self._replacements(text)) if "redacted-" in text else []
        if self._pseudonyms:
            found += (match.span() for match in _PSEUDONYM.finditer(text) if match[0] in self._pseudonyms)
        if self._encoded:
            found += ((span.start, span.end) for span in self._encoded.find(text))
        return sorted(found)

    def _replacements(self, text: str) -> Iterator[tuple[int, int]]:
        for found in _REPLACEMENT.finditer(text):
            is_whole = found["end"] is not None and found["name"] in self._names
            if is_whole or (found["end"] is None and self._is_beginning(found["name"])):
                yield found.span()

    def _is_beginning(self, name: str) -> bool:
        """True for the beginning of a replacement that a title or a preview cut off."""
        if self._sorted is None:
            self._sorted = sorted(self._names)
        at = bisect_left(self._sorted, name)
        return at < len(self._sorted) and self._sorted[at].startswith(name)


def foreign_parts(span: Span, text: str, own: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield what a span has besides our own writing; all of what is certain, unless it is ours as a whole."""
    within = [(start, end) for start, end in own if start < span.end and span.start < end]
    if not within:
        yield span
        return
    if span.level == CERTAIN:
        if not any(start <= span.start and span.end <= end for start, end in within):
            yield span
        return
    at = span.start
    for start, end in (*within, (span.end, span.end)):
        part = text[at : max(at, start)]
        value = part.strip(_SIGNS)
        if value:
            first = at + part.index(value)
            yield Span(first, first + len(value), value, span.kind, span.level, name=span.name)
        at = max(at, end)
