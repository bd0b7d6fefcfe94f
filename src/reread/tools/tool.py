"""A tool, and one call of it with its result, read from the many shapes that results have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from reread.base.choices import INTERRUPTED, RUNNING
from reread.base.coerce import as_dict, as_list
from reread.base.structs import FrozenStruct
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools.nodes import Node
from reread.tools.outcome import Outcome, content_text, outcome_of

S = TypeVar("S", bound=msgspec.Struct)
BACKGROUND = "in the background"
MODIFIED = "changed by the user"
EVERYWHERE = "every occurrence"


class AgentStats(FrozenStruct):
    """The agent that a call started."""

    id: str
    type: str | None = None
    calls: int = 0
    tokens: int = 0


class ToolCall:
    """A call with its input and its result."""

    def __init__(
        self,
        name: str,
        raw_input: Any,
        *,
        result: b.Block | None = None,
        data: Any = None,
        outcome: Outcome | None = None,
        seconds: float | None = None,
        agent: AgentStats | None = None,
    ) -> None:
        self.name = name
        self.raw_input = raw_input
        """The input as recorded."""
        self.result = result
        """The result block; None while the call is running."""
        self.data = data
        """The structured result as recorded: an object, a list, a string, or None."""
        self.seconds = seconds
        """How long the call took; None if unknown."""
        self._outcome = outcome
        self.agent = agent
        """The agent that the call started; None if it started none."""
        self.title: str | None = None
        """What the call does, in one line; None until `tools.title` was asked for it."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The input, empty if it is not an object."""
        return as_dict(self.raw_input)

    def input(self, shape: type[S]) -> S:
        """Return the input as a struct; a field of another type keeps its value."""
        return to_struct(self.arguments, shape)

    def output(self, shape: type[S]) -> S | None:
        """Return the structured result as a struct; None if it is not an object."""
        data = self.data
        return to_struct(as_dict(data), shape) if isinstance(data, dict) else None

    @property
    def content(self) -> Any:
        """The content of the result block: text, blocks or another value; None while the call is running."""
        return getattr(self.result, "content", None)

    @cached_property
    def blocks(self) -> list[b.Block]:
        """The content of the result as blocks."""
        return b.to_blocks(self.content)

    @cached_property
    def text(self) -> str:
        """The text of the result."""
        return content_text(self.content)

    @property
    def images(self) -> Sequence[b.Image]:
        """The images in the result."""
        return [block for block in self.blocks if isinstance(block, b.Image)]

    @cached_property
    def outcome(self) -> Outcome:
        """How the call ended."""
        if self._outcome is not None:
            return self._outcome
        is_running = self.result is None and self.data is None
        return Outcome(state=RUNNING) if is_running else outcome_of(self.result, self.data)


def marks(call: ToolCall) -> Iterator[str]:
    """Yield how a call was made and ended: everywhere, in the background, changed by the user, interrupted."""
    args, data = call.arguments, as_dict(call.data)
    if replaces_all(args) or replaces_all(data):
        yield EVERYWHERE
    if args.get("run_in_background") is True or data.get("backgroundTaskId") or data.get("status") == "async_launched":
        yield BACKGROUND
    if data.get("userModified") is True:
        yield MODIFIED
    if call.outcome.state == INTERRUPTED or data.get("wasInterrupted") is True:
        yield INTERRUPTED


def replaces_all(fields: dict[str, Any]) -> bool:
    """True if an input or a result says that an edit replaces every occurrence of its text."""
    edits = (fields, *map(as_dict, as_list(fields.get("edits"))))
    return any(edit.get("replace_all") is True or edit.get("replaceAll") is True for edit in edits)


class NoInput(FrozenStruct):
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
