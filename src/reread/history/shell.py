"""Renames and deletions that a shell command proves: plain `mv`, `rm`, `git mv` and `git rm`, and nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from reread.base.paths import path_name
from reread.base.short_cache import short_cache

UNPLAIN = re.compile(r"[*?\[\]{}$;|<>()~!#`\n\\]|(?<!&)&(?!&)|&&&")
"""Characters that make a command more than words: patterns, variables, pipes, other commands."""
RENAME, DELETE = "rename", "delete"
LONGEST = 4000
_WORDS = re.compile(r"[\w.-]+")


class ShellAction(NamedTuple):
    """A path that a command renamed or deleted, as it is written."""

    kind: str
    path: str
    target: str | None = None


@short_cache(4096)
def shell_actions(command: str) -> Sequence[ShellAction]:
    """Return what a command that succeeded did to paths; empty unless every part of it is plain."""
    if len(command) > LONGEST or not command.lstrip().startswith(("mv ", "rm ", "git ")) or UNPLAIN.search(command):
        return []
    found: list[ShellAction] = []
    for part in command.split("&&"):
        try:
            words = shlex.split(part)
        except ValueError:  # a quote without an end, or && inside quotes
            return []
        actions = _actions(words)
        if not actions:
            return []
        found += actions
    return found


def _actions(words: list[str]) -> list[ShellAction]:
    if words[:1] == ["git"]:
        words = words[1:]
    name, *rest = words or [""]
    options = [word for word in rest if word.startswith("-")]
    paths = [word for word in rest if not word.startswith("-")]
    if name == "rm" and all(set(word) <= set("-rfRv") for word in options):
        return [ShellAction(DELETE, path) for path in paths]
    if name == "mv" and len(paths) == 2 and all(set(word) <= set("-fv") for word in options):
        source, target = paths
        inside = target.endswith("/")
        return [ShellAction(RENAME, source, f"{target}{path_name(source)}" if inside else target)]
    return []


def named_words(text: str) -> set[str]:
    """Return the words of a command that can be names of files."""
    return set(_WORDS.findall(text))


def name_word(path: str) -> str:
    """Return the longest word in the name of a file: what a command that names the file has among its words."""
    return max(_WORDS.findall(path_name(path)), key=len, default="")
