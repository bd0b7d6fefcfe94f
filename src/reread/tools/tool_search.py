"""ToolSearch: find tools whose definitions are not loaded yet."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.coerce import as_list
from reread.base.format import number_text
from reread.base.text import as_text, one_line, plural
from reread.records import blocks as b
from reread.tools import _draw, generic
from reread.tools._values import comma_separated
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool, ToolCall


class ToolSearchInput(Struct, frozen=True, kw_only=True):
    """The query and a limit."""

    query: str = ""
    max_results: int | None = None


class ToolSearchResult(Struct, frozen=True, kw_only=True):
    """The tools that were found."""

    matches: list[str] | None = None
    query: str | None = None
    total_deferred_tools: int | None = None
    pending_mcp_servers: list[str] | None = None


def title(call: ToolCall) -> str:
    """Return the query and the number of tools."""
    found = _found(call)
    count = f" → {plural(found, 'tool')}" if found or call.outcome.state == DONE else ""
    return f'{call.name} "{one_line(call.input(ToolSearchInput).query)}"{count}'


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the tools that were found."""
    args, output, found = call.input(ToolSearchInput), call.output(ToolSearchResult) or ToolSearchResult(), _found(call)
    yield from facts(
        query=args.query,
        max_results=number_text(args.max_results),
        found=", ".join(found),
        out_of=plural(output.total_deferred_tools, "tool"),
        pending_servers=comma_separated(output.pending_mcp_servers),
    )
    yield from generic.outcome_note(call) if found else _draw.plain_result(call)


def _found(call: ToolCall) -> list[str]:
    output = call.output(ToolSearchResult)
    named = [as_text(name) for name in as_list(output.matches)] if output else []
    return named or [as_text(block.tool_name) for block in call.blocks if isinstance(block, b.ToolReference)]


TOOLS = [Tool(("ToolSearch",), title, draw, category="search", input=ToolSearchInput, result=ToolSearchResult)]
