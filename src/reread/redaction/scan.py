"""Find what must not be shared in a text, however it is written there."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from reread.redaction.likely import find_likely
from reread.redaction.literals import Literals
from reread.redaction.spans import CERTAIN, LIKELY, PERSONAL, Span, SpanSet
from reread.redaction.vendors import (
    LONGEST,
    LONGEST_BROKEN_KEYWORD,
    VendorRule,
    keyword_beginnings,
    keyword_regex,
    rules_at,
)
from reread.redaction.views import View, joined_words, unescaped, without_colours

if TYPE_CHECKING:
    from reread.redaction.personal import Personal

DEEPEST = 3
"""How many texts may be encoded in one another."""
SHORTEST_ENCODED = 20
BINARY = "binary"
"""The kind of an encoded picture, document or archive, which cannot be read here."""
SHORTEST_BINARY = 100
WRAPPED = 40
"""A line with so many characters of base64 may be one of several."""
LONGEST_BROKEN, MAX_LINES, BEFORE = 1_200, 16, 80
"""How much may belong to a secret that is broken over lines."""

_RUN = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_STANDARD_RUN = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
_LINE_REST = re.compile(r"[\w+/=.:~$%-]{0,600}+[ \t\"'`\\+|│]{0,4}\r?\n", re.ASCII)
"""The rest of a line that has nothing but a part of a secret."""
_ENCODED_LINE = re.compile(r"[ \t+>|-]{0,12}([A-Za-z0-9+/]+={0,2})[ \t]*(?:\r?\n|$)")
_LEAD = re.compile(r"\A[ \t]*+(?:\d{1,7}[→:|\t])?[ \t\"'`]*+")
_MARKED_LEAD = re.compile(r"\A[ \t]*+(?:\d{1,7}[→:|\t])?[ \t]*+[+<>|│#*-]?[ \t\"'`]*+")
_LONG_WORD_LINE = re.compile(r"\r?\n[ \t]*+(?:\d{1,7}[→:|\t])?[ \t]*+[+<>|│#*-]?[ \t\"'`]*+[\w+/=.:~$%-]{12}", re.ASCII)
"""A line that begins with a long word."""
_TAIL = " \t\r\"'`\\"
_ALNUM = re.compile(r"[A-Za-z0-9]", re.ASCII)
_CONTINUED = re.compile(r"[\w+/=.-]{3,512}", re.ASCII)
_MAGIC = tuple(
    "iVBORw0KGgo /9j/ R0lGOD UklGR JVBERi0 UEsDB H4sI QlpoO /Td6WFo KLUv/ N3q8ryc SUkqA TU0AK "
    "AAAAIGZ0eXB AAAAHGZ0eXB AAAAGGZ0eXB U1FMaXRl f0VMRg TVqQ T2dnUw SUQz AAABAA".split()
)
"""How encoded pictures, documents, archives and programs begin."""
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x1b")


class SecretScanner:
    """Finds secrets and personal details in texts."""

    def __init__(self, personal: Personal | None = None, literals: Literals | None = None) -> None:
        self.personal = personal
        self.literals = literals if literals is not None else Literals()

    def find(self, text: str, depth: int = 0) -> list[Span]:
        """Return what must not be shared, in order; nothing overlaps."""
        found = SpanSet()
        self._find_in(text, found)
        for at, view in unescaped(text):
            self._find_in(view.text, found, view, at)
        coloured = without_colours(text)
        if coloured is not None:
            self._find_in(coloured.text, found, coloured)
        if depth < DEEPEST:
            self._find_encoded(text, found, depth)
        return found.ordered()

    def _find_in(self, text: str, found: SpanSet, view: View | None = None, at: int = 0) -> None:
        """Add what is in one reading of a text, or of the part of it that begins somewhere."""

        def place(start: int, end: int) -> tuple[int, int]:
            start, end = view.span(start, end) if view is not None else (start, end)
            return at + start, at + end

        for span in find_certain(text):
            found.add(_moved(span, place))
        known = list(self.literals.find(text)) if self.literals else []
        for span in known:
            if span.sort != PERSONAL:
                found.add(_moved(span, place))
        for match in find_likely(text):
            value = text[match.start : match.end]
            found.add(_moved(Span(match.start, match.end, value, match.kind, LIKELY), place))
        if self.personal is not None:
            for span in self.personal.find(text):
                found.add(_moved(span, place))
        for span in known:  # a name last, as it may be part of an address
            found.add(_moved(span, place))

    def _find_encoded(self, text: str, found: SpanSet, depth: int) -> None:
        """Add the texts in base64 that contain something, and encoded pictures."""
        done = 0
        for run in _RUN.finditer(text):
            if run.start() < done:
                continue
            parts: Iterable[tuple[int, int, str]]
            if run.end() - run.start() >= WRAPPED and text[run.end() : run.end() + 2].lstrip("\r")[:1] == "\n":
                parts = _wrapped_run(text, run.start())
            else:
                parts = ((start, end, text[start:end]) for start, end in _alphabets(text, run))
            for start, end, encoded in parts:
                done = end
                if encoded.startswith(_MAGIC) and len(encoded) >= SHORTEST_BINARY:
                    found.add(Span(start, end, encoded, BINARY, CERTAIN))
                    continue
                decoded = decode_base64(encoded)
                inner = self.find(decoded[0], depth + 1) if decoded is not None else ()
                if decoded is not None and inner:
                    found.add(Span(start, end, encoded, BINARY, CERTAIN, decoded[0], tuple(inner), decoded[1]))


def _wrapped_run(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield an encoded text of several lines that begins somewhere, with its place.

    All its lines are as long as the first, but for the last, which may be shorter.
    """
    lines: list[str] = []
    at = end = start
    while at < len(text):
        line = _ENCODED_LINE.match(text, at)
        if line is None or (lines and len(line[1]) > len(lines[0])):
            break
        lines.append(line[1])
        at, end = line.end(), line.end(1)
        if len(line[1]) < len(lines[0]):
            break
    yield start, end, "".join(lines)


