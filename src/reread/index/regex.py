"""Regular expressions: the literal text that every match must contain, to ask the index for candidates."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from reread.errors import Misuse
from reread.index.query import And, Node, Or, Words
from reread.index.terms import LONGEST, fold, word_pattern

op: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
SHORTEST = 3
"""Shorter literals are in too many words to be of use."""
PLAIN = frozenset(" !#$%()*+,-.0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~")
"""Characters that JSON is never written with escapes for, unless all are escaped that can be."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression; raise Misuse if it is not one."""
    if not text:
        raise Misuse("Empty regular expression; say what to look for.")
    try:
        return re.compile(text, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise Misuse(f"Invalid regular expression {text!r}: {error}.") from None


def required_words(text: str) -> Node:
    """Return the words that every match of a pattern contains; everything if there are none."""
    try:
        return _required(parser.parse(text, re.MULTILINE))
    except (re.error, RecursionError, OverflowError):
        return And(())


def _required(items: Any) -> Node:
    nodes: list[Node] = []
    run = ""
    ended: list[Any] = [(None, None)]
    for code, value in [*items, *ended]:
        if code is op.LITERAL:
            run += chr(value)
            continue
        nodes += _words(run)
        run = ""
        if code is op.SUBPATTERN:
            nodes.append(_required(value[3]))
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT) and value[0] > 0:
            nodes.append(_required(value[2]))
        elif code is op.ATOMIC_GROUP:
            nodes.append(_required(value))
        elif code is op.BRANCH:
            options = [_required(option) for option in value[1]]
            if And(()) not in options:
                nodes.append(Or(tuple(options)))
    known = [node for node in nodes if node != And(())]
    return known[0] if len(known) == 1 else And(tuple(known))


def _words(literal: str) -> list[Node]:
    """Return the words in a literal; the first and the last may be parts of longer ones."""
    nodes: list[Node] = []
    literal = fold(literal).lower()
    for found in word_pattern(literal).finditer(literal):
        if len(found[0]) <= LONGEST and (len(found[0]) >= SHORTEST or found[0] > "\u0e00"):
            nodes.append(Words((found[0],), prefix=found.end() == len(literal), suffix=found.start() == 0))
    return nodes


def required_literals(pattern: re.Pattern[str]) -> list[bytes]:
    """Return literal text that every match of a pattern contains, as JSON writes it."""
    if pattern.flags & re.IGNORECASE:
        return []
    return [literal for literal in _literals(parser.parse(pattern.pattern, pattern.flags)) if len(literal) > 1]


def _literals(items: Any) -> list[bytes]:
    found = [b""]
    for code, value in items:
        if code is op.LITERAL and chr(value) in PLAIN:
            found[-1] += bytes([value])
            continue
        inner = _literals(value[3]) if code is op.SUBPATTERN and not value[1] else []
        found += [b"", *inner, b""]
    return found
