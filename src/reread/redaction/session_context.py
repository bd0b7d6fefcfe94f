"""Values in texts that only other parts of their sessions call secrets: a password, named in a file that was read.

Scanning whole sessions takes long, so only what can matter is looked at. A value that is a common word can only be a
password: those that a session names are found by the few words for one. Any other looks odd by itself, so the odd words
of the texts are looked for in the sessions, and the words around them read. Nothing of it is kept: to look again takes
6 ms for each megabyte of the few sessions of a review, and passwords are nowhere but in the sessions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from reread.disk.agent_files import agent_files
from reread.disk.sources import FileSource
from reread.disk.spilled import spilled_files
from reread.errors import NotFound, Unreadable
from reread.redaction.likely import find_likely
from reread.redaction.literals import Literals
from reread.redaction.secret_values import is_odd, looks_secret
from reread.redaction.spans import LIKELY, Span
from reread.redaction.words import words_regex

NAMES = (b"assw", b"assphr", b"pwd")
"""Words for a password have one of these."""
BEFORE, AFTER = 80, 320
"""So many bytes around a place are read."""
MOST_PLACES = 500
"""A word that stands in a file more often is no secret."""
FEW_WORDS = 24
"""To look for each of so many words is faster than for all at once."""
SHORTEST = 6
CHUNK = 8 << 20
_WORD = re.compile(rf"[!-~]{{{SHORTEST},}}", re.ASCII)
_PARTS = re.compile(r"[\"'`,;()\[\]{}<>=:@/|\\]+")
_SIGNS = "\"'`,.;:()[]{}<>!?"
_DIGIT = re.compile(r"[0-9]")
_ESCAPE = re.compile(r"(?<!\\)\\+([nrt\"'/])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
Named = tuple[str, str, str]
"""A value, its kind, and what it is called."""


def values_in_context(texts: Sequence[str], sessions: Iterable[str]) -> list[Span]:
    """Return the values in texts that sessions call secrets, in any of their files."""
    odd = {word for text in texts for word in _odd_words(text)}
    found: dict[str, Span] = {}
    for file in (file for path in sessions for file in _files_of(Path(path))):
        named = [*_named(file), *(_around(file, odd) if odd else ())]
        found |= {value: Span(0, 0, value, kind, LIKELY, name=name) for value, kind, name in named}
    known = Literals(found.values())
    shown = {span.value for text in texts for span in known.find(text)}
    return [span for value, span in found.items() if value in shown]


def _odd_words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        parts = {word.strip(_SIGNS), *_PARTS.split(word)}
        may_be = (part for part in parts if len(part) >= (SHORTEST if _DIGIT.search(part) else 12))
        yield from (part for part in may_be if looks_secret(part) or is_odd(part))


def _files_of(session: Path) -> list[Path]:
    return [session, *agent_files(session, [session.stem]).values(), *spilled_files(session)]


def _named(file: Path) -> Iterator[Named]:
    """Yield the values near a word for a password."""
    for data in _chunks(file):
        for at in _places(data.lower(), NAMES):
            yield from _values_at(data, at)


def _around(file: Path, words: Collection[str]) -> Iterator[Named]:
    """Yield the values near some words."""
    needles = [word.encode() for word in words]
    seen: Counter[bytes] = Counter()
    for data in _chunks(file):
        for at in _places(data, needles):
            word = data[at : at + SHORTEST]
            seen[word] += 1
            if seen[word] <= MOST_PLACES:
                yield from _values_at(data, at)


def _places(data: bytes, words: Sequence[bytes]) -> Iterator[int]:
    """Yield where words stand, but for places that are read with the one before."""
    if len(words) > FEW_WORDS:
        pattern = re.compile(words_regex(word.decode() for word in words).pattern.encode())
        yield from (place.start() for place in pattern.finditer(data))
        return
    for word in words:
        at = data.find(word)
        while at >= 0:
            yield at
            at = data.find(word, at + AFTER // 4)


def _values_at(data: bytes, at: int) -> Iterator[Named]:
    """Yield the values that are called secrets around a place; JSON within JSON is read as the text that it means."""
    text = data[max(0, at - BEFORE) : at + AFTER].decode("utf-8", "replace")
    text = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)
    for match in find_likely(text):
        if match.end < len(text):  # else it may be cut off
            yield text[match.start : match.end], match.kind, match.name


def _chunks(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, in pieces that overlap."""
    try:
        source = FileSource(file)
    except (NotFound, Unreadable):  # as `share` does without such a file
        return
    at = 0
    while data := source.read(at, CHUNK):
        yield data
        if len(data) < CHUNK:
            return
        at += CHUNK - BEFORE - AFTER
