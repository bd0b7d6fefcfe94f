"""Limit the size of nodes sent to the browser: long texts are cut, and pictures become URLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.base.coerce import OBJECT
from reread.reader.schema import CutNode
from reread.tools import nodes
from reread.tools.nodes import Node

LINES, CHARS, ITEMS = 200, 20_000, 500
"""How many lines and characters of a text, or items of a list, are sent."""
DEPTH = 40
"""How deep a JSON value is sent as it is; deeper values are sent as text."""
TAIL_LINES, TAIL_CHARS = 12, 4000
"""How many of the last lines of an output that is cut, and how many of their characters, are sent."""
CONTAINERS: Any = (dict, list)
HUNK_LINE = 20
"""The weight of a line of a diff, in addition to its characters."""

PictureUrl = Callable[[nodes.Picture], str | None]
"""The URL of a picture; None if the browser must not load it."""


class Trimmer:
    """Trims nodes, and records what was cut."""

    def __init__(self, picture_url: PictureUrl, *, whole: bool = False) -> None:
        self.cut: list[CutNode] = []
        self._picture_url = picture_url
        self._whole = whole

    def nodes(self, drawn: Sequence[Node], path: tuple[int, ...] = ()) -> list[Node]:
        """The same nodes, trimmed."""
        return [self._node(node, (*path, n)) for n, node in enumerate(drawn)]

    def _node(self, node: Node, path: tuple[int, ...]) -> Node:
        if isinstance(node, nodes.Section):
            return msgspec.structs.replace(node, nodes=self.nodes(node.nodes, path))
        if isinstance(node, nodes.Picture):
            return msgspec.structs.replace(node, data=None, url=self._picture_url(node))
        if isinstance(node, nodes.Data):
            return self._data(node, path)
        field = FIELDS.get(type(node))
        if field is None or self._whole:
            return node
        value = getattr(node, field)
        short = short_text(value) if isinstance(value, str) else short_list(value)
        if short is value:
            return node
        lines, chars = _extent(value)
        tail = _last_lines(value) if isinstance(node, nodes.Terminal) else ""
        self.cut.append(CutNode(path=list(path), lines=lines, chars=chars, tail=tail))
        return msgspec.structs.replace(node, **{field: short})

    def _data(self, node: nodes.Data, path: tuple[int, ...]) -> Node:
        if self._whole and not _is_deep(node.value):
            return node
        budget = _Budget(1 << 62 if self._whole else CHARS)
        value = budget.spend(node.value, DEPTH)
        if budget.left < 0:
            chars = len(jsontext.dumps(node.value))
            self.cut.append(CutNode(path=list(path), lines=1, chars=chars))
        return nodes.Data(value=value)


FIELDS: dict[type[Node], str] = {
    nodes.Prose: "text",
    nodes.Code: "text",
    nodes.Terminal: "text",
    nodes.Note: "text",
    nodes.Diff: "hunks",
    nodes.Files: "entries",
    nodes.Checklist: "items",
    nodes.Table: "rows",
    nodes.Links: "targets",
    nodes.Facts: "items",
}
"""The field of each node that may be long."""


def short_text(text: str, lines: int = LINES, chars: int = CHARS) -> str:
    """The beginning of a text, in whole lines if possible; the text itself if it is short."""
    end = -1
    for _ in range(lines):
        end = text.find("\n", end + 1)
        if end < 0 or end > chars:
            break
    if end < 0 and len(text) <= chars:
        return text
    return text[:chars] if end < 0 or end > chars else text[:end]


def short_list(items: list[Any]) -> list[Any]:
    """The first items, limited in number and total size; the list itself if all of them fit."""
    left, kept = CHARS * 4, 0
    for item in items[:ITEMS]:
        left -= len(item.lines) * HUNK_LINE if isinstance(item, nodes.Hunk) else 0
        left -= _size(item)
        if left < 0 and kept:
            break
        kept += 1
    if kept == len(items) and left >= 0:
        return items
    return [_short_item(item) for item in items[:kept]]


def _short_item(item: Any) -> Any:
    """An item with its own long texts cut."""
    if isinstance(item, nodes.Hunk):
        return msgspec.structs.replace(item, lines=[line[:CHARS] for line in item.lines[:LINES]])
    if isinstance(item, list):
        return [cell[:CHARS] for cell in cast(list[str], item)]
    texts = {
        name: value[:CHARS]
        for name in item.__struct_fields__
        if isinstance(value := getattr(item, name), str) and len(value) > CHARS
    }
    return msgspec.structs.replace(item, **texts)


def _size(item: Any) -> int:
    """The number of characters in an item of a list."""
    if isinstance(item, nodes.Hunk):
        return sum(map(len, item.lines))
    if isinstance(item, list):
        return sum(map(len, cast(list[str], item)))
    values = (getattr(item, name) for name in item.__struct_fields__)
    return sum(len(value) for value in values if isinstance(value, str))


def _extent(value: str | list[Any]) -> tuple[int, int]:
    """The number of lines and characters in a text or a list."""
    if isinstance(value, str):
        return value.count("\n") + 1, len(value)
    lines = sum(len(item.lines) if isinstance(item, nodes.Hunk) else 1 for item in value)
    return lines, sum(map(_size, value))


def _is_deep(value: Any) -> bool:
    """True if a JSON value is nested deeper than it is sent."""
    level = [value] if isinstance(value, CONTAINERS) else []
    for _ in range(DEPTH):
        inside = [one.values() if isinstance(one, OBJECT) else one for one in level]
        level = [item for items in inside for item in items if isinstance(item, CONTAINERS)]
        if not level:
            return False
    return True


class _Budget:
    """How much of a JSON value may still be sent."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, value: Any, depth: int) -> Any:
        """As much of the value as the budget allows."""
        if isinstance(value, str):
            shown = value[: max(0, self.left)]
            self.left -= len(value)
            return shown if len(shown) == len(value) else shown + "…"
        self.left -= 8
        if not isinstance(value, (dict, list)):
            return value
        if depth == 0:
            return self.spend(jsontext.dumps(value).decode(), depth)
        if isinstance(value, dict):
            return self._object(cast(dict[str, Any], value), depth)
        out: list[Any] = []
        for item in cast(list[Any], value):
            if self.left < 0:
                out.append("…")
                break
            out.append(self.spend(item, depth - 1))
        return out

    def _object(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in value.items():
            if self.left < 0:
                out["…"] = f"{len(value) - len(out)} more"
                break
            self.left -= len(key)
            out[key] = self.spend(item, depth - 1)
        return out


def _last_lines(text: str) -> str:
    """The last lines of a text; only whole lines."""
    lines = text[-TAIL_CHARS:].rstrip("\n").split("\n")
    return "\n".join(lines[1:][-TAIL_LINES:])
