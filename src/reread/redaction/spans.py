"""Parts of a text that are to be replaced."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator

import msgspec

CERTAIN, LIKELY, PERSONAL = "certain", "likely", "personal"
SORTS = (CERTAIN, LIKELY, PERSONAL)
"""The classes: replaced, to be decided, and replaced by a pseudonym."""


class Span(msgspec.Struct, frozen=True):
    """A part of a text that is a secret or a personal detail, or an encoded text that contains some."""

    start: int
    end: int
    value: str
    """The secret itself, decoded."""
    kind: str
    """What it is: `github-token`, `password`, `email` …"""
    sort: str
    """`certain`, `likely` or `personal`."""
    decoded: str = ""
    """If this is an encoded text, what it says."""
    inner: tuple[Span, ...] = ()
    """What was found in that."""
    encode: Callable[[str], str] = str
    """Encodes such a text again."""


Replacement = Callable[[Span], str | None]
"""Returns what a span is replaced by; None if it is kept."""


def leaves(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans with what was found inside encoded texts instead of these."""
    for span in spans:
        if span.inner:
            yield from leaves(span.inner)
        else:
            yield span


def new_text(span: Span, replacement: Replacement) -> str | None:
    """Return what a span is replaced by; an encoded text is encoded again."""
    if not span.inner:
        return replacement(span)
    text = replace_spans(span.decoded, span.inner, replacement)
    return None if text == span.decoded else span.encode(text)


def replace_spans(text: str, spans: Iterable[Span], replacement: Replacement) -> str:
    """Return a text with its spans, which are in order and do not overlap, replaced."""
    pieces: list[str] = []
    done = 0
    for span in spans:
        new = new_text(span, replacement)
        if new is not None:
            pieces += (text[done : span.start], new)
            done = span.end
    return "".join([*pieces, text[done:]]) if pieces else text


class SpanSet:
    """Spans that do not overlap; what was added first stays."""

    def __init__(self) -> None:
        self._bounds: list[tuple[int, int]] = []
        self._spans: dict[int, Span] = {}

    def is_free(self, start: int, end: int) -> bool:
        """True if no span overlaps this part."""
        at = bisect_right(self._bounds, (start, end))
        if at < len(self._bounds) and self._bounds[at][0] < end:
            return False
        return at == 0 or self._bounds[at - 1][1] <= start

    def add(self, span: Span) -> bool:
        """Add a span unless it overlaps another."""
        if span.end <= span.start or not self.is_free(span.start, span.end):
            return False
        insort(self._bounds, (span.start, span.end))
        self._spans[span.start] = span
        return True

    def ordered(self) -> list[Span]:
        """Return all spans in order."""
        return [self._spans[start] for start, _ in self._bounds]
