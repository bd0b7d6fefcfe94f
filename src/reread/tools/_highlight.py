"""What to highlight in what a search found.

A pattern comes out of a transcript, and could take forever to run. So only one whose cost has a bound is run; of
any other the parts are marked that stand for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from math import factorial

MOST = 50
"""How many different texts are marked."""
STEPS = 20_000_000
"""How many steps a pattern may take at worst."""
REPEATS = 4
"""How many open repetitions a pattern may have."""

_CASELESS = "(?i)"
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_FOREIGN = re.compile(r"\[\[|\[[^\]]*(?:--|&&|\|\||~~)|\\[1-9pPxukgK]")
"""What ripgrep reads otherwise than Python."""
_COSTLY = re.compile(r"\(\?|\)[*+?{]|[*+?}][*+{]")
"""Repeated groups and such, whose work multiplies."""
_PREFIX = re.compile(r"^(?:[^\n:]*[:-])?\d+[:-]")
_LITERAL = re.compile(r"\\([^\w\s])|([^\\.^$|()\[\]{}*+?])")
_OTHER = re.compile(r"\{[^}]*\}|\(\?[a-z:]*|.", re.DOTALL)


def marks(pattern: str, content: str, *, ignore_case: bool = False) -> list[str]:
    """The texts in `content` that a pattern matches, each once."""
    flags = re.IGNORECASE if ignore_case or pattern.startswith(_CASELESS) else 0
    pattern = pattern.removeprefix(_CASELESS)
    lines = [_PREFIX.sub("", line) for line in content.split("\n")]
    found = _matches(pattern, lines, flags) or _parts(pattern, content, flags)
    return list(islice(dict.fromkeys(text for text in found if text.strip()), MOST))


def _matches(pattern: str, lines: list[str], flags: int) -> list[str]:
    """What a pattern matches in lines; nothing where it is not to be run."""
    bare = _ESCAPE_OR_SET.sub("x", pattern)
    if not pattern or _FOREIGN.search(pattern) or _COSTLY.search(bare) or _cost(bare, lines) > STEPS:
        return []
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return []
    return [found[0] for line in lines for found in compiled.finditer(line)]


def _cost(bare: str, lines: Iterable[str]) -> float:
    """How many steps a pattern without repeated groups takes at worst."""
    repeats = 1 + sum(map(bare.count, "*+{"))
    choices = bare.count("?") + (bare.count("(") if "|" in bare else 0)
    if repeats > REPEATS or choices > REPEATS:
        return float("inf")
    return 2**choices * sum(len(line) ** repeats for line in lines) / factorial(repeats)


def _parts(pattern: str, content: str, flags: int) -> Iterator[str]:
    """Where the parts of a pattern stand that stand for themselves, the longest first."""
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
        if pattern[at] in "*?{":  # the character before it may be missing
            parts[-1] = parts[-1][:-1]
        other = _ESCAPE_OR_SET.match(pattern, at) or _OTHER.match(pattern, at)
        at = other.end() if other else at + 1
        parts.append("")
    return {part for part in parts if len(part.strip()) > 1 or part == pattern} - {""}
