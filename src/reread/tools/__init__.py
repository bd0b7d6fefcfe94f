"""Title and draw tool calls.

A tool is a module of this folder that defines `TOOLS` (related tools share one), or comes with an add-on; it draws
nodes and knows no view. `generic` draws the calls of unknown tools, and whatever a tool fails to draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeAlias, cast, get_origin

from msgspec import Struct

from reread.base.addons import load_parts
from reread.base.coerce import as_list
from reread.records.blocks import to_struct, to_type, union_members
from reread.tools import generic
from reread.tools.nodes import Node, Note
from reread.tools.tool import Tool, ToolCall, marks
from reread.tools.unshown_fields import ShownText, leftover, leftover_nodes

MCP = "mcp__"

TypedResult: TypeAlias = Struct | list[Struct] | None


@cache
def all_tools() -> dict[str, Tool]:
    """Return every tool by each of its names; one of an add-on replaces a built-in tool of the same name."""
    found = dict(built_in_tools())
    for brought in load_parts("tools", _tools_of).values():
        found |= {name: tool for tool in brought for name in tool.names}
    return found


@cache
def built_in_tools() -> dict[str, Tool]:
    """Return the tools that come with reread, by each of their names."""
    found: list[Tool] = []
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            found += getattr(import_module(f"{__name__}.{module.name}"), "TOOLS", ())
    return {name: tool for tool in found for name in tool.names}


def _tools_of(brought: object) -> list[Tool]:
    """Return the tools of one part of an add-on, which is a tool or a list of tools."""
    tools: list[object] = [brought] if isinstance(brought, Tool) else as_list(brought)
    if not tools or not all(isinstance(tool, Tool) for tool in tools):
        raise TypeError("expected a Tool or a list of Tools")
    return cast(list[Tool], tools)


def tool_for(name: str) -> Tool:
    """Return the tool with this name, or the generic tool."""
    known = all_tools()
    return known.get(name) or known.get(MCP if name.startswith(MCP) else "") or generic.TOOL


def tool_types() -> dict[str, tuple[Any, Any]]:
    """Return the types of the input and of the structured result of every tool, by each of its names."""
    return {name: (tool.input, tool.result) for name, tool in all_tools().items() if name != MCP}


def is_known(name: str) -> bool:
    """True if a tool of this name is built in, comes from an add-on, or is one of an MCP server."""
    return tool_for(name) is not generic.TOOL


def to_input(name: str, value: Any) -> Struct | None:
    """Return the input of a tool as a struct; None if the tool has none, or the value is not an object."""
    shape = tool_for(name).input
    return to_struct(cast(dict[str, Any], value), shape) if shape is not None and isinstance(value, dict) else None


def to_result(name: str, value: Any) -> TypedResult:
    """Return the structured result of a tool as a struct or a list; None if the tool has no type for such a value."""
    for shape in union_members(tool_for(name).result):
        if isinstance(value, list if get_origin(shape) is list else dict) and shape is not None:
            return to_type(value, shape)
    return None


def title(call: ToolCall) -> str:
    """Return one line that says what a call does, with its marks."""
    if call.title is None:
        call.title = _title(call)
    return call.title


def _title(call: ToolCall) -> str:
    try:
        text = " ".join(tool_for(call.name).title(call).split())
    except Exception:  # a broken add-on must not hide the call
        text = " ".join(generic.TOOL.title(call).split())
    text = text or " ".join(call.name.split()) or "(no name)"
    said = text.split(" · ")
    return " · ".join([*said, *(mark for mark in marks(call) if mark not in said)])


def draw(call: ToolCall, *, full: bool = False, recorded: Mapping[str, Any] | None = None) -> list[Node]:
    """Return the nodes of a call and its result; `full` adds everything recorded that no node shows."""
    try:
        nodes = _checked(tool_for(call.name).draw(call)) or list(generic.TOOL.draw(call))
    except Exception as error:  # a broken add-on must not hide the call
        nodes = [Note(text=f"drawing this tool failed: {error!r}", level="warning"), *generic.TOOL.draw(call)]
    return [*nodes, *leftover_nodes(left_out(call, nodes, recorded))] if full else nodes


def left_out(call: ToolCall, nodes: Iterable[Node], recorded: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what is recorded of a call and shown neither by its title nor by these nodes, by path."""
    known = {"input": call.raw_input, "result": call.content, "data": call.data}
    return leftover({**known, **(recorded or {})}, ShownText([title(call)], nodes))


def _checked(nodes: Iterable[object]) -> list[Node]:
    """Return the nodes that a tool drew; raise if an add-on drew anything else, which no view can show."""
    drawn = list(nodes)
    for item in drawn:
        if not isinstance(item, Node):
            raise TypeError(f"expected a node, not {item!r}")
    return cast(list[Node], drawn)


def tool_names() -> Iterable[str]:
    """Return the names of all tools."""
    return all_tools().keys()
