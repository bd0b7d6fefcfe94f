"""JSON values and lists of files as indented lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, cast

from reread.base import jsontext
from reread.tools.nodes import FileEntry

MAX_DEPTH = 40
"""Values below this depth are written on one line."""


def data_lines(value: Any, indent: int = 0) -> Iterator[str]:
    """A JSON value as an indented outline, with strings unquoted."""
    pad = "  " * indent
    if indent > MAX_DEPTH or not isinstance(value, dict | list) or not value:
        yield from (pad + line for line in _scalar(value).split("\n"))
        return
    for name, item in _pairs(cast(Any, value)):
        label = f"{name}:" if name != "-" else "-"
        if isinstance(item, dict | list) and item:
            yield f"{pad}{label}"
            yield from data_lines(item, indent + 1)
        else:
            first, *rest = _scalar(item).split("\n")
            yield f"{pad}{label} {first}"
            yield from (f"{pad}  {line}" for line in rest)


def _pairs(value: dict[Any, Any] | list[Any]) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else [("-", item) for item in value]


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.dumps(value).decode()


def file_lines(entries: Sequence[FileEntry], *, tree: bool = False) -> Iterator[str]:
    """Files, one per line with its note; as a tree if asked."""
    if not tree:
        yield from (_with_note(entry.path, entry.note) for entry in entries)
        return
    shown: list[str] = []
    for entry in sorted(entries, key=lambda entry: entry.path):
        *folders, name = entry.path.replace("\\", "/").split("/")
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, shown, strict=False)))
        for depth in range(same, len(folders)):
            yield "  " * depth + folders[depth] + "/"
        shown = folders
        yield "  " * len(folders) + _with_note(name, entry.note)


def _with_note(text: str, note: str | None) -> str:
    return f"{text}  {note}" if note else text
