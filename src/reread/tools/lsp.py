"""LSP: what a language server knows of a place in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.tools import generic
from reread.tools._values import count, first, grouped, line, number
from reread.tools.nodes import Code, Data, Node, Prose
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall


class Input(Struct, kw_only=True):
    """What is asked about which place."""

    operation: str = ""
    filePath: str = ""
    line: int | None = None
    character: int | None = None
    query: str | None = None


class Output(Struct, kw_only=True):
    """What the server said, in words."""

    operation: str | None = None
    result: Any = None
    filePath: str | None = None
    resultCount: int | None = None
    fileCount: int | None = None


def title(call: ToolCall) -> str:
    """What is asked about which place, and how much was found."""
    given, output = call.input(Input), call.output(Output) or Output()
    spot = "".join(f":{at}" for at in (given.line, given.character) if number(at) is not None)
    place = f"{line(first(given.filePath, output.filePath))}{spot}"
    parts = (call.name, line(first(given.operation, output.operation)), place, _found(output))
    return " ".join(part for part in parts if part)


def draw(call: ToolCall) -> Iterator[Node]:
    """What the server said: documentation as Markdown, places as text."""
    yield from generic.ending(call)
    output = call.output(Output)
    told = call.text if output is None or output.result is None else output.result
    if call.ending.state != DONE and output is None:
        return
    if not isinstance(told, str):
        yield Data(value=told)
    elif told.strip():
        yield Prose(text=told) if first(call.input(Input).operation) == "hover" else Code(text=told)


def _found(output: Output) -> str:
    results = grouped(output.resultCount)
    files = f" in {count(output.fileCount, 'file')}" if number(output.fileCount) else ""
    return f"→ {results}{files}" if results else ""


TOOLS = [Tool(("LSP",), title, draw, category="search")]
