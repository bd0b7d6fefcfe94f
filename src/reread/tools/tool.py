"""The interface of a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from reread.tools.nodes import Node
from reread.tools.tool_call import ToolCall


class NoInput(Struct, frozen=True, kw_only=True):
    """The input of a tool that takes none."""


class Tool(NamedTuple):
    """How the calls of one tool are titled and drawn."""

    names: tuple[str, ...]
    """Its current name, then its earlier names."""
    title: Callable[[ToolCall], str]
    """Return one line that says what a call does."""
    draw: Callable[[ToolCall], Iterable[Node]]
    """Yield the nodes of a call and its result."""
    category: str = "other"
    """The kind of work: read, search, edit, run, agent, web, plan or other."""
    input: type[Struct] | None = None
    """The type of the input; None if it can be anything."""
    result: Any = None
    """The type of the structured result: a struct, or a union of a struct and a list; None if it can be anything."""
