"""Other readings of a text: escapes decoded, broken words joined; each knows where its characters came from."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

DEEPEST = 3
"""How often a text may have been escaped."""

_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:u\{(?P<long>[0-9A-Fa-f]{1,6})\}|U(?P<longest>[0-9A-Fa-f]{8})"
    r"|u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\{1,16}u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    r"|u(?P<wide>(?![dD][89a-fA-F])[0-9A-Fa-f]{4})|x(?P<byte>[0-7][0-9A-Fa-f])|(?P<octal>[01][0-7]{2})"
    r"|(?P<bytes>x[c-fC-F][0-9A-Fa-f](?:\\{1,16}x[89abAB][0-9A-Fa-f]){1,3})|(?P<letter>[\"'/nrt_~*.$+\[\]-]))"
    r"|%(?:25){0,3}(?P<percent>[2-7][0-9A-Fa-f]|[c-fC-F][0-9A-Fa-f](?:%(?:25){0,3}[89abAB][0-9A-Fa-f]){1,3})"
    r"|&(?:(?:amp;)?(?:#[xX]0{0,4}(?P<hexadecimal>[0-9A-Fa-f]{2,6});?|#0{0,4}(?P<number>[0-9]{2,7});?)"
    r"|(?P<name>quot|apos|amp|lt|gt|nbsp|shy|zwj|zwnj|lrm|rlm|ZeroWidthSpace|lsqb|rsqb|colon|equals);)"
)
"""A character written as an escape of JSON, a shell, a URL, HTML or Markdown."""
_LETTERS = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "quot": '"',
    "apos": "'",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "nbsp": " ",
    "lsqb": "[",
    "rsqb": "]",
    "colon": ":",
    "equals": "=",
    **dict.fromkeys(("shy", "zwj", "zwnj", "lrm", "rlm", "ZeroWidthSpace"), "\u200b"),
}
_HIDING = re.compile(
    r"(?<!\\)\\++(?:u\{|U000[0eE]|u(?:00|03|06|07|08|11|17|18|20|21|30|31|[fF][eEfF]|[dD][bB]40)|x[1-7c-fC-F]|[01][0-7]{2}|[/_~-])"
    r"|(?<=[A-Za-z0-9+/]{40})\\++n|%[2-7c-fC-F][0-9A-Fa-f]|&(?:(?:amp;)?#|quot;|apos;|nbsp;|shy;|zw|lrm;|rlm;|Zero)"
)
"""Escapes that can be part of a secret, or end a line of base64."""
_IGNORABLE = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""All of category Cf, and all that Unicode calls ignorable by default: joiners, marks of direction, variants, tags."""
_COMBINING = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_SPACES, _WIDE = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000", "\uff01-\uff5e"
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1b\x7f-\x9f"
_UNSEEN = re.compile(f"[{_CONTROL}{_IGNORABLE}{_COMBINING}{_SPACES}{_WIDE}]")
"""The first character of all such text."""
_PRINTED = bytes((9, 10, 13, *range(32, 127)))
_STRING_BODY = "[^\x07\x1b\x80-\x9f\n\x1e\x1f]{0,2048}"
_INVISIBLE = re.compile(
    "(?P<nothing>(?:(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    f"|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f]){_STRING_BODY}(?:\x07|\x1b\\\\|\x9c)"
    f"|\x1b[ -/]{{1,4}}[0-~]|\x1b[0-~]|[{_CONTROL}{_IGNORABLE}{_COMBINING}])+)"
    f"|(?P<space>[{_SPACES}])|(?P<wide>[{_WIDE}])"
)
"""Text that a terminal does not print (colours, links, other commands) or that has no width; spaces, wide letters."""
_OVERSTRUCK = re.compile("[^\n\x08\x1e\x1f]\x08")
_FULL_WIDTH = 0xFEE0
_LINE_END = r"[ \t\"'`\\+|│=]{0,6}(?:\r?\n|(?:(?<!\\)\\++r)?(?<!\\)\\++n)[ \t]*+(?:\d{1,7}[→:|\t])?"
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
"""The end of a line of a command that goes on in the next."""
_QUOTES = r"(?:[ \t\"'`]|\\+[\"'])*+"
_NEXT = r"(?=[\w+/=.:~$-])"
_BREAK = re.compile(rf"{_LINE_END}{_QUOTES}{_NEXT}")
"""The text between two parts of a word that a terminal or a listing broke over lines."""
_MARKED_BREAK = re.compile(rf"{_LINE_END}[ \t]*+[+<>|│#*-]{_QUOTES}{_NEXT}")
"""The same in a diff, a quotation or a comment, where each line begins with a mark."""


