"""The findings in a session: each value once, with its places; shown masked, never whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from reread.redaction.scan import BINARY
from reread.redaction.spans import CERTAIN, LEVELS, PERSONAL, Span

MAX_PLACES = 200
"""How many places of one value are kept; the others are counted."""
CONTEXT = 48
FIELD_END = "\x1f"
"""The separator of the strings of a record in its text."""
REPLACE, KEEP = "replace", "keep"


class Occurrence(msgspec.Struct, frozen=True):
    """Where something was found."""

    file: str
    line: int
    """The number of the line; 0 in the file's name."""
    context: str = ""
    """The text around it, in which it is masked."""


class SensitiveText(msgspec.Struct):
    """A secret or a personal detail of a session."""

    id: str
    """An HMAC of the value, by which a decision about it is kept."""
    level: str
    """`certain`, `likely` or `personal`."""
    kind: str
    """The class of it: `github-token`, `password`, `email` …"""
    mask: str
    """The value with nearly all of it hidden."""
    replacement: str
    """The text that replaces it."""
    count: int = 0
    """In how many places it was found."""
    places: list[Occurrence] = []
    decision: str | None = None
    """`replace`, `keep`, or None as long as nobody decided about a likely secret."""
    name: str = ""
    """The name of a likely secret where it was found first: `db_password`, `confirm_token` …"""


def alike(findings: Iterable[SensitiveText]) -> list[list[SensitiveText]]:
    """Return findings in groups: those of one kind and name, of which a tool may print many, get the same answer."""
    groups: dict[tuple[str, ...], list[SensitiveText]] = {}
    for finding in findings:
        key = (finding.level, finding.kind, finding.name) if finding.name else (finding.id,)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def mask(value: str) -> str:
    """Return a value with nearly all of it hidden."""
    flat = " ".join(value.split())
    shown = 4 if len(flat) >= 16 else 2 if len(flat) >= 8 else 1
    return f"{flat[:shown]}… ({len(value)} characters)"


class Findings:
    """All that was found, in the order of the files."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[Span, list[Occurrence], list[int]]] = {}

    def add(self, span: Span, place: Occurrence) -> bool:
        """Add a finding; True if its value is new."""
        if span.kind == BINARY:
            return False
        key = (span.kind if span.level == PERSONAL else CERTAIN, span.value)
        known = self._found.get(key)
        if known is None:
            self._found[key] = (span, [place], [1])
            return True
        if LEVELS.index(span.level) < LEVELS.index(known[0].level):  # a password that is also a vendor's token
            self._found[key] = (span, *known[1:])
        known[2][0] += 1
        if len(known[1]) < MAX_PLACES:
            known[1].append(place)
        return False

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[tuple[Span, list[Occurrence], int]]:
        return ((span, places, counted[0]) for span, places, counted in self._found.values())


def masked_context(text: str, span: Span, others: Iterable[Span]) -> str:
    """Return the text around a span with everything found in it masked."""
    start = max(span.start - CONTEXT, text.rfind(FIELD_END, 0, span.start) + 1)
    end = min(span.end + CONTEXT, len(text))
    following = text.find(FIELD_END, span.end, end)
    end = following if following >= 0 else end
    pieces: list[str] = []
    done = start
    for other in others:
        if other.end <= start or other.start >= end:
            continue
        pieces += (text[done : max(done, other.start)], "•••" if other is not span else f"⟦{mask(span.value)}⟧")
        done = max(done, other.end)
    pieces.append(text[done:end] if done < end else "")
    return " ".join("".join(pieces).replace("\x1e", ": ").replace("\x1f", " ").split())
