"""Drawing what has no tool of its own, and whatever text a tool left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from reread.records import blocks as b
from reread.tools.nodes import Code, Data, Links, Node, Note, Picture, Section, Target
from reread.tools.tool import Tool
from reread.tools.tool_call import DENIED, FAILED, INTERRUPTED, RUNNING, ToolCall, one_line

ARGUMENTS = (
    "description",
    "command",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "subject",
    "name",
    "title",
    "prompt",
    "message",
    "id",
)
"""The arguments that say best what an unknown call does, best first."""

WORDS = {
    RUNNING: ("still running", "info"),
    FAILED: ("failed", "error"),
    DENIED: ("denied", "warning"),
    INTERRUPTED: ("interrupted", "warning"),
}
SHORT = 3
"""Strings no longer than this say nothing by themselves."""
_NUMBER = re.compile(r"^ *\d+(?:→|\t)")
HIDDEN = frozenset({"signature", "base64", "data", "image_data"})
"""Fields whose text is no text: signatures and the bytes of images."""


def title(call: ToolCall) -> str:
    """The name and the argument that says most."""
    given = call.arguments
    best = next((given[name] for name in ARGUMENTS if isinstance(given.get(name), str) and given[name].strip()), "")
    return f"{call.name} {one_line(best)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """The input as a tree, the output as text, pictures or JSON."""
    if call.given not in (None, {}, ""):
        yield Section(title="input", nodes=[Data(value=call.given)])
    yield from ending(call)
    yield from result(call)


def ending(call: ToolCall) -> Iterator[Node]:
    """How the call ended, where that is worth a word."""
    ended = call.ending
    if ended.state in WORDS:
        word, level = WORDS[ended.state]
        code = f" with exit code {ended.exit_code}" if ended.exit_code is not None else ""
        said = f": {ended.message}" if ended.message else ""
        yield Note(text=f"{word}{code}{said}", level=level)


def result(call: ToolCall) -> Iterator[Node]:
    """The content of the result, block by block; failures have said theirs already."""
    for block in call.blocks:
        if isinstance(block, b.Text) and isinstance(block.text, str):
            if block.text.strip() and call.ending.state not in WORDS:
                yield Code(text=block.text)
        else:
            yield block_node(block)


def block_node(block: b.Block) -> Node:
    """A block that is no text, as something to draw."""
    if isinstance(block, b.Image | b.Document):
        return picture(block)
    fields = msgspec.structs.asdict(block)
    return Data(value={name: value for name, value in fields.items() if value is not None})


def picture(block: b.Image | b.Document) -> Node:
    """An image or document of a result."""
    source = block.picture if isinstance(block, b.Image) else block.source
    kind = getattr(source, "media_type", None)
    data = getattr(source, "data", None)
    url = getattr(source, "url", None)
    if isinstance(url, str):
        return Links(targets=[Target(url=url)])
    return Picture(
        media_type=kind if isinstance(kind, str) else "application/octet-stream",
        size=len(data) * 3 // 4 if isinstance(data, str) else None,
        data=data if isinstance(data, str) else None,
    )


def rest(call: ToolCall, drawn: Iterable[Node], titled: str = "") -> list[Node]:
    """What the input and the result say that neither the title nor a node shows: closed, but there."""
    shown = _Shown(drawn)
    shown.add(titled)
    missing: dict[str, Any] = {}
    for where, value in (("input", call.given), ("result", _content(call)), ("data", call.data)):
        for path, text in _strings(value, where):
            left = shown.left(text)
            if left:
                missing[path] = left
                shown.add(left)
    return [Section(title="also recorded", nodes=[Data(value=missing)], open=False)] if missing else []


def _content(call: ToolCall) -> Any:
    return getattr(call.block, "content", None)


class _Shown:
    """The texts that nodes show, to ask whether another is among them."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._all = ""
        self._lines: set[str] = set()
        for node in nodes:
            for _, text in _strings(node, ""):
                self.add(text)

    def add(self, text: str) -> None:
        self._all += "\n" + text
        for line in text.split("\n"):
            self._lines.add(line.strip())
            self._lines.add(line[1:].strip())

    def left(self, text: str) -> str:
        """What of a text is not shown: all of it, or of a file with line numbers the lines around."""
        if text in self._all:
            return ""
        missing = [line for line in text.split("\n") if not self._has(_NUMBER.sub("", line).strip())]
        return "\n".join(missing) if not missing or _NUMBER.match(text) else text

    def _has(self, line: str) -> bool:
        return line in self._lines or line in self._all


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every string in a JSON value with its path, those that are no text aside."""
    stack: list[tuple[str, Any]] = [(path, value)]
    while stack:
        where, item = stack.pop()
        if isinstance(item, str):
            if len(item) > SHORT:
                yield where, item
        elif isinstance(item, dict | msgspec.Struct):
            fields = msgspec.structs.asdict(item) if isinstance(item, msgspec.Struct) else cast(dict[str, Any], item)
            pairs = fields.items()
            stack += [(f"{where}.{key}", inner) for key, inner in reversed(list(pairs)) if key not in HIDDEN]
        elif isinstance(item, list):
            listed = list(enumerate(cast(list[Any], item)))
            stack += [(f"{where}[{n}]", inner) for n, inner in reversed(listed)]


TOOL = Tool((), title, draw)
