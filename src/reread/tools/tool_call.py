"""Deeds: one call as a tool sees it, with what came of it read from the many shapes that results have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import msgspec

from reread.base import jsontext
from reread.records import blocks as b
from reread.records.blocks import to_struct

S = TypeVar("S", bound=msgspec.Struct)

RUNNING, DONE, FAILED, DENIED, INTERRUPTED = "running", "done", "failed", "denied", "interrupted"

_EXIT = re.compile(r"^(?:Error: )?Exit code (-?\d+)\s*", re.MULTILINE)
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
_ERROR_WORDS = ("Error: ", "InputValidationError", "Sibling tool call errored", "Cancelled: ")


class AgentStats(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the agent that a call started."""

    id: str
    type: str | None = None
    calls: int = 0
    tokens: int = 0


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, if it did."""

    state: str
    """running, done, failed, denied or interrupted."""
    message: str = ""
    """The error in words, without its wrapping."""
    exit_code: int | None = None


class ToolCall:
    """A call as a tool sees it: its input, and its result in every shape it may have."""

    def __init__(
        self,
        name: str,
        given: Any,
        *,
        result: b.Block | None = None,
        data: Any = None,
        ok: bool | None = None,
        denial: str | None = None,
        seconds: float | None = None,
        agent: AgentStats | None = None,
    ) -> None:
        self.name = name
        self.given = given
        """The input as written."""
        self.block = result
        """The result block; None while unanswered."""
        self.data = data
        """The structured result as written: an object, a list, a string, or None."""
        self.ok = ok
        self.denial = denial
        """The client's own word for why it was refused."""
        self.seconds = seconds
        self.agent = agent

    @property
    def arguments(self) -> dict[str, Any]:
        """The input, empty where it is no object."""
        given = self.given
        return cast(dict[str, Any], given) if isinstance(given, dict) else {}

    def input(self, shape: type[S]) -> S:
        """The input, typed; a field of another type stays as it is."""
        return to_struct(self.arguments, shape)

    def output(self, shape: type[S]) -> S | None:
        """The structured result, typed; None where it is no object."""
        data = self.data
        return to_struct(cast(dict[str, Any], data), shape) if isinstance(data, dict) else None

    @cached_property
    def blocks(self) -> list[b.Block]:
        """The content of the result as blocks."""
        return b.to_blocks(getattr(self.block, "content", None))

    @cached_property
    def text(self) -> str:
        """The text of the result."""
        texts = (block.text for block in self.blocks if isinstance(block, b.Text))
        return "\n".join(text for text in texts if isinstance(text, str))

    @property
    def pictures(self) -> Sequence[b.Image]:
        """The images in the result."""
        return [block for block in self.blocks if isinstance(block, b.Image)]

    @cached_property
    def ending(self) -> Ending:
        """How it ended."""
        if self.ok is None:
            return Ending(state=RUNNING)
        told = self.data if isinstance(self.data, str) else self.text
        text = (self.text or told).strip()
        if self.denial == "interrupted" or text.startswith(_INTERRUPTS):
            return Ending(state=INTERRUPTED, message=text)
        if self.denial or (self.ok is False and text.removeprefix("Error: ").startswith(_DENIALS)):
            return Ending(state=DENIED, message=text.removeprefix("Error: "))
        if self.ok:
            return Ending(state=DONE)
        return Ending(state=FAILED, message=error_text(text), exit_code=exit_code(told) or exit_code(text))


def exit_code(text: str) -> int | None:
    """The exit code that an error text begins with."""
    found = _EXIT.match(text)
    return int(found[1]) if found else None


def error_text(text: str) -> str:
    """An error without its wrapping."""
    tagged = _TAGGED.search(text)
    if tagged:
        text = text[: tagged.start()] + tagged[1] + text[tagged.end() :]
    text = _EXIT.sub("", text, count=1) if _EXIT.match(text) else text
    return text.removeprefix("Error: ").strip()


def one_line(text: object, length: int = 120) -> str:
    """A text as part of a title: one line, not too long."""
    line = " ".join(text.split()) if isinstance(text, str) else jsontext.dumps(text).decode()
    return line if len(line) <= length else line[: length - 1] + "…"
