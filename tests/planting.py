"""Secrets that are made up when a test runs, so that none is ever written down, and where they hide."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from reread.redaction.vendors import VENDORS, Vendor

_parser: Any = re._parser  # type: ignore[attr-defined]
_constants: Any = re._constants  # type: ignore[attr-defined]
WORD = string.ascii_letters + string.digits + "_"
_CATEGORIES = {"CATEGORY_WORD": WORD, "CATEGORY_DIGIT": string.digits, "CATEGORY_SPACE": " "}


def example(vendor: Vendor, rng: random.Random) -> tuple[str, str]:
    """Return a text in a vendor's format, made from its pattern, and the secret in it."""
    if vendor.name.startswith("private-key"):
        lines = ["".join(rng.choices(WORD[:-1] + "+/", k=64)) for _ in range(12)]
        end = [] if vendor.name.endswith("part") else ["-----END RSA PRIVATE KEY-----"]
        text = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, *end])
        return text, lines[5]
    for _ in range(50):
        group: list[str] = []
        text = _generate(_parser.parse(vendor.pattern), rng, group)
        secret = group[0] if group else text
        if re.compile(vendor.pattern, re.ASCII).fullmatch(text) and len(set(secret[-16:])) > 4:
            return text, secret
    raise AssertionError(f"no example of {vendor.name}")


def made_from(pattern: str, rng: random.Random) -> str:
    """Return a text that a pattern describes."""
    return _generate(_parser.parse(pattern), rng, [])


def _generate(tree: Any, rng: random.Random, group: list[str]) -> str:
    return "".join(_element(op, argument, rng, group) for op, argument in tree)


def _element(op: Any, argument: Any, rng: random.Random, group: list[str]) -> str:
    name = str(op)
    if name == "LITERAL":
        return chr(argument)
    if name == "NOT_LITERAL":
        return rng.choice(string.ascii_letters + string.digits)
    if name == "IN":
        return rng.choice(_members(argument))
    if name == "BRANCH":
        return _generate(rng.choice(argument[1]), rng, group)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, inner = argument
        count = rng.randint(low, min(high, max(low, 48)))
        return "".join(_generate(inner, rng, group) for _ in range(count))
    if name == "SUBPATTERN":
        text = _generate(argument[3], rng, group)
        if argument[0] is not None:
            group.append(text)
        return text
    if name == "ANY":
        return rng.choice(WORD)
    if name == "ATOMIC_GROUP":
        return _generate(argument, rng, group)
    if name in ("ASSERT", "ASSERT_NOT", "AT"):
        return ""
    raise AssertionError(name)


def _members(items: Any) -> str:
    if str(items[0][0]) == "NEGATE":
        return string.ascii_letters + string.digits + "+/\n"
    out = ""
    for op, argument in items:
        if str(op) == "LITERAL":
            out += chr(argument)
        elif str(op) == "RANGE":
            out += "".join(map(chr, range(argument[0], argument[1] + 1)))
        else:
            out += _CATEGORIES.get(str(argument), string.ascii_letters)
    return "".join(character for character in out if character not in "\x1e\\")


def secrets(seed: int = 1) -> list[tuple[str, str, str]]:
    """Return the name, text and secret of an example of every vendor."""
    rng = random.Random(seed)
    return [(vendor.name, *example(vendor, rng)) for vendor in VENDORS]


def _unicode_escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if n % 3 == 0 else c for n, c in enumerate(text))


def _percent(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if n % 3 == 0 else c for n, c in enumerate(text))


def _wrapped(text: str, width: int, prefix: str) -> str:
    return f"\n{prefix}".join(text[n : n + width] for n in range(0, len(text), width))


HIDING_PLACES: dict[str, Callable[[str], str]] = {
    "plain": lambda s: f"the key is {s} there",
    "quoted": lambda s: f'KEY="{s}"',
    "json in json": lambda s: json.dumps(json.dumps({"env": {"X": s}})),
    "unicode escapes": lambda s: f'{{"a": "{_unicode_escaped(s)}"}}',
    "doubly escaped": lambda s: json.dumps(_unicode_escaped(s)),
    "percent": lambda s: f"https://x.dev/?q={_percent(s)}&r=1",
    "url encoded": lambda s: f"https://x.dev/?q={quote(s, safe='')}&r=1",
    "base64": lambda s: base64.b64encode(f"user:{s}\n".encode()).decode(),
    "base64 of json": lambda s: base64.b64encode(json.dumps({"a": s}).encode()).decode(),
    "base64 lines": lambda s: _wrapped(base64.b64encode(f"x = {s}\n".encode()).decode(), 76, ""),
    "added in a diff": lambda s: f"@@ -1 +1 @@\n-x = 1\n+x = {s}\n",
    "file name": lambda s: f"/tmp/backup_{s}.txt",
    "coloured": lambda s: f"found \x1b[1;31m{s}\x1b[0m here",
    "in a sentence": lambda s: f"I used {s}, and it works.",
    "end of a line": lambda s: f"line one\nKEY={s}\nline three",
}
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "terminal": lambda s: f"value\n{_wrapped(s, 29, '')}\nnext line",
    "diff": lambda s: f" a\n+{_wrapped(s, 31, '+')}\n b",
    "numbered": lambda s: f"     1→x\n     2→{_wrapped(s, 23, '     3→')}\n     4→y",
}
