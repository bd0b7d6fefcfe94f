"""The text that a redaction wrote, in this export or an earlier one, which is never taken for a secret.

Replacing has to end: `password = [redacted-password-1]` still has a value after a name for a secret, and a token that
was replaced inside base64 is base64 behind the same name again. What was written is known by its form alone, so that a
shared file can be shared again: a kind from a closed list and a number have no room for a secret, and a text that only
looks like that is not trusted. What stands beside it is looked at as ever, so each round leaves less that is not ours,
and the last finds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from reread.redaction.encodings import decode_text, encoded_runs
from reread.redaction.spans import CERTAIN, LIKELY, Span
from reread.redaction.vendors import VENDORS
from reread.redaction.words import words_regex

OTHER = "secret"
"""The kind in the replacement of what another scanner found."""
KINDS = frozenset(
    (
        *(vendor.name for vendor in VENDORS),
        *("password", "key-or-token", "url-password", "authorization", "cookie", "signature", "text", OTHER),
    )
)
REDACTED, UNDECIDED = "redacted-", "undecided-"
"""How a replacement begins, and what stands in its place in a preview as long as nobody decided."""
_BEGINNINGS = sorted(f"{word}{kind}-" for word in (REDACTED, UNDECIDED) for kind in KINDS)
DEEPEST = 3
"""How many texts may be encoded in one another."""

_OPEN, _CLOSE = r"(?:\\{0,8}\[|%(?:25)?5[Bb]|&#(?:91|x5[Bb]);)", r"(?:\\{0,8}\]|%(?:25)?5[Dd]|&#(?:93|x5[Dd]);)"
_WORD = f"(?:{REDACTED}|{UNDECIDED})"
_REPLACEMENT = re.compile(rf"{_OPEN}{_WORD}{words_regex(KINDS).pattern}-[0-9]{{1,6}}(?:{_CLOSE}|(?![A-Za-z0-9-]))")
_CUT_OFF = re.compile(rf"{_OPEN}({_WORD}[a-z0-9-]{{0,90}})(?![\w\]%&\\-])")
_PSEUDONYM = re.compile(
    r"(?<![A-Za-z0-9])(?:person-[0-9a-f]{6}@example\.com|owner-[0-9a-f]{6}(?:/repo-[0-9a-f]{6})?"
    r"|(?:user|host|person|phone)-[0-9a-f]{6})(?![A-Za-z0-9])"
)

_SIGNS = " \t\r\n\"'`\\,.;:!?()[]{}<>|=&/*_-+@#$%~^"
"""Text between two replacements that says nothing."""


def find_written(text: str) -> list[tuple[int, int]]:
    """Return where a text is of our own writing, in order."""
    found = [match.span() for match in _PSEUDONYM.finditer(text)]
    if REDACTED in text or UNDECIDED in text:
        found += (match.span() for match in _REPLACEMENT.finditer(text))
        found += (match.span() for match in _CUT_OFF.finditer(text) if _is_beginning(match[1]))
    return sorted(found)


def _is_beginning(name: str) -> bool:
    """True for the beginning of a replacement that a title or a preview cut off."""
    at = bisect_left(_BEGINNINGS, name)
    return at < len(_BEGINNINGS) and _BEGINNINGS[at].startswith(name)


def foreign_parts(span: Span, text: str, own: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield what a span has besides our own writing; all of what is certain, unless it is ours as a whole."""
    within = [(start, end) for start, end in own if start < span.end and span.start < end]
    if span.level == LIKELY:
        within += (
            (span.start + start, span.start + end)
            for start, end, encoded in encoded_runs(span.value)
            if _is_written_again(encoded)
        )
    if not within:
        yield span
        return
    if span.level == CERTAIN:
        if not any(start <= span.start and span.end <= end for start, end in within):
            yield span
        return
    at = span.start
    for start, end in (*sorted(within), (span.end, span.end)):
        part = text[at : max(at, start)]
        value = part.strip(_SIGNS)
        if value:
            first = at + part.index(value)
            yield Span(first, first + len(value), value, span.kind, span.level, name=span.name)
        at = max(at, end)


def _is_written_again(encoded: str, depth: int = DEEPEST) -> bool:
    """True for an encoded text in which something was replaced; what else is in it is found there."""
    decoded = decode_text(encoded) if depth else None
    if decoded is None:
        return False
    return bool(find_written(decoded.text)) or any(
        _is_written_again(inner, depth - 1) for _, _, inner in encoded_runs(decoded.text)
    )
