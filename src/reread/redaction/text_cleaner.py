"""Replace what must not be shared in single texts, of which nobody is asked: a secret by its kind."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_bytes

from reread.redaction.literals import Literals
from reread.redaction.personal import Personal, own_names
from reread.redaction.scan import BINARY, SecretScanner
from reread.redaction.spans import PERSONAL, Span, leaves, replace_spans


def text_cleaner(*, personal: bool = True) -> Callable[[str], str]:
    """Return a function that replaces secrets, and personal details by pseudonyms that are the same in all texts."""
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
