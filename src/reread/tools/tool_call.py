"""One tool call with its result, read from the many shapes that results have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from reread.base.coerce import as_dict
from reread.records import blocks as b
from reread.records.blocks import to_struct

S = TypeVar("S", bound=msgspec.Struct)

RUNNING, DONE, FAILED, DENIED, INTERRUPTED = "running", "done", "failed", "denied", "interrupted"

_EXIT = re.compile(r"(?:Error: )?Exit code (-?\d{1,9})(?!\d)\s*")
_TAGGED = re.compile(r"<tool_use_error>(.*?)</tool_use_error>", re.DOTALL)
_DENIALS = (
    "The user doesn't want to proceed with this tool use",
    "User rejected tool use",
    "The user doesn't want to take this action right now",
    "Permission to use",
    "Claude requested permissions",
    "This command requires approval",
)
_INTERRUPTS = ("[Request interrupted by user", "Interrupted by user", "Request interrupted")


class AgentStats(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that a call started."""

    id: str
    type: str | None = None
    calls: int = 0
    tokens: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, if it has ended."""

    state: str
    """running, done, failed, denied or interrupted."""
    message: str = ""
    """The error message, without its wrapping."""
    exit_code: int | None = None


class ToolCall:
    """A call with its input and its result."""

    def __init__(
        self,
        name: str,
        raw_input: Any,
        *,
        result: b.Block | None = None,
        data: Any = None,
        ok: bool | None = None,
        denial: str | None = None,
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
        self.ok = ok
        """True if the call succeeded, False if it failed, None while it is running."""
        self.denial = denial
        """The client's word for why the call was denied."""
        self.seconds = seconds
        """How long the call took; None if unknown."""
        self.agent = agent
        """The agent that the call started; None if it started none."""

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
        texts = (block.text for block in self.blocks if isinstance(block, b.Text))
        return "\n".join(text for text in texts if isinstance(text, str))

    @property
    def images(self) -> Sequence[b.Image]:
        """The images in the result."""
        return [block for block in self.blocks if isinstance(block, b.Image)]

    @cached_property
    def outcome(self) -> Outcome:
        """How the call ended."""
        if self.ok is None:
            return Outcome(state=RUNNING)
        recorded = self.data if isinstance(self.data, str) else self.text
        text = (self.text or recorded).strip()
        if self.denial == "interrupted" or text.startswith(_INTERRUPTS):
            return Outcome(state=INTERRUPTED, message=text)
        if self.denial or (self.ok is False and text.removeprefix("Error: ").startswith(_DENIALS)):
            return Outcome(state=DENIED, message=text.removeprefix("Error: "))
        if self.ok:
            return Outcome(state=DONE)
        return Outcome(state=FAILED, message=error_text(text), exit_code=exit_code(recorded) or exit_code(text))


def exit_code(text: str) -> int | None:
    """Return the exit code that an error text begins with; None if there is none."""
    found = _EXIT.match(text)
    return int(found[1]) if found else None


def error_text(text: str) -> str:
    """Return an error message without its wrapping."""
    tagged = _TAGGED.search(text)
    if tagged:
        text = text[: tagged.start()] + tagged[1] + text[tagged.end() :]
    found = _EXIT.match(text)
    return text[found.end() if found else 0 :].removeprefix("Error: ").strip()
