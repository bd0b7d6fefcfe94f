"""One regular expression for many words: several times as fast as looking for each."""

from __future__ import annotations

import re
from collections.abc import Iterable

_END = ""


class _Tree(dict[str, "_Tree"]):
    """Words by their characters."""


def words_regex(words: Iterable[str], *, shortest: bool = False) -> re.Pattern[str]:
    """Return a pattern that matches the longest of some words, or the shortest, at each place."""
    root = _Tree()
    for word in words:
        node = root
        for character in word:
            node = node.setdefault(character, _Tree())
        node[_END] = _Tree()
    return re.compile(_pattern(root, shortest) if root else r"(?!)")


def _pattern(root: _Tree, shortest: bool) -> str:
    """Return the pattern of a tree of characters; a chain of single ones is not nested, as a word may be long."""
    is_word = _END in root
    if is_word and shortest:
        return ""
    branches: list[str] = []
    for character, node in sorted(root.items()):
        if character == _END:
            continue
        chain = [character]
        while len(node) == 1 and _END not in node:
            (following,) = node
            node = node[following]
            chain.append(following)
        branches.append(re.escape("".join(chain)) + _pattern(node, shortest))
    if not branches:
        return ""
    inner = branches[0] if len(branches) == 1 and not is_word else f"(?:{'|'.join(branches)})"
    return f"{inner}?" if is_word else inner
