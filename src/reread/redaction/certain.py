"""Secrets in a vendor's format, also if they are broken over lines.

Nearly all text has none, so it must be passed over fast: a few regular expressions find the keywords of all vendors at
once, and only the rules of a keyword that is there are tried, at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reread.redaction.normalized_text import NormalizedText, joined_words
from reread.redaction.spans import CERTAIN, Span
from reread.redaction.vendors import (
    LONGEST,
    LONGEST_BROKEN_KEYWORD,
    VendorRule,
    inner_keyword_regex,
    keyword_beginnings,
    keyword_regex,
    leading_keyword_regexes,
    rules_at,
)

LONGEST_BROKEN, MAX_LINES, BEFORE = 1_200, 16, 80
"""How much may belong to a secret that is broken over lines."""

_LINE_REST = re.compile(r"[\w+/=.:~$%-]{0,600}+[ \t\"'`\\+|│]{0,6}(?:\r?\n|(?<=\\)[nr])", re.ASCII)
"""The rest of a line that has nothing but a part of a secret."""
_LEAD = re.compile(r"\A[ \t]*+(?:\d{1,7}[→:|\t])?[ \t\"'`\\]*+")
_MARKED_LEAD = re.compile(r"\A[ \t]*+(?:\d{1,7}[→:|\t])?[ \t]*+[+<>|│#*-]?[ \t\"'`\\]*+")
_ESCAPED_END = re.compile(r"(?:(?<!\\)\\++r)?(?<!\\)\\++n")
_LONG_WORD_LINE = re.compile(r"\r?\n[ \t]*+(?:\d{1,7}[→:|\t])?[ \t]*+[+<>|│#*-]?[ \t\"'`]*+[\w+/=.:~$%-]{12}", re.ASCII)
"""A line that begins with a long word."""
_TAIL = " \t\r\"'`\\+|│="
_WORD_HEAD = re.compile(r"[ \t\d→:>+|\"'`#*\\-]{0,16}[A-Za-z0-9.]{0,76}", re.ASCII)
_ALNUM = re.compile(r"[A-Za-z0-9]", re.ASCII)
_CONTINUED = re.compile(r"[\w+/=.-]{3,512}", re.ASCII)


def find_certain(text: str) -> Iterator[Span]:
    """Yield the secrets in a vendor's format."""
    yield from find_at_keywords(text, _keywords(text))
    yield from _joined_at(text, _broken_keywords(text))


def find_at_keywords(text: str, keywords: Iterable[tuple[int, str]]) -> Iterator[Span]:
    """Yield the secrets at places where some keywords were found."""
    broken: list[int] = []
    for at, keyword in keywords:
        end, before = -1, 0
        for rule in rules_at(keyword):
            match = rule.match(text, at)
            if match is not None:
                start, end = match.span(rule.group)
                if not _is_sample(text[start:end]):
                    yield Span(start, end, text[start:end], rule.name, CERTAIN)
            before = max(before, rule.before)
        # Reading a text with its lines joined is slow, so it is done only where a secret can go on: nothing else
        # stands on its line behind it, or before a keyword that stands within its secret.
        if _LINE_REST.match(text, max(at, end - 1)) or (before and end < 0 and _continues_line(text, at, before)):
            broken.append(at)
    yield from _joined_at(text, broken)


def _joined_at(text: str, places: Iterable[int]) -> Iterator[Span]:
    for at in places:
        if _may_be_broken(text, at):
            yield from _joined(text, at)


def _keywords(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place of every keyword that may lead to a secret, and what was found there."""
    first = keyword_regex().match(text)
    if first is not None:
        yield 0, first[0]
    for pattern in leading_keyword_regexes():
        for found in pattern.finditer(text):
            yield found.start(1), found[1]
    for found in inner_keyword_regex().finditer(text):
        yield found.start(), found[0]


def _continues_line(text: str, at: int, before: int) -> bool:
    """True if what stands before a keyword may begin on the line above."""
    above, _, head = _ESCAPED_END.sub("\n", text[max(0, at - before - 24) : at]).rpartition("\n")
    return bool(above) and _WORD_HEAD.fullmatch(head) is not None


def _broken_keywords(text: str) -> Iterator[int]:
    """Yield where a line ends with the beginning of a keyword, and the next goes on with its rest."""
    beginnings = keyword_beginnings()
    for found in _LONG_WORD_LINE.finditer(text):
        end = found.start()
        yield from (at for at in range(max(0, end - LONGEST_BROKEN_KEYWORD), end) if text[at:end] in beginnings)


def _may_be_broken(text: str, at: int) -> bool:
    """True if a secret begins at a place once its lines are joined."""
    lines = _ESCAPED_END.sub("\n", text[at : at + LONGEST_BROKEN]).split("\n", MAX_LINES)
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


def _find_joined(view: NormalizedText) -> Iterator[Span]:
    text = view.text
    for keyword in keyword_regex().finditer(text):
        for rule in rules_at(keyword[0]):
            match = rule.match(text, keyword.start(), bounded=False)
            if match is None:
                continue
            start, end = match.span(rule.group)
            # No secret begins within a word, unless a line was broken just there; `\n` before it is an escape.
            is_within = _ALNUM.match(text[start - 1 : start]) and text[max(0, start - 2) : start - 1] != "\\"
            if is_within and not view.is_joint(start):
                continue
            stop = end if rule.group or rule.closing else _shortest_end(text, view, rule, start, end)
            if stop is None or _is_sample(text[start:stop]):
                continue
            yield Span(start, stop, text[start:stop], rule.name, CERTAIN)
            for rest in _continued(text, view, start, stop):
                yield Span(*rest, text[slice(*rest)], rule.name, CERTAIN)


def _shortest_end(text: str, view: NormalizedText, rule: VendorRule, start: int, end: int) -> int | None:
    """Return where a joined secret ends: at the first line end that makes it whole, else where its text does."""
    # A pattern of no fixed length would take the words of the next lines for more of the secret.
    joint = view.next_joint(start, end)
    while joint is not None and joint - start < LONGEST:
        if rule.unbounded.fullmatch(text, start, joint):
            return joint
        joint = view.next_joint(joint, end)
    is_bounded = end == len(text) or not _ALNUM.match(text[end]) or view.is_joint(end)
    return end if is_bounded else None


def _continued(text: str, view: NormalizedText, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the lines that continue a secret of no fixed length, which ends with a line."""
    width = end - view.last_joint(start, end)
    while view.is_joint(end):
        rest = _CONTINUED.match(text, end)
        if rest is None:
            return
        stop = view.next_joint(end, rest.end()) or rest.end()
        line = text[end:stop]
        is_line = stop == len(text) or view.is_joint(stop) or text[stop] in "\r\n\x1f\\\"'"
        is_mixed = any(map(str.isdigit, line)) and any(map(str.isalpha, line))
        if not is_line or len(line) > width + 4 or not is_mixed:
            return
        yield end, stop
        end = stop


def _is_sample(value: str) -> bool:
    """True for a text that only has the form of a secret: nearly all of it is one character."""
    return len(set(value[-16:])) <= 2
