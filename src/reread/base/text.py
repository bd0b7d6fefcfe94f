"""Short text: one line, a title, a plural, names in a list, what an error says, and columns that line up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from reread.base import jsontext
from reread.base.format import number_text
from reread.base.late_pattern import late_pattern

LINE_LENGTH = 120
TITLE_LENGTH = 120
SHORT_ID = 8
LONGEST_PATH = 4096
TITLE_SOURCE = 4096
"""How many characters of a text a title is made from."""
_SIBILANTS = ("s", "x", "ch", "sh")
_VOWELS = "aeiou"
_HOME = late_pattern(r"^(/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")
LONGEST = 1000
"""Characters of a text whose result is remembered."""

T = TypeVar("T")
MAX_LINES, MAX_CHARS = 2000, 1000
"""How many lines are looked at, from either end, and how many characters of each."""
_COLOUR = late_pattern(r"\x1b\[[0-9;:]*m")
_ASSERTION = late_pattern(r"E\s+\S")
"""How pytest marks what failed."""
_EXCEPTION = late_pattern(r"[A-Za-z_][\w.]*(?::|$)")
"""How the last line of a traceback begins."""
_ERROR = late_pattern(r"(?:error|exception|\bfatal|\bpanic|\bpanicked|\berr!)(?:\W|$)", re.IGNORECASE)
_REFUSAL = late_pattern(
    r"\b(?:failed|cannot|can't|could not|unable|no such|not found|denied|refused|undefined|missing|invalid)\b",
    re.IGNORECASE,
)


def as_text(value: object) -> str:
    """Return a string unchanged, empty text for None, and anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else jsontext.dumps(value).decode()


def one_line(value: object, length: int = LINE_LENGTH) -> str:
    """Return a value as one line of text, cut with an ellipsis if it is longer than `length`."""
    line = " ".join(as_text(value).split(None, length))  # more words are not shown, and there may be millions
    return line if len(line) <= length else line[: length - 1] + "…"


def short_session(id: str) -> str:
    """Return the beginning of a session's id, without what all ids of a service have in common."""
    return id.removeprefix("session_")[:SHORT_ID]


def cut_words(text: str, length: int) -> str:
    """Return the beginning of a text, cut with an ellipsis after a word, or between letters beyond ASCII.

    Half of a secret would no longer be known as one, so this is how a text is cut that is scanned only later.
    """
    if len(text) <= length:
        return text
    at = length - 1
    while at and text[at].isascii() and not text[at].isspace():
        at -= 1
    return f"{text[:at].rstrip()}…"


def split_names(value: str | Iterable[str] | None) -> list[str]:
    """Return the names in one or several comma-separated lists."""
    lists = () if value is None else (value,) if isinstance(value, str) else value
    return [name.strip() for each in lists for name in each.split(",") if name.strip()]


def path_line(value: object) -> str:
    """Return a path on one line; it is cut only if no system could have it."""
    return one_line(value, LONGEST_PATH)


def as_title(text: str) -> str:
    """Return the beginning of a text as the title of a session, cut after a word with an ellipsis."""
    line = " ".join(text[:TITLE_SOURCE].split())
    if len(line) <= TITLE_LENGTH:
        return line
    kept = line[: TITLE_LENGTH - 1]
    words = kept.rpartition(" ")[0] if line[TITLE_LENGTH - 1] != " " else kept
    return f"{words if len(words) > TITLE_LENGTH // 2 else kept}…"


def home_text(path: str) -> str:
    """Return a path with `~` for a home folder, as the web UI writes it."""
    return _HOME.sub("~", path, count=1)


def plural(count: object, noun: str) -> str:
    """Return a count with its noun: `1 search`, `2,310 entries`.

    A list counts its items. The text is empty if the count is not a number.
    """
    known = len(cast(list[Any], count)) if isinstance(count, list) else count
    number = number_text(known)
    return f"{number} {noun if known == 1 else _plural_of(noun)}" if number else ""


_NARROW = late_pattern("[ -~\xa1-\xac\xae-\u02ff…–—“”]*")
"""Characters that surely take one column: letters of the West, and signs of our own."""


def cell_width(text: str) -> int:
    """Return how many terminal columns a text takes; wide characters, as in Chinese and emoji, take two."""
    if text.isascii() or _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len  # loaded late: `reread --help` must not load rich

    return cell_len(text)


def truncate(text: str, width: int, *, keep_end: bool = False, ellipsis: str = "…") -> str:
    """Cut a text to at most `width` terminal columns, with an ellipsis at the cut."""
    if cell_width(text) <= width:
        return text
    kept, room = 0, width - cell_width(ellipsis)
    for character in reversed(text) if keep_end else text:
        room -= cell_width(character)
        if room < 0:
            break
        kept += 1
    return ellipsis + text[len(text) - kept :] if keep_end else text[:kept] + ellipsis


def wrapped(text: str, width: int | None) -> list[str]:
    """Return a sentence in lines of at most so many columns, if its words fit; without a width in one."""
    if width is None or cell_width(text) <= width:
        return [text]
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if cell_width(lines[-1]) + 1 + cell_width(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill a text with spaces to `width` terminal columns; `right` aligns it to the right."""
    spaces = " " * (width - cell_width(text))
    return spaces + text if right else text + spaces


def _plural_of(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(_SIBILANTS) else f"{noun}s"


def short_cache(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Remember up to so many results of a function of one text."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(most)(function)

        @wraps(function)
        def call(text: str) -> T:
            return known(text) if len(text) <= LONGEST else function(text)

        return call

    return decorate


def telling_line(text: str) -> str:
    """Return the line that tells why something failed; the first one if none stands out, empty if there is none."""
    found = _COLOUR.sub("", text).split("\n")
    if len(found) > 2 * MAX_LINES:
        found = [*found[:MAX_LINES], *found[-MAX_LINES:]]
    lines = [line[:MAX_CHARS].strip() for line in found]
    lines = [line for line in lines if any(character.isalnum() for character in line)]
    if not lines:
        return text.strip()[:MAX_CHARS].partition("\n")[0]
    asserted = next((line for line in lines if _ASSERTION.match(line)), None)
    if asserted is not None:
        return asserted[1:].strip()
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        return next((line for line in reversed(lines) if _EXCEPTION.match(line)), lines[-1])
    for pattern in (_ERROR, _REFUSAL):
        telling = next((line for line in lines if pattern.search(line)), None)
        if telling is not None:
            return telling
    return lines[0]


def matches_tool(name: str, patterns: Iterable[str]) -> bool:
    """True if a tool's name, or that of an MCP tool without its server, matches one of some glob patterns."""
    names = {name.lower(), name.lower().rpartition("__")[2]}
    return any(fnmatchcase(own, pattern.lower()) for pattern in patterns for own in names)
