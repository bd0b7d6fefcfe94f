"""ToolSearch: finding tools whose definitions are not loaded yet."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.coerce import as_list
from reread.records import blocks as b
from reread.tools import _draw, generic
from reread.tools._values import count, grouped, line, names, words
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall


class Input(Struct, kw_only=True):
    """Which tools are wanted, and how many at most."""

    query: str = ""
    max_results: int | None = None


class Output(Struct, kw_only=True):
    """The tools that were found."""

    matches: list[str] | None = None
    query: str | None = None
    total_deferred_tools: int | None = None
    pending_mcp_servers: list[str] | None = None


def title(call: ToolCall) -> str:
    """Which tools are wanted, and how many were found."""
    found = _found(call)
    said = f" → {count(found, 'tool')}" if found or call.ending.state == DONE else ""
    return f'{call.name} "{line(call.input(Input).query)}"{said}'


def draw(call: ToolCall) -> Iterator[Node]:
    """The tools that were found, and out of how many."""
    given, output, found = call.input(Input), call.output(Output) or Output(), _found(call)
    yield from facts(
        query=words(given.query),
        at_most=grouped(given.max_results),
        found=", ".join(found),
        out_of=count(output.total_deferred_tools, "tool"),
        servers_not_ready=names(output.pending_mcp_servers),
    )
    yield from generic.ending(call) if found else _draw.reply(call)


def _found(call: ToolCall) -> list[str]:
    output = call.output(Output)
    named = [words(name) for name in as_list(output.matches)] if output else []
    return named or [words(block.tool_name) for block in call.blocks if isinstance(block, b.ToolReference)]


TOOLS = [Tool(("ToolSearch",), title, draw, category="search")]
