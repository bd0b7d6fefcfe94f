"""Other readings of a text: escapes decoded, broken words joined; each knows where its characters came from."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

DEEPEST = 3
"""How often a text may have been escaped."""

_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:u\{?((?!d[89a-f])[0-9A-Fa-f]{4})\}?|x([0-7][0-9A-Fa-f])|([01][0-7]{2})|([\"'/nrt_~*.$+-]))"
    r"|%(?:25){0,3}([2-7][0-9A-Fa-f])"
    r"|&(?:(?:amp;)?(?:#x0{0,4}([2-7][0-9A-Fa-f]);?|#0{0,4}(\d{2,3});?)|(quot|apos|amp|lt|gt);)"
)
"""A character written as an escape of JSON, a shell, a URL, HTML or Markdown."""
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}
_HIDING = re.compile(
    r"(?<!\\)\\++(?:u\{?(?:00|20|21|fe|FE)|x[1-7]|[01][0-7]{2}|[/_~-])|(?<=[A-Za-z0-9+/]{40})\\++n"
    r"|%[2-7][0-9A-Fa-f]|&(?:(?:amp;)?#|quot;|apos;)"
)
"""Escapes that can be part of a secret, or end a line of base64."""
_INVISIBLE = re.compile("(?:\x1b\\[[0-9;]{0,16}[A-Za-z]|[\u00ad\u200b-\u200d\u2060\ufeff])++")
"""Codes that colour a text, and characters without a width."""
_LINE_END = r"[ \t\"'`\\+|│=]{0,6}(?:\r?\n|(?:(?<!\\)\\++r)?(?<!\\)\\++n)[ \t]*+(?:\d{1,7}[→:|\t])?"
_QUOTES = r"(?:[ \t\"'`]|\\+[\"'])*+"
_NEXT = r"(?=[\w+/=.:~$-])"
_BREAK = re.compile(rf"{_LINE_END}{_QUOTES}{_NEXT}")
"""What stands between two parts of a word that a terminal or a listing broke over lines."""
_MARKED_BREAK = re.compile(rf"{_LINE_END}[ \t]*+[+<>|│#*-]{_QUOTES}{_NEXT}")
"""The same in a diff, a quotation or a comment, where each line begins with a mark."""


class _Part(NamedTuple):
    """A part of a view: copied characters, or one that was escaped."""

    source: int
    source_end: int
    """Where an escape ends in the original; -1 for copied characters."""


class View:
    """A text made from another, with the places in the original."""

    def __init__(self, text: str, starts: list[int], parts: list[_Part]) -> None:
        self.text = text
        self._starts = starts
        self._parts = parts

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the view lies in the original."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        opening, closing = self._parts[first], self._parts[last]
        at = opening.source + (start - self._starts[first] if opening.source_end < 0 else 0)
        return at, closing.source_end if closing.source_end >= 0 else closing.source + end - self._starts[last]

    def is_joint(self, at: int) -> bool:
        """True if something was left out of the original just before a character."""
        part = bisect_right(self._starts, at) - 1
        return part > 0 and self._starts[part] == at

    def next_joint(self, after: int, until: int) -> int | None:
        """Return the first place after one, up to another, where something was left out."""
        part = bisect_right(self._starts, after)
        return self._starts[part] if part < len(self._starts) and self._starts[part] <= until else None

    def last_joint(self, start: int, end: int) -> int:
        """Return the last place before the end where something was left out; the start if there is none."""
        return max(start, self._starts[bisect_left(self._starts, end) - 1])


class _ViewOfView(View):
    """A view of another view's text."""

    def __init__(self, outer: View, inner: View) -> None:
        self.text = inner.text
        self._outer, self._inner = outer, inner

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self._outer.span(*self._inner.span(start, end))

    def is_joint(self, at: int) -> bool:
        return self._inner.is_joint(at)

    def next_joint(self, after: int, until: int) -> int | None:
        return self._inner.next_joint(after, until)

    def last_joint(self, start: int, end: int) -> int:
        return self._inner.last_joint(start, end)


def _substitute(text: str, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str]) -> View | None:
    """Return the view in which every match of a pattern is decoded; None if there is none."""
    pieces: list[str] = []
    starts, parts = [0], [_Part(0, -1)]
    done = size = 0
    for found in pattern.finditer(text):
        start, end = found.span()
        new = decode(found)
        pieces += (text[done:start], new)
        size += start - done
        if new:
            starts.append(size)
            parts.append(_Part(start, end))
            size += len(new)
        starts.append(size)
        parts.append(_Part(end, -1))
        done = end
    if not pieces:
        return None
    pieces.append(text[done:])
    return View("".join(pieces), starts, parts)


def unescape(text: str) -> View | None:
    """Return the text with escapes decoded; None if it has none."""
    return _substitute(text, _ESCAPE, _decode)


def _decode(found: re.Match[str]) -> str:
    wide, byte, octal, letter, percent, hexadecimal, number, name = found.groups()
    code = wide or byte or percent or hexadecimal
    if code is not None:
        return chr(int(code, 16))
    if number is not None:
        return chr(int(number)) if 9 <= int(number) < 127 else found[0]
    if octal is not None:
        return chr(int(octal, 8))
    return _LETTERS.get(letter or name, letter)


def joined_words(text: str) -> Iterator[View]:
    """Yield a text with words joined that were broken over lines."""
    for pattern in (_BREAK, _MARKED_BREAK):
        view = _substitute(text, pattern, lambda _: "")
        if view is not None:
            yield view


def visible(text: str) -> View | None:
    """Return the text without what nobody sees: colours, characters without a width; None if it has none of it."""
    if text.isascii() and "\x1b[" not in text:
        return None
    return _substitute(text, _INVISIBLE, lambda _: "")


def readings(text: str) -> Iterator[tuple[int, View]]:
    """Yield every other reading of a text or of a line of it, and where that begins."""
    view = visible(text)
    if view is not None:
        yield 0, view
    for at, unescaped in _unescaped(text):
        yield at, unescaped
        view = visible(unescaped.text)
        if view is not None:
            yield at, _ViewOfView(unescaped, view)


def _unescaped(text: str) -> Iterator[tuple[int, View]]:
    """Yield each line in which escapes may hide a secret, with them decoded, once and again; and where it begins."""
    if not ("\\" in text or "%" in text or "&" in text):
        return
    done = 0
    while (found := _HIDING.search(text, done)) is not None:
        start = max(done, text.rfind("\n", 0, found.start()) + 1)
        done = text.find("\n", found.end())
        done = len(text) if done < 0 else done
        view = unescape(text[start:done])
        for _ in range(DEEPEST):
            if view is None:
                break
            yield start, view
            more = unescape(view.text) if _HIDING.search(view.text) else None
            view = _ViewOfView(view, more) if more is not None else None
