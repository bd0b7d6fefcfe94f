"""Trimming: nodes made fit to send, long texts cut and pictures as addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from reread.base import jsontext
from reread.reader.schema import Cut
from reread.tools import nodes
from reread.tools.nodes import Node

LINES, CHARS, ITEMS = 200, 20_000, 500
"""How much of a text or a list is sent at once."""
DEPTH = 40
"""How deep a JSON value is sent as it is; what lies deeper is sent as text."""

Address = Callable[[nodes.Picture], str | None]
"""Where the bytes of a picture can be had; None where a reader must not load them."""


class Trimmer:
    """Makes nodes fit to send, and notes what was cut."""

    def __init__(self, address: Address, *, whole: bool = False) -> None:
        self.cut: list[Cut] = []
        self._address = address
        self._whole = whole

    def nodes(self, drawn: Sequence[Node], path: tuple[int, ...] = ()) -> list[Node]:
        """The same nodes, trimmed."""
        return [self._node(node, (*path, n)) for n, node in enumerate(drawn)]

    def _node(self, node: Node, path: tuple[int, ...]) -> Node:
        if isinstance(node, nodes.Section):
            return msgspec.structs.replace(node, nodes=self.nodes(node.nodes, path))
        if isinstance(node, nodes.Picture):
            return msgspec.structs.replace(node, data=None, url=self._address(node))
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
        self.cut.append(Cut(path=list(path), lines=lines, chars=chars))
        return msgspec.structs.replace(node, **{field: short})

    def _data(self, node: nodes.Data, path: tuple[int, ...]) -> Node:
        budget = _Budget(1 << 62 if self._whole else CHARS)
        value = budget.spend(node.value, DEPTH)
        if budget.left < 0:
            chars = len(jsontext.dumps(node.value))
            self.cut.append(Cut(path=list(path), lines=1, chars=chars))
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
    """The beginning of a text, whole lines where that can be; the text itself where it is short."""
    end = -1
    for _ in range(lines):
        end = text.find("\n", end + 1)
        if end < 0 or end > chars:
            break
    if end < 0 and len(text) <= chars:
        return text
    return text[:chars] if end < 0 or end > chars else text[:end]


def short_list(items: list[Any]) -> list[Any]:
    """The first items that are not too many nor too large; the list itself where all are in."""
    left, kept = CHARS * 4, 0
    for item in items[:ITEMS]:
        left -= len(item.lines) * 20 if isinstance(item, nodes.Hunk) else 0
        left -= _size(item)
        if left < 0 and kept:
            break
        kept += 1
    if kept == len(items) and left >= 0:
        return items
    return [_short_item(item) for item in items[:kept]]


def _short_item(item: Any) -> Any:
    """An item that is large by itself, cut."""
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
    if isinstance(item, nodes.Hunk):
        return sum(map(len, item.lines))
    if isinstance(item, list):
        return sum(map(len, cast(list[str], item)))
    values = (getattr(item, name) for name in item.__struct_fields__)
    return sum(len(value) for value in values if isinstance(value, str))


def _extent(value: str | list[Any]) -> tuple[int, int]:
    """How many lines a text or a list has in all, and how many characters."""
    if isinstance(value, str):
        return value.count("\n") + 1, len(value)
    lines = sum(len(item.lines) if isinstance(item, nodes.Hunk) else 1 for item in value)
    return lines, sum(map(_size, value))


class _Budget:
    """How much of a JSON value may still be sent."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, value: Any, depth: int) -> Any:
        """The value as far as the budget goes."""
        if isinstance(value, str):
            shown = value[: max(0, self.left)]
            self.left -= len(value)
            return shown if len(shown) == len(value) else shown + "…"
        self.left -= 8
        if not isinstance(value, dict | list):
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
