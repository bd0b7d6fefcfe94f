"""LSP: ask a language server about a position in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.format import as_number, number_text
from reread.base.text import one_line, path_line, plural
from reread.tools import generic
from reread.tools._values import first_nonblank, join_parts
from reread.tools.nodes import Code, Data, Node, Prose
from reread.tools.tool import Tool, ToolCall


class LspInput(Struct, frozen=True, kw_only=True):
    """The operation and the position."""

    operation: str = ""
    filePath: str = ""
    line: int | None = None
    character: int | None = None
    query: str | None = None


class LspResult(Struct, frozen=True, kw_only=True):
    """The answer of the server, as text."""

    operation: str | None = None
    result: Any = None
    filePath: str | None = None
    resultCount: int | None = None
    fileCount: int | None = None


def title(call: ToolCall) -> str:
    """Return the operation, the position and the number of results."""
    args, output = call.input(LspInput), call.output(LspResult) or LspResult()
    position = "".join(f":{number}" for number in (args.line, args.character) if as_number(number) is not None)
    place = f"{path_line(first_nonblank(args.filePath, output.filePath))}{position}"
    return join_parts(call.name, one_line(first_nonblank(args.operation, output.operation)), place, _found(output))


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the answer: documentation as Markdown, positions as text."""
    yield from generic.outcome_note(call)
    output = call.output(LspResult)
    answer = call.text if output is None or output.result is None else output.result
    if call.outcome.state != DONE and output is None:
        return
    if not isinstance(answer, str):
        yield Data(value=answer)
    elif answer.strip():
        yield Prose(text=answer) if first_nonblank(call.input(LspInput).operation) == "hover" else Code(text=answer)


def _found(output: LspResult) -> str:
    results = number_text(output.resultCount)
    files = f" in {plural(output.fileCount, 'file')}" if as_number(output.fileCount) else ""
    return f"→ {results}{files}" if results else ""


TOOLS = [Tool(("LSP",), title, draw, category="search", input=LspInput, result=LspResult)]
