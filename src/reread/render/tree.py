"""JSON values and lists of files as indented lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from reread.base import jsontext
from reread.base.paths import path_pieces
from reread.tools.nodes import FileEntry

MAX_DEPTH = 40
"""Values below this depth are written on one line."""


def data_lines(value: Any, indent: int = 0) -> Iterator[str]:
    """A JSON value as an indented outline, with strings unquoted."""
    pad = "  " * indent
    if indent > MAX_DEPTH or not isinstance(value, (dict, list)) or not value:
        yield from (pad + line for line in _scalar(value).split("\n"))
        return
    for name, item in _pairs(cast(Any, value)):
        label = f"{name}:" if name != "-" else "-"
        if isinstance(item, (dict, list)) and item:
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


class _Folder:
    """A folder in a tree, with its files and folders in the order in which they were listed."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.folders: dict[str, _Folder] = {}


def file_lines(entries: Sequence[FileEntry], *, full: bool = False) -> Iterator[str]:
    """Files with their notes: as a tree in which what is alone in its folder is on the folder's line.

    With `full`, each path is shown as it is recorded, so that it can be found and copied.
    """
    if full:
        yield from (_with_note(entry.path, entry.note) for entry in entries)
        return
    root = _Folder()
    for entry in entries:
        folder = root
        *folders, name = path_pieces(entry.path) or [""]
        for piece in folders:
            folder = folder.folders.setdefault(piece, _Folder())
        folder.files.append(_with_note(name, entry.note))
    yield from _folder_lines(root)


def _folder_lines(root: _Folder) -> Iterator[str]:
    waiting = [(0, "", root)]
    while waiting:
        depth, name, folder = waiting.pop()
        names = [name]
        while not folder.files and len(folder.folders) == 1:
            ((name, folder),) = folder.folders.items()
            names.append(name)
        label = "".join(names)
        if len(folder.files) == 1 and not folder.folders:
            yield "  " * depth + label + folder.files[0]
            continue
        if label:
            yield "  " * depth + label
            depth += 1
        yield from ("  " * depth + file for file in folder.files)
        waiting += [(depth, name, inner) for name, inner in reversed(folder.folders.items())]


def _with_note(text: str, note: str | None) -> str:
    return f"{text}  {note}" if note else text
