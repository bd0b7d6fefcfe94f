"""Text as Markdown that its content cannot break out of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from reread.render.sanitize import safe

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_SPAN = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_RUN = re.compile(r"`{3,}")


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines that stay closed until the reader opens them."""
    yield f"<details><summary>{escape(safe(' '.join(title.split())))}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"


def fenced(text: str, language: str = "") -> str:
    """Text in a fence longer than any in it."""
    longest = max((len(run) for run in _RUN.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """A short text as a code span."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{safe(' '.join(text.split()))}{pad}{ticks}"


def inline(text: str) -> str:
    """A short text within a line; nothing in it acts as Markdown or HTML."""
    line = " ".join(safe(text).split())
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", line)


def guarded(text: str) -> str:
    """Markdown from a transcript, with its HTML tags shown as text and its last fence closed."""
    out: list[str] = []
    fence = ""
    for line in safe(text).split("\n"):
        found = _FENCE.match(line)
        if fence:
            out.append(line)
            if found and found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            out.append(line)
        else:
            out.append(_escape_tags(line))
    if fence:
        out.append(fence)
    return "\n".join(out)


def _escape_tags(line: str) -> str:
    out: list[str] = []
    at = 0
    for span in _SPAN.finditer(line):
        out.append(_TAG.sub("&lt;", line[at : span.start()]))
        out.append(span[0])
        at = span.end()
    out.append(_TAG.sub("&lt;", line[at:]))
    return "".join(out)
