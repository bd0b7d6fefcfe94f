"""Every text in the records of a file, found with nothing but `json`, and the few that no view or search need have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Leaf(NamedTuple):
    """One text of a record."""

    line: int
    path: tuple[str, ...]
    """The names of the fields that lead to it; items of lists have the name of the list."""
    text: str

    @property
    def key(self) -> str:
        return self.path[-1] if self.path else ""


def leaves(data: bytes) -> Iterator[Leaf]:
    """Every text of every record; a line that is no JSON is one text."""
    for line, value in values(data):
        yield from (Leaf(line, path, text) for path, text in strings(value))


def values(data: bytes) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file with their lines; of a line that is none, its text."""
    if data.lstrip().startswith(b"["):
        try:
            yield from ((1, item) for item in json.loads(data))
            return
        except ValueError:
            pass
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").strip("\0 \r\t\ufeff")
        if text:
            try:
                yield number, json.loads(text)
            except ValueError:
                yield number, text


def strings(value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every string in a JSON value, with the fields that lead to it."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, str):
            yield path, item
        elif isinstance(item, dict):
            stack += [((*path, name), inner) for name, inner in item.items()]
        elif isinstance(item, list):
            stack += [(path, inner) for inner in item]


SHAPE = frozenset({"type", "subtype", "role", "userType"})
SESSION = frozenset({"cwd", "version", "gitBranch", "slug", "entrypoint", "claude_code_version"})
BYTES = frozenset({"signature", "base64", "data", "image_data"})
_ID = re.compile(r"(?:.*(?:[a-z]I[dD]|_id|_ids|[uU]uids?|Hash|_hash)|id|ids|hash|sha|uuids?)")
_NAMED_ID = re.compile(r"(?:toolu|srvtoolu|msg|req)_\w+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")

EXCEPTIONS: dict[str, Callable[[Leaf], bool]] = {
    "the shape of a record: it decides how the record is drawn": lambda leaf: leaf.key in SHAPE,
    "said once for the whole session, above it": lambda leaf: leaf.key in SESSION and len(leaf.path) < 3,
    "the bytes of a picture or a signature": lambda leaf: leaf.key in BYTES and not re.search(r"\s\S", leaf.text),
    "an id or a hash": lambda leaf: bool(
        _NAMED_ID.fullmatch(leaf.text) or (_ID.fullmatch(leaf.key) and not re.search(r"\s", leaf.text))
    ),
    "a time: views show it in the reader's time zone": lambda leaf: bool(_TIME.fullmatch(leaf.text)),
    "a piece of a streamed response: views join the pieces": lambda leaf: "event" in leaf.path[:2],
}
"""Why a text need not be found as written: one reason each."""


def pieces(text: str) -> Iterator[str]:
    """What a text says: its lines without the client's line numbers and tags, and the values in these tags.

    The language of code becomes its colours.
    """
    for line in text.replace("\r", "\n").split("\n"):
        bare = re.sub(r"^ *\d+(?:→|\t)|^\s*(?:```+|~~~+)[\w+#-]*\s*$", "", line)
        for tag in re.findall(r"<[a-z][\w-]*(\s[^<>]*)>", bare):
            yield from re.findall(r'"([^"]*)"', tag)
        yield from re.split(r"</?[a-z][\w-]*(?:\s[^<>]*)?>", bare)


def spoken_leaves(path: Path) -> Iterator[Leaf]:
    """Every text of a file that a full view must show and a search find."""
    for leaf in leaves(path.read_bytes()):
        if not any(holds(leaf) for holds in EXCEPTIONS.values()):
            yield leaf


def letters(text: str) -> str:
    """A text without what drawing changes: spaces, wrapping, punctuation."""
    return "".join(filter(str.isalnum, text))
