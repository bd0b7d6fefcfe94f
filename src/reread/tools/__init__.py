"""Tools: what each one was asked, what it gave, its title and how it is drawn.

A tool is one module (or a close family in one), with typed input and result, and a row in `TOOLS`. It draws
into nodes and knows no view. Others plug in through the entry point group `reread.tools`, with the same
object. What no tool knows, or what a tool cannot draw, is drawn by `generic`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from reread.tools import generic
from reread.tools.nodes import Node, Note
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

FAMILIES = (
    "agent",
    "background",
    "bash",
    "claude_ai",
    "user_messages",
    "edit",
    "lsp",
    "mcp",
    "notebook",
    "plan",
    "question",
    "read",
    "schedule",
    "search",
    "tool_search",
    "server_tools",
    "skill",
    "tasks",
    "team",
    "todo",
    "web",
    "workflow",
    "worktree",
    "write",
)
"""The modules of this folder that have tools."""

ENTRY_POINTS = "reread.tools"
MCP = "mcp__"


@cache
def tools() -> dict[str, Tool]:
    """Every tool by each of its names; an installed plug-in takes a name over."""
    found: list[Tool] = []
    for family in FAMILIES:
        found += import_module(f"reread.tools.{family}").TOOLS
    for point in entry_points(group=ENTRY_POINTS):
        plugged = point.load()
        found += [plugged] if isinstance(plugged, Tool) else plugged
    return {name: tool for tool in found for name in tool.names}


def tool_for(name: str) -> Tool:
    """The tool of that name, or the one that draws whatever has no tool."""
    known = tools()
    return known.get(name) or known.get(MCP if name.startswith(MCP) else "") or generic.TOOL


def title(call: ToolCall) -> str:
    """What a call does, in one line."""
    try:
        said = tool_for(call.name).title(call)
    except Exception:  # a plug-in's fault must not hide the call
        said = generic.TOOL.title(call)
    return " ".join(said.split()) or call.name


def draw(call: ToolCall, *, full: bool = False) -> list[Node]:
    """A call and what came of it, as nodes; in full, no text of it is left out."""
    try:
        drawn = list(tool_for(call.name).draw(call)) or list(generic.TOOL.draw(call))
    except Exception as fault:  # a plug-in's fault must not hide the call
        drawn = [
            Note(text=f"the tool's own drawing failed: {fault!r}", level="warning"),
            *generic.TOOL.draw(call),
        ]
    return [*drawn, *generic.rest(call, drawn, title(call))] if full else drawn


def names() -> Iterable[str]:
    """The names of all tools."""
    return tools().keys()
