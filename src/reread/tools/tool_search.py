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
from reread.tools.tool_call import DONE, Deed


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


def title(deed: Deed) -> str:
    """Which tools are wanted, and how many were found."""
    found = _found(deed)
    said = f" → {count(found, 'tool')}" if found or deed.ending.state == DONE else ""
    return f'{deed.name} "{line(deed.input(Input).query)}"{said}'


def draw(deed: Deed) -> Iterator[Node]:
    """The tools that were found, and out of how many."""
    given, output, found = deed.input(Input), deed.output(Output) or Output(), _found(deed)
    yield from facts(
        query=words(given.query),
        at_most=grouped(given.max_results),
        found=", ".join(found),
        out_of=count(output.total_deferred_tools, "tool"),
        servers_not_ready=names(output.pending_mcp_servers),
    )
    yield from generic.ending(deed) if found else _draw.reply(deed)


def _found(deed: Deed) -> list[str]:
    output = deed.output(Output)
    named = [words(name) for name in as_list(output.matches)] if output else []
    return named or [words(block.tool_name) for block in deed.blocks if isinstance(block, b.ToolReference)]


TOOLS = [Tool(("ToolSearch",), title, draw, sort="search")]
