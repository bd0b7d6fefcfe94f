"""Find the records in a line that is not one JSON object: spliced, torn, padded or not JSON at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reread.base import jsontext
from reread.records import dialects
from reread.records.type_names import RECORD_TYPES

BLOCK_TYPES = frozenset({"tool_use", "tool_result"})
"""Types that a record and a content block share."""

_PADDING = r"[ \t\r\n\x00]*+(?:\xef\xbb\xbf[ \t\r\n\x00]*+)*+"
"""Bytes that may surround a record: white space, runs of NUL, a byte order mark (decoded as Latin-1)."""
_SKIP_PADDING = re.compile(_PADDING)
_OBJECT_OR_END = re.compile(_PADDING + r"(?:\{|\Z)")
_RECORD_START = re.compile(r'\{\s*"\w+"\s*:')
_TYPE_FIELD = re.compile(rb'"type"\s*+:\s*+"|"claudeMessage"\s*+:')
"""Every record contains one of these; most other objects are ruled out by it without being decoded."""
_BETWEEN_BRACES = re.compile(
    r'(?:[^"\\{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"(?=[ \t\r\n]*+[]:,}]))*',
    re.DOTALL,
)
"""Text up to the next brace, whole strings included.

Stops at what JSON never contains: a backslash outside a string, a string that no punctuation follows.
"""


def split_line(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each piece of a line starts and ends: the whole objects, and the torn text between them."""
    text = raw.decode("latin-1")  # one character for each byte, so that positions are offsets
    at = _skip_padding(text, 0)
    while at < len(text):
        start, end = _next_object(text, raw, at)
        if at < start:
            yield at, at + len(raw[at:start].rstrip(b" \t\r\n\x00"))
        if start < end:
            yield start, end
        at = _skip_padding(text, end)


def _skip_padding(text: str, at: int) -> int:
    found = _SKIP_PADDING.match(text, at)
    return found.end() if found else at


def _next_object(text: str, raw: bytes, at: int) -> tuple[int, int]:
    """Return where the next whole object starts and ends; the end of the line twice if there is none.

    An object at `at` only has to be JSON. Torn text comes before any other, and torn text may contain nested objects
    that are JSON too; so any other must be a record, and the last thing on the line or followed by another object.

    This takes linear time on any input, because the scan only moves forward and decodes no byte twice:
    - Torn text may end inside a string. The scan then takes the first quote of the next record for the end of that
      string, and stops there, because a name follows instead of punctuation.
    - An object that is directly followed by another is not nested in valid JSON, so nothing around it is tried.
    """
    opened = [at] if text[at] == "{" else []
    here = at + 1
    while True:
        if not opened:
            found = _RECORD_START.search(text, here)
            if found is None:
                break
            opened, here = [found.start()], found.start() + 1
        found = _BETWEEN_BRACES.match(text, here)
        here = found.end() + 1 if found else len(text) + 1
        if here > len(text):
            break
        brace = text[here - 1]
        if brace == "{":
            opened.append(here - 1)
        elif brace != "}":
            opened.clear()
        elif (start := opened.pop()) == at:
            if jsontext.is_json(text[start:here]):
                return start, here
        elif _OBJECT_OR_END.match(text, here):
            if _RECORD_START.match(text, start) and _is_record(raw[start:here]):
                return start, here
            opened.clear()
    return len(text), len(text)


def _is_record(data: bytes) -> bool:
    if not _TYPE_FIELD.search(data):
        return False
    try:
        value = jsontext.loads_clean(data)
    except ValueError:
        return False
    kind = dialects.translate(value)[1].get("type")
    if not isinstance(kind, str) or kind not in RECORD_TYPES:
        return False
    return value.get("type") not in BLOCK_TYPES or "uuid" in value or "message" in value
