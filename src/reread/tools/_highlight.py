"""Find the texts to highlight in the result of a search.

A pattern from a transcript could run forever. Only a pattern with a bounded cost is run; any other has its literal
parts highlighted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from math import factorial

MAX_TEXTS = 50
"""Different texts that are highlighted."""
MAX_STEPS = 20_000_000
"""Steps that a pattern may take in the worst case."""
MAX_PATTERN = 1000
"""Characters of a pattern above which nothing is marked."""
MAX_REPEATS = 4
"""Unbounded repetitions that a pattern may have."""

_CASELESS = "(?i)"
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_RIPGREP_ONLY = re.compile(r"\[\[|\[[^\[\]]*(?:--|&&|\|\||~~)|\\[1-9pPxukgK]")
"""Syntax that means something else in ripgrep than in Python."""
_COSTLY = re.compile(r"\(\?|\)[*+?{]|[*+?}][*+{]")
"""Repeated groups and the like, whose cost multiplies."""
_PREFIX = re.compile(r"^(?:[^\n:]*[:-])?\d+[:-]")
_LITERAL = re.compile(r"\\([^\w\s])|([^\\.^$|()\[\]{}*+?])")
_OTHER = re.compile(r"\{[^}]*\}|\(\?[a-z:]*|.", re.DOTALL)


def matched_texts(pattern: str, content: str, *, ignore_case: bool = False) -> list[str]:
    """Return the texts in `content` that a pattern matches, each once."""
    flags = re.IGNORECASE if ignore_case or pattern.startswith(_CASELESS) else 0
    pattern = pattern.removeprefix(_CASELESS)
    if len(pattern) > MAX_PATTERN:
        return []
    lines = [_PREFIX.sub("", line) for line in content.split("\n")]
    found = _matches(pattern, lines, flags) or _literal_matches(pattern, content, flags)
    return list(islice(dict.fromkeys(text for text in found if text.strip()), MAX_TEXTS))


def _matches(pattern: str, lines: list[str], flags: int) -> list[str]:
    """Return what a pattern matches in lines; empty if running it is not safe."""
    bare = _ESCAPE_OR_SET.sub("x", pattern)
    if not pattern or _RIPGREP_ONLY.search(pattern) or _COSTLY.search(bare) or _cost(bare, lines) > MAX_STEPS:
        return []
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return []
    return [found[0] for line in lines for found in compiled.finditer(line)]


def _cost(bare: str, lines: Iterable[str]) -> float:
    """Return the steps that a pattern without repeated groups takes in the worst case."""
    repeats = 1 + sum(map(bare.count, "*+{"))
    choices = bare.count("?") + (bare.count("(") if "|" in bare else 0)
    if repeats > MAX_REPEATS or choices > MAX_REPEATS:
        return float("inf")
    return 2**choices * sum(len(line) ** repeats for line in lines) / factorial(repeats)


def _literal_matches(pattern: str, content: str, flags: int) -> Iterator[str]:
    """Yield the matches of the literal parts of a pattern, longest part first."""
    for literal in sorted(_literals(pattern), key=lambda part: (-len(part), part)):
        yield from islice((found[0] for found in re.finditer(re.escape(literal), content, flags)), 1000)


def _literals(pattern: str) -> set[str]:
    parts = [""]
    at = 0
    while at < len(pattern):
        literal = _LITERAL.match(pattern, at)
        if literal:
            parts[-1] += literal[1] or literal[2]
            at = literal.end()
            continue
        if pattern[at] in "*?{":  # the character before it is optional
            parts[-1] = parts[-1][:-1]
        other = _ESCAPE_OR_SET.match(pattern, at) or _OTHER.match(pattern, at)
        at = other.end() if other else at + 1
        parts.append("")
    return {part for part in parts if len(part.strip()) > 1 or part == pattern} - {""}
