"""No regular expression of the package takes more than linear time, whatever the text.

Each is tried on texts made of its own parts: a text that it repeats, many times over, after what comes before it.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from batches import part
from effort import one_in, sampled
from modules import imported_modules

from reread.redaction import vendors

pytestmark = one_in(2)

SIZE, LARGER = 2_000, (2_000, 8_000)
"""Characters of the text that each pattern is tried on, and of those that a suspicious one is measured with."""
SUSPICIOUS = 0.002
"""Seconds of CPU; most patterns take a hundredth of it."""
LIMIT = 8.0
"""Growth for four times the text above which a pattern is slow."""
MANY = 50
"""A repeat up to this often costs a constant."""
ENDS = ("", "\0", "\n", "!")
AT_START = {"match", "fullmatch"}
SCANNING = {"search", "finditer", "findall", "sub", "subn", "split"}

Pattern = re.Pattern[Any]
code: Any = import_module("re._constants")
parser: Any = import_module("re._parser")


def patterns() -> Iterator[tuple[str, Pattern, set[str]]]:
    """All patterns, by name, with the methods that are called."""
    trees = {module: ast.parse(Path(str(module.__file__)).read_text()) for module in imported_modules()}
    elsewhere = {
        (node.value.attr, node.attr)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)
    }
    for module, tree in trees.items():
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                called = {
                    node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == name
                } | {method for pattern, method in elsewhere if pattern == name}
                yield f"{module.__name__}.{name}", value, called & (AT_START | SCANNING) or {"search"}
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[ast.Constant(value=str(text)), *_]
                ) if method in AT_START | SCANNING:
                    yield f"{module.__name__}:{node.lineno}", re.compile(text), {method}
                case _:
                    pass
    for name in ("keyword_regex", "inner_keyword_regex"):
        yield name, getattr(vendors, name)(), {"search", "match"}
    for number, pattern in enumerate(vendors.leading_keyword_regexes()):
        yield f"leading_keyword_regexes {number}", pattern, {"search"}
    for rule in map(vendors.compile_vendor, vendors.VENDORS):
        yield f"vendor {rule.name}", rule.regex, {"search" if rule.before else "match"}
        yield f"vendor {rule.name}, unbounded", rule.unbounded, {"search" if rule.before else "match", "fullmatch"}


REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT)
CATEGORIES = {
    code.CATEGORY_DIGIT: "1",
    code.CATEGORY_NOT_DIGIT: "a",
    code.CATEGORY_SPACE: " \t\n",
    code.CATEGORY_NOT_SPACE: "a<[",
    code.CATEGORY_WORD: "a1_",
    code.CATEGORY_NOT_WORD: " .",
}
OTHERS = 'a1 <"\\[/-.:=@`\né'
"""Characters of which one is in most classes that exclude some."""


def example(items: Iterable[tuple[Any, Any]], kind: int) -> str:
    """A text that the items of a parsed pattern match, roughly; `kind` chooses among the members of classes."""
    return "".join(_example(operation, value, kind) for operation, value in items)


def _example(operation: Any, value: Any, kind: int) -> str:
    match operation:
        case code.LITERAL:
            return chr(value)
        case code.NOT_LITERAL:
            return next(char for char in OTHERS if ord(char) != value)
        case code.ANY:
            return "a\\ "[kind % 3]
        case code.IN:
            return _member(value, kind)
        case code.BRANCH:
            return example(value[1][kind % len(value[1])], kind)
        case code.SUBPATTERN:
            return example(value[3], kind)
        case code.ATOMIC_GROUP:
            return example(value, kind)
        case code.MAX_REPEAT | code.MIN_REPEAT | code.POSSESSIVE_REPEAT:
            return example(value[2], kind) * max(1, min(value[0], 100))
        case _:
            return ""


def _member(values: list[tuple[Any, Any]], kind: int) -> str:
    chars = ""
    for operation, value in values:
        if operation is code.LITERAL:
            chars += chr(value)
        elif operation is code.RANGE:
            chars += chr(value[0]) + chr(value[1])
        elif operation is code.CATEGORY:
            chars += CATEGORIES[value]
    if values[0][0] is code.NEGATE:
        chars = "".join(char for char in OTHERS if char not in chars)
    return chars[kind % len(chars)]


def repeated(items: Iterable[tuple[Any, Any]], before: str, kind: int) -> Iterator[tuple[str, str]]:
    """Each long repeat of a parsed pattern: a text that leads to it, and one that it repeats."""
    for operation, value in items:
        if operation in REPEATS:
            if value[1] > MANY:
                yield before, example(value[2], kind)
            yield from repeated(value[2], before, kind)
        elif operation is code.BRANCH:
            for branch in value[1]:
                yield from repeated(branch, before, kind)
        elif operation is code.SUBPATTERN:
            yield from repeated(value[3], before, kind)
        elif operation is code.ATOMIC_GROUP:
            yield from repeated(value, before, kind)
        elif operation in (code.ASSERT, code.ASSERT_NOT):
            yield from repeated(value[1], before, kind)
        before += _example(operation, value, kind)


def worst_cases(pattern: Pattern) -> list[tuple[str, str, str]]:
    """Texts to repeat, each with what comes before and after."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    parsed = parser.parse(text, pattern.flags & ~re.UNICODE)
    found: set[tuple[str, str]] = set()
    for kind in range(4):
        whole = example(parsed, kind)
        found |= {("", whole), ("", whole[: len(whole) // 2 + 1])}
        for before, text in repeated(parsed, "", kind):
            found |= {(before, text), ("", text), ("", before + text), ("", before)}
    return [(before, text, end) for before, text in sorted(found) if text for end in ENDS]


def seconds(pattern: Pattern, method: str, case: tuple[str, str, str], size: int) -> float:
    before, repeated, end = case
    text: Any = before + repeated * (size // len(repeated)) + end
    if isinstance(pattern.pattern, bytes):
        text = text.encode("latin-1", "replace")
    start = time.process_time()
    if method in AT_START:
        getattr(pattern, method)(text)
    else:
        for _ in pattern.finditer(text):
            pass
    return time.process_time() - start


def slowness(pattern: Pattern, methods: set[str]) -> str:
    """How a pattern is slow; an empty text if it is not."""
    for case in worst_cases(pattern):
        for method in sorted(methods):
            if seconds(pattern, method, case, SIZE) < SUSPICIOUS:
                continue
            once = twice = 0.0
            for _ in range(3):  # another program may have slowed one of them down
                once, twice = (min(seconds(pattern, method, case, size) for _ in range(3)) for size in LARGER)
                if once <= SUSPICIOUS or twice <= LIMIT * once:
                    break
            else:
                return f"{method}: {case}: {once:.3f} s, then {twice:.3f} s for four times as much"
    return ""


def test_no_pattern_is_slow() -> None:
    slow = [f"{name}.{how}" for name, pattern, methods in patterns() if (how := slowness(pattern, methods))]
    assert not slow, "\n".join(slow)


SLOW = [r"\s+$", r'\w+="', r"\\+n", r"[ \t]*\n", r"<a.*?>.*</a>", r"(?:a|b)*c"]


@sampled
@pytest.mark.parametrize("text", part(SLOW, 5))
def test_slow_patterns_are_found(text: str) -> None:
    assert slowness(re.compile(text), {"search"})