def _moved(span: Span, place: Callable[[int, int], tuple[int, int]]) -> Span:
    return Span(*place(span.start, span.end), span.value, span.kind, span.sort)


def find_certain(text: str) -> Iterator[Span]:
    """Yield the secrets in a vendor's format."""
    broken: list[int] = []
    for keyword in keyword_regex().finditer(text):
        at, end = keyword.start(), -1
        for rule in rules_at(keyword[0]):
            match = rule.match(text, at)
            if match is not None:
                start, end = match.span(rule.group)
                if not _is_sample(text[start:end]):
                    yield Span(start, end, text[start:end], rule.name, CERTAIN)
        if _LINE_REST.match(text, max(at, end - 1)):
            broken.append(at)
    for at in [*broken, *_broken_keywords(text)]:
        if _may_be_broken(text, at):
            yield from _joined(text, at)


def _broken_keywords(text: str) -> Iterator[int]:
    """Yield where a line ends with the beginning of a keyword, and the next goes on with its rest."""
    beginnings = keyword_beginnings()
    for found in _LONG_WORD_LINE.finditer(text):
        end = found.start()
        for size in range(2, min(end, LONGEST_BROKEN_KEYWORD) + 1):
            if text[end - size : end] in beginnings:
                yield end - size


def _may_be_broken(text: str, at: int) -> bool:
    """True if a secret begins at a place once its lines are joined."""
    lines = text[at : at + LONGEST_BROKEN].split("\n", MAX_LINES)
    for lead in (_LEAD, _MARKED_LEAD):
        joined = lines[0].rstrip(_TAIL) + "".join(lead.sub("", line.rstrip(_TAIL), count=1) for line in lines[1:])
        keyword = keyword_regex().match(joined)
        rules = rules_at(keyword[0]) if keyword is not None else ()
        if any(rule.before or rule.match(joined, 0, bounded=False) for rule in rules):
            return True
    return False


def _joined(text: str, at: int) -> Iterator[Span]:
    """Yield the secret around a place if it is broken over lines there, and the lines that continue it."""
    first = max(0, at - BEFORE)
    for view in joined_words(text[first : at + LONGEST_BROKEN]):
        for span in _find_joined(view):
            start, end = view.span(span.start, span.end)
            if first + end > at:
                yield Span(first + start, first + end, span.value, span.kind, CERTAIN)


