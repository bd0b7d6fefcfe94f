"""Parts of a text that are to be replaced."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

CERTAIN, LIKELY, PERSONAL = "certain", "likely", "personal"
OWN_TEXT = "text"
"""The kind of what someone asked to replace."""
LEVELS = (CERTAIN, LIKELY, PERSONAL)
"""The classes: replaced, to be decided, and replaced by a pseudonym."""


class Span(msgspec.Struct, frozen=True):
    """A part of a text that is a secret or a personal detail, or an encoded text that contains some."""

    start: int
    end: int
    value: str
    """The secret itself, decoded."""
    kind: str
    """The class of it: `github-token`, `password`, `email` …"""
    level: str
    """`certain`, `likely` or `personal`."""
    decoded: str = ""
    """If this is an encoded text, what it says."""
    inner: tuple[Span, ...] = ()
    """The secret in that."""
    encode: Callable[[str], str] = str
    """Encodes such a text again."""
    name: str = ""
    """The name of a likely secret."""


Replacement = Callable[[Span], str | None]
"""Returns what a span is replaced by; None if it is kept."""


def leaves(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans with what was found inside encoded texts instead of these; a likely one comes too."""
    for span in spans:
        if not span.inner or span.level == LIKELY:
            yield span
        yield from leaves(span.inner)


def new_text(span: Span, replacement: Replacement) -> str | None:
    """Return what a span is replaced by; an encoded text is encoded again, unless it is a secret as a whole."""
    new = replacement(span) if not span.inner or span.level == LIKELY else None
    if new is not None or not span.inner:
        return new
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


def edit(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Return a text with parts of it replaced: where each begins and ends, in order, and what comes there."""
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    return text


class SpanSet:
    """Spans that do not overlap. What was added first stays, but all of what is certain is covered."""

    def __init__(self) -> None:
        self._bounds: list[tuple[int, int]] = []
        self._spans: dict[int, Span] = {}

    def add(self, span: Span) -> None:
        """Add a span; of one that overlaps others, only what is certain, and of that what they leave."""
        if span.end <= span.start:
            return
        overlapped = self._overlapped(span)
        if span.inner and len(overlapped) == 1 and self._join(span, *overlapped[0]):
            return
        if overlapped and (span.level != CERTAIN or (span.inner and any(map(self._is_plain, overlapped)))):
            return
        start = span.start
        for low, high in overlapped:
            is_covered = span.start <= low and high <= span.end
            if is_covered and (span.inner or self._spans[low].level != CERTAIN):
                self._bounds.remove((low, high))
                del self._spans[low]
                continue
            self._insert(span, start, low)
            start = high
        self._insert(span, start, span.end)

    def _join(self, encoded: Span, low: int, high: int) -> bool:
        """Make one span of an encoded text and the likely secret that it is, so that either can be replaced."""
        likely = self._spans[low]
        if likely.level != LIKELY or not (low <= encoded.start and encoded.end <= high):
            return False
        secret = sum(len(span.value) for span in leaves(encoded.inner) if span.level == CERTAIN)
        if likely.inner or len(likely.value) != high - low or secret * 2 >= len(encoded.decoded):
            return False
        before, after = likely.value[: encoded.start - low], likely.value[encoded.end - low :]

        def encode(text: str) -> str:
            return before + encoded.encode(text) + after

        inner = {"decoded": encoded.decoded, "inner": encoded.inner, "encode": encode}
        self._spans[low] = msgspec.structs.replace(likely, **inner)
        return True

    def _is_plain(self, place: tuple[int, int]) -> bool:
        """True if what is certain at a place is written out, not encoded."""
        start, end = place
        span = self._spans[start]
        return span.level == CERTAIN and not span.inner and len(span.value) == end - start

    def _overlapped(self, span: Span) -> list[tuple[int, int]]:
        at = bisect_right(self._bounds, (span.start, span.start))
        first = at - 1 if at and self._bounds[at - 1][1] > span.start else at
        last = first
        while last < len(self._bounds) and self._bounds[last][0] < span.end:
            last += 1
        return self._bounds[first:last]

    def _insert(self, span: Span, start: int, end: int) -> None:
        if start < end:
            insort(self._bounds, (start, end))
            self._spans[start] = span if (start, end) == (span.start, span.end) else _part(span, start, end)

    def ordered(self) -> list[Span]:
        """Return all spans in order."""
        return [self._spans[start] for start, _ in self._bounds]


def _part(span: Span, start: int, end: int) -> Span:
    """Return a part of a span, which is replaced as all of it."""
    return Span(start, end, span.value, span.kind, span.level, name=span.name)