class _Part(NamedTuple):
    """A part of a view: copied characters, or one that was escaped."""

    source: int
    source_end: int
    """Where an escape ends in the original; -1 for copied characters."""


class NormalizedText:
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


class _ViewOfView(NormalizedText):
    """A view of another view's text."""

    def __init__(self, outer: NormalizedText, inner: NormalizedText) -> None:
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


def _substitute(text: str, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str]) -> NormalizedText | None:
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
    return NormalizedText("".join(pieces), starts, parts)


def unescape(text: str) -> NormalizedText | None:
    """Return the text with escapes decoded; None if it has none."""
    return _substitute(text, _ESCAPE, _decode)


def _decode(found: re.Match[str]) -> str:
    form = found.lastgroup or ""
    code = found[form]
    if form in ("letter", "name"):
        return _LETTERS.get(code, code)
    if form == "low":
        return _character(0x10000 + ((int(found["high"], 16) - 0xD800) << 10) + int(code, 16) - 0xDC00, found[0])
    if form == "bytes" or len(code) > 8 or "%" in code:
        pairs = re.findall(r"(?:[xX%]|\A)(?:25)*([89a-fA-F][0-9A-Fa-f])", code)
        return bytes.fromhex("".join(pairs)).decode("utf-8", "replace")
    return _character(int(code, {"number": 10, "octal": 8}.get(form, 16)), found[0])


def _character(code: int, escape: str) -> str:
    """Return a character by its number; the escape itself if there is none."""
    return chr(code) if 9 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else escape


def joined_words(text: str) -> Iterator[NormalizedText]:
    """Yield a text with words joined that were broken over lines."""
    for pattern in (_BREAK, _MARKED_BREAK):
        view = _substitute(text, pattern, lambda _: "")
        if view is not None:
            yield view


def visible(text: str) -> NormalizedText | None:
    """Return the text as one sees it: without what is not printed or has no width; None if it has none of that."""
    others = text.encode("utf-8", "replace").translate(None, _PRINTED)  # each is looked at once: most texts have few
    if not others or not any(map(_UNSEEN.match, set(others.decode()))):
        return None
    view = _substitute(text, _OVERSTRUCK, lambda _: "") if "\x08" in text else None
    shown = _substitute(view.text if view is not None else text, _INVISIBLE, _as_seen)
    return _ViewOfView(view, shown) if view is not None and shown is not None else view or shown


def _as_seen(found: re.Match[str]) -> str:
    if found.lastgroup == "wide":
        return chr(ord(found[0]) - _FULL_WIDTH)
    return " " if found.lastgroup == "space" else ""


def readings(text: str) -> Iterator[tuple[int, NormalizedText]]:
    """Yield every other reading of a text or of a line of it, and where that begins."""
    view = visible(text)
    if view is not None:
        yield 0, view
    yield from _continued(text)
    for at, unescaped in _unescaped(text):
        yield at, unescaped
        view = visible(unescaped.text)
        if view is not None:
            yield at, _ViewOfView(unescaped, view)


def _continued(text: str) -> Iterator[tuple[int, NormalizedText]]:
    """Yield each command that stands on several lines, as if it were on one; and where it begins."""
    done = 0
    while (found := _CONTINUED.search(text, done)) is not None:
        start = max(done, text.rfind("\n", 0, found.start()) + 1)
        while found is not None:  # up to the end of the first line that does not go on
            done = text.find("\n", found.end())
            done = len(text) if done < 0 else done
            found = _CONTINUED.match(text, done - 1 - (text[done - 1] == "\r"))
        view = _substitute(text[start:done], _CONTINUED, lambda _: " ")
        if view is not None:
            yield start, view


def _unescaped(text: str) -> Iterator[tuple[int, NormalizedText]]:
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
