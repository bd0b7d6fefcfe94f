"""Draw calls of unknown tools, how any call ended, and the recorded text that a tool left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from reread.base.text import one_line
from reread.records import blocks as b
from reread.tools.nodes import Code, Data, Links, Node, Note, Picture, Section, Target
from reread.tools.outcome import DENIED, FAILED, INTERRUPTED, RUNNING
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

TITLE_ARGUMENTS = (
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
"""The arguments that describe a call best, best first."""

STATE_NOTES = {
    RUNNING: ("still running", "info"),
    FAILED: ("failed", "error"),
    DENIED: ("denied", "warning"),
    INTERRUPTED: ("interrupted", "warning"),
}
"""The text and the level of the note for each state but done."""
SHORT = 3
"""Strings up to this length mean nothing by themselves."""
NOT_TEXT = frozenset({"signature", "base64", "data", "image_data"})
"""Fields whose strings are not text: signatures and the bytes of images."""
_NUMBER = re.compile(r"^ *\d+(?:→|\t)")


def title(call: ToolCall) -> str:
    """Return the name and the most telling argument."""
    arguments = call.arguments
    known = (arguments.get(name) for name in TITLE_ARGUMENTS)
    best = next((value for value in known if isinstance(value, str) and value.strip()), "")
    return f"{call.name} {one_line(best)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the input as JSON, and the result as text, images or JSON."""
    if call.raw_input not in (None, {}, ""):
        yield Section(title="input", nodes=[Data(value=call.raw_input)])
    yield from outcome_note(call)
    for block in call.blocks:
        if not (isinstance(block, b.Text) and isinstance(block.text, str)):
            yield block_node(block)
        elif block.text.strip() and call.outcome.state not in STATE_NOTES:  # else the note has the text
            yield Code(text=block.text)


def outcome_note(call: ToolCall) -> Iterator[Node]:
    """Yield how a call ended, unless it succeeded."""
    outcome = call.outcome
    if outcome.state in STATE_NOTES:
        text, level = STATE_NOTES[outcome.state]
        code = f" with exit code {outcome.exit_code}" if outcome.exit_code is not None else ""
        message = f": {outcome.message}" if outcome.message else ""
        yield Note(text=f"{text}{code}{message}", level=level)


def block_node(block: b.Block) -> Node:
    """Return the node of a content block that is not text."""
    if isinstance(block, b.Image | b.Document):
        return media_node(block)
    fields = msgspec.structs.asdict(block)
    return Data(value={name: value for name, value in fields.items() if value is not None})


def media_node(block: b.Image | b.Document) -> Node:
    """Return the node of an image or a document."""
    source = block.picture if isinstance(block, b.Image) else block.source
    media_type, data, url = (getattr(source, name, None) for name in ("media_type", "data", "url"))
    if isinstance(url, str):
        return Links(targets=[Target(url=url)])
    return Picture(
        media_type=media_type if isinstance(media_type, str) else "application/octet-stream",
        size=len(data) * 3 // 4 if isinstance(data, str) else None,
        data=data if isinstance(data, str) else None,
    )


def unshown_text(call: ToolCall, nodes: Iterable[Node], title: str = "") -> list[Node]:
    """Return a closed section with the text of input and result that neither the title nor the nodes show."""
    shown = _ShownText(nodes)
    shown.add(title)
    missing: dict[str, Any] = {}
    for root, value in (("input", call.raw_input), ("result", call.content), ("data", call.data)):
        for path, text in _strings(value, root):
            unshown = shown.missing_from(text)
            if unshown:
                missing[path] = unshown
                shown.add(unshown)
    return [Section(title="other recorded fields", nodes=[Data(value=missing)], open=False)] if missing else []


class _ShownText:
    """All the text that nodes show; its lines too, since a search in the whole text is slow."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._text = ""
        self._lines: set[str] = set()
        for node in nodes:
            for _, text in _strings(node, ""):
                self.add(text)

    def add(self, text: str) -> None:
        self._text += "\n" + text
        for line in text.split("\n"):
            self._lines.add(line.strip())
            self._lines.add(line[1:].strip())  # in a diff, without its `+` or `-`

    def missing_from(self, text: str) -> str:
        """Return the part of a text that is not shown: all of it, or the unshown lines of a file with line numbers."""
        if text in self._text:
            return ""
        missing = [line for line in text.split("\n") if not self._has(_NUMBER.sub("", line).strip())]
        return "\n".join(missing) if not missing or _NUMBER.match(text) else text

    def _has(self, line: str) -> bool:
        return line in self._lines or line in self._text


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every string in a JSON value or a struct that may be text, with its path."""
    stack: list[tuple[str, Any]] = [(path, value)]
    while stack:
        where, item = stack.pop()
        if isinstance(item, str):
            if len(item) > SHORT:
                yield where, item
        elif isinstance(item, dict | msgspec.Struct):
            fields = msgspec.structs.asdict(item) if isinstance(item, msgspec.Struct) else cast(dict[str, Any], item)
            pairs = fields.items()
            stack += [(f"{where}.{key}", inner) for key, inner in reversed(list(pairs)) if key not in NOT_TEXT]
        elif isinstance(item, list):
            listed = list(enumerate(cast(list[Any], item)))
            stack += [(f"{where}[{n}]", inner) for n, inner in reversed(listed)]


TOOL = Tool((), title, draw)