def _find_joined(view: View) -> Iterator[Span]:
    text = view.text
    for keyword in keyword_regex().finditer(text):
        for rule in rules_at(keyword[0]):
            match = rule.match(text, keyword.start(), bounded=False)
            if match is None:
                continue
            start, end = match.span(rule.group)
            if start and _ALNUM.match(text[start - 1]) and not view.is_joint(start):
                continue
            stop = end if rule.group or rule.closing else _shortest_end(text, view, rule, start, end)
            if stop is None or _is_sample(text[start:stop]):
                continue
            yield Span(start, stop, text[start:stop], rule.name, CERTAIN)
            for rest in _continued(text, view, start, stop):
                yield Span(*rest, text[slice(*rest)], rule.name, CERTAIN)


def _first_joint(view: View, start: int, end: int) -> int | None:
    return next((at for at in range(start + 1, end + 1) if view.is_joint(at)), None)


def _shortest_end(text: str, view: View, rule: VendorRule, start: int, end: int) -> int | None:
    """Return where a joined secret ends: at the first line end that makes it whole, else where its text does."""
    joint = _first_joint(view, start, end)
    while joint is not None and joint - start < LONGEST:
        if rule.unbounded.fullmatch(text, start, joint):
            return joint
        joint = _first_joint(view, joint, end)
    is_bounded = end == len(text) or not _ALNUM.match(text[end]) or view.is_joint(end)
    return end if is_bounded else None


def _continued(text: str, view: View, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the lines that continue a secret of no fixed length, which ends with a line."""
    width = end - max(at for at in range(start, end) if at == start or view.is_joint(at))
    while view.is_joint(end):
        rest = _CONTINUED.match(text, end)
        if rest is None:
            return
        stop = _first_joint(view, end, rest.end()) or rest.end()
        line = text[end:stop]
        is_line = stop == len(text) or view.is_joint(stop) or text[stop] in "\r\n\x1f"
        is_mixed = any(map(str.isdigit, line)) and any(map(str.isalpha, line))
        if not is_line or len(line) > width + 4 or not is_mixed:
            return
        yield end, stop
        end = stop


def _is_sample(value: str) -> bool:
    """True for a text that only has the form of a secret: nearly all of it is one character."""
    return len(set(value[-16:])) <= 2


def _alphabets(text: str, run: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run that one of the two alphabets of base64 covers."""
    start, end = run.span()
    has_url = text.find("-", start, end) >= 0 or text.find("_", start, end) >= 0
    if not has_url or (text.find("+", start, end) < 0 and text.find("/", start, end) < 0):
        yield start, end
    if has_url:
        for part in _STANDARD_RUN.finditer(text, start, end):
            yield part.span()


def decode_base64(encoded: str) -> tuple[str, Callable[[str], str]] | None:
    """Return the text in base64 and how to encode it again; None if it is no text."""
    url = "-" in encoded or "_" in encoded
    body = encoded.rstrip("=")
    if len(body) < SHORTEST_ENCODED or len(body) % 4 == 1:
        return None
    altchars = b"-_" if url else None
    head = base64.b64decode(body[:24] if len(body) >= 24 else body[:20], altchars)
    wide = head[1::2].strip(b"\0") == b""
    if not wide and not _is_text(head, whole=False):
        return None
    padded = len(body) != len(encoded)
    try:
        data = base64.b64decode(body + "=" * (-len(body) % 4), altchars)
        text = data.decode("utf-16-le" if wide else "utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if not wide and not _is_text(data, whole=True):
        return None
    return text, partial(_encode_base64, url=url, padded=padded or len(body) % 4 == 0, wide=wide)


def _is_text(data: bytes, *, whole: bool) -> bool:
    if data.translate(None, _CONTROLS) != data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return not whole and error.start >= len(data) - 3
    return True


def _encode_base64(text: str, *, url: bool, padded: bool, wide: bool) -> str:
    data = text.encode("utf-16-le" if wide else "utf-8", "replace")
    out = (base64.urlsafe_b64encode(data) if url else base64.b64encode(data)).decode()
    return out if padded else out.rstrip("=")
