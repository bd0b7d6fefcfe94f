"""Find what must not be shared in a text, however it is written there."""

from __future__ import annotations

import re
from collections.abc import Callable
from secrets import token_bytes
from typing import Any, TypeVar

import msgspec

from reread.base.coerce import as_dict, as_list
from reread.redaction.certain import find_certain
from reread.redaction.encodings import DEEPEST, decode_text, encoded_runs, find_written, foreign_parts
from reread.redaction.likely import find_likely
from reread.redaction.literals import Literals
from reread.redaction.normalized_text import NormalizedText, readings
from reread.redaction.personal import Personal, own_names
from reread.redaction.secret_names import TOKEN
from reread.redaction.secret_values import is_chosen, is_mixed
from reread.redaction.spans import CERTAIN, LIKELY, PERSONAL, Span, SpanSet, leaves, replace_spans

Made = TypeVar("Made", bound=msgspec.Struct)
BINARY = "binary"
"""The kind of an encoded picture, document or archive, which cannot be read here."""
SHORTEST_BINARY = 100
_MAGIC = tuple(
    "iVBORw0KGgo /9j/ R0lGOD UklGR JVBERi0 UEsDB H4sI QlpoO /Td6WFo KLUv/ N3q8ryc SUkqA TU0AK "
    "AAAAIGZ0eXB AAAAHGZ0eXB AAAAGGZ0eXB U1FMaXRl f0VMRg TVqQ T2dnUw SUQz AAABAA".split()
)
"""How encoded pictures, documents, archives and programs begin."""

_LINK = r"[ \t\r\n,;:/|&=()\"'`]{1,8}(?:[A-Za-z][A-Za-z_-]{0,23})?"
_HALF = r"(?P<value>[A-Za-z0-9][\w+/.~-]{13,196}[\w+/]={0,2})"
_PARTNER = re.compile(rf"[\"'`)]{{0,3}}(?:{_LINK}){{1,6}}?(?<=[\s,;:/|=(\"'`]){_HALF}(?![\w+/=@-])", re.ASCII)
"""What stands a few words behind a secret, on the same line or the next."""
_PARTNER_BEFORE = re.compile(rf"(?<![\w+/.~@-]){_HALF}[\"'`)]{{0,3}}(?:{_LINK}){{1,7}}\Z", re.ASCII)
"""What stands a few words before it."""
LONGEST_PAIR = 400


class SecretScanner:
    """Finds secrets and personal details in texts."""

    def __init__(self, personal: Personal | None = None, literals: Literals | None = None) -> None:
        self.personal = personal
        self.literals: Literals = literals if literals is not None else Literals()

    def find(self, text: str, depth: int = 0) -> list[Span]:
        """Return what must not be shared, in order; nothing overlaps."""
        found = SpanSet()
        others = list(readings(text))
        self._find_in(text, found)
        for at, view in others:
            self._find_in(view.text, found, view, at)
        if depth < DEEPEST:
            self._find_encoded(text, found, depth)
            for at, view in others:
                self._find_encoded(view.text, found, depth, view, at)
        return found.ordered()

    def _find_in(self, text: str, found: SpanSet, view: NormalizedText | None = None, at: int = 0) -> None:
        """Add what is in one reading of a text, or of the part of it that begins somewhere."""
        own: list[tuple[int, int]] | None = None

        def add(span: Span) -> None:
            nonlocal own
            own = find_written(text) if own is None else own  # few texts have a span
            for part in foreign_parts(span, text, own):
                found.add(_moved(part, view, at))

        certain = list(find_certain(text))
        for span in (*certain, *(partner for span in certain if (partner := _partner(text, span)) is not None)):
            add(span)
        known = list(self.literals.find(text)) if self.literals else []
        for span in known:
            if span.level != PERSONAL:
                add(span)
        for match in find_likely(text):
            add(Span(match.start, match.end, text[match.start : match.end], match.kind, LIKELY, name=match.name))
        if self.personal is not None:
            for span in self.personal.find(text):
                add(span)
        for span in known:  # a name last, as it may be part of an address
            add(span)

    def _find_encoded(
        self, text: str, found: SpanSet, depth: int, view: NormalizedText | None = None, at: int = 0
    ) -> None:
        """Add the encoded texts in one reading that contain something, and encoded pictures."""
        for start, end, encoded in encoded_runs(text):
            if encoded.startswith(_MAGIC) and len(encoded) >= SHORTEST_BINARY:
                found.add(_moved(Span(start, end, encoded, BINARY, CERTAIN), view, at))
                continue
            decoded = decode_text(encoded)
            inner = self.find(decoded.text, depth + 1) if decoded is not None else ()
            if decoded is not None and inner:
                whole = Span(start, end, encoded, BINARY, CERTAIN, decoded.text, tuple(inner), decoded.encode)
                found.add(_moved(whole, view, at))


def _partner(text: str, known: Span) -> Span | None:
    """Return what stands beside a secret and looks like the other half of a pair: the secret of an id of a key."""
    found = _PARTNER.match(text, known.end)
    if found is not None and (is_chosen if "\n" in found[0] else is_mixed)(found["value"]):
        return Span(*found.span("value"), found["value"], TOKEN, LIKELY, name=f"beside_{known.kind}")
    first = max(0, known.start - LONGEST_PAIR)
    found = _PARTNER_BEFORE.search(text[first : known.start])
    if found is None or not is_chosen(found["value"]):
        return None
    start, end = found.span("value")
    return Span(first + start, first + end, found["value"], TOKEN, LIKELY, name=f"beside_{known.kind}")


def _moved(span: Span, view: NormalizedText | None, at: int) -> Span:
    """Return a span of a reading with its place in the text."""
    if view is None:
        return span
    start, end = view.span(span.start, span.end)
    return msgspec.structs.replace(span, start=at + start, end=at + end)


def text_cleaner(*, personal: bool = True) -> Callable[[str], str]:
    """Return a function that cleans single texts of which nobody is asked.

    A secret is replaced by its kind, personal details by pseudonyms that are the same in all texts.
    """
    users, hosts = own_names() if personal else ([], [])
    known = Personal(token_bytes(16), users=users, hosts=hosts) if personal else None
    scanner = SecretScanner(known, Literals(known.known()) if known is not None else None)

    def replacement(span: Span) -> str:
        return known.pseudonym(span.kind, span.value) if known and span.level == PERSONAL else f"[{span.kind}]"

    def clean(text: str) -> str:
        spans = scanner.find(text)
        new = [span for span in leaves(spans) if span.level != PERSONAL and span.kind != BINARY]
        for span in new:  # it may stand here or later without what gave it away
            scanner.literals.add(span)
        return replace_spans(text, scanner.find(text) if new else spans, replacement)

    return clean


def clean_struct(made: Made, **kept: Any) -> Made:
    """Return a struct with every text in it cleaned, and some fields as they are given."""
    clean_text = text_cleaner()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, list):
            return list(map(clean, as_list(value)))
        return {name: clean(item) for name, item in as_dict(value).items()} if isinstance(value, dict) else value

    once = clean(msgspec.to_builtins(made))  # and again: a later text may give away what an earlier one has
    return msgspec.convert({**clean(once), **kept}, type(made))
