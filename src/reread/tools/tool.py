"""What a tool is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from reread.tools.nodes import Node
from reread.tools.tool_call import ToolCall


class Tool(NamedTuple):
    """How one tool is titled and drawn."""

    names: tuple[str, ...]
    """Its name today first, then the names it had."""
    title: Callable[[ToolCall], str]
    draw: Callable[[ToolCall], Iterable[Node]]
    category: str = "other"
    """What kind of work it does: read, search, edit, run, agent, web, plan or other."""
