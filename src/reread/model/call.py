"""The input and the result of a call, read from its records."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import Any

import msgspec

from reread import tools
from reread.base.choices import DONE, RUNNING, CallState
from reread.base.coerce import as_dict, as_str
from reread.base.times import seconds_between
from reread.model.bodies import Bodies, written_blocks
from reread.model.record_kinds import own_fields
from reread.records.blocks import Block
from reread.tools.outcome import Outcome, outcome_of
from reread.tools.spilled import spilled_names, with_spilled
from reread.tools.tool import AgentStats, ToolCall

USE_FIELDS = ("type", "id", "input")
RESULT_FIELDS = ("type", "tool_use_id", "content")
"""The fields of a tool use and of a result that a view shows of every call."""


class CallContent(msgspec.Struct, eq=False):
    """A call as its records: the one with the tool use, and the one with the result."""

    bodies: Bodies
    index: int
    """Its position in the conversation, from 0."""
    id: str
    name: str
    use: int
    """The record that holds the tool use."""
    answer: int = -1
    """The record that holds the result, or -1."""
    is_error: bool = False
    """Whether its result is marked as an error; `state` is what counts."""
    denied: bool = False
    """Whether the end of its turn lists it as denied."""
    place: int = 0
    """The position of the tool use among the blocks of its record."""
    result_place: int = -1
    """The position of the result among the blocks of its record, if it named no call and was paired by position."""
    attached: Sequence[int] = ()
    """Progress, hooks and notices of this call, as record indexes."""
    notices: Sequence[int] = ()
    """Messages in which a background task reported back, by index."""

    @property
    def block(self) -> Block | None:
        """The tool use as a block."""
        blocks = self.bodies.content(self.use)
        return blocks[self.place] if self.place < len(blocks) else None

    @property
    def input(self) -> Any:
        """The input as written."""
        return getattr(self.block, "input", None)

    @property
    def file(self) -> str | None:
        """The file that the input names, as written; None if it names none."""
        fields = as_dict(self.input)
        return next((path for name in ("file_path", "notebook_path") if (path := as_str(fields.get(name)))), None)

    @property
    def result(self) -> Block | None:
        """The result block; None while unanswered."""
        if self.answer < 0:
            return None
        if self.by_position:
            blocks = self.bodies.content(self.answer)
            return blocks[self.result_place] if self.result_place < len(blocks) else None
        return self.bodies.result(self.answer, self.id)

    @property
    def by_position(self) -> bool:
        """True if the result named no call and was paired by its position."""
        return self.result_place >= 0

    @property
    def data(self) -> Any:
        """The structured result: `toolUseResult`, in whatever shape it has."""
        if self.answer < 0 or self.answer == self.use:
            return None
        return self.bodies.structured_result(self.answer, self.id)

    @property
    def spilled(self) -> str | None:
        """The whole text of a result of which the transcript has only a preview; None if it is not there.

        It is read from the file in the session's folder that the result names.
        """
        names = spilled_names(getattr(self.result, "content", None), self.data) if self.answer >= 0 else []
        texts = [text for name in names if (text := self.bodies.read_spilled(name)) is not None]
        return "\n".join(texts) if texts else None

    @property
    def recorded(self) -> dict[str, Any]:
        """Everything that its records say about it and nothing else, by where it stands; blocks as written."""
        use = written_blocks(self.bodies.native(self.use))
        found: dict[str, Any] = {"use": _other(use[self.place] if self.place < len(use) else None, USE_FIELDS)}
        if self.answer < 0:
            return found
        native = self.bodies.native(self.answer)
        block = as_dict(self._written_result())
        found["result"] = block.get("content")
        found["block"] = _other(block, RESULT_FIELDS)
        if native.get("type") == "user":
            found["record"] = _other(own_fields(native), ("message", "toolUseResult"))
        return found

    def _written_result(self) -> Any:
        if not self.by_position:
            return self.bodies.written_result(self.answer, self.id)
        blocks = written_blocks(self.bodies.native(self.answer))
        return blocks[self.result_place] if self.result_place < len(blocks) else None

    @property
    def typed_input(self) -> msgspec.Struct | None:
        """The input as a struct of `reread.tool_types`, such as `BashInput`; None for MCP tools and unknown tools.

        A field with a value of another type keeps that value.
        """
        return tools.to_input(self.name, self.input)

    @property
    def typed_result(self) -> tools.TypedResult:
        """The structured result as a struct of `reread.tool_types`, such as `BashResult`; some tools give a list.

        None if `data` is not an object or list, as after most errors, and for MCP tools and unknown tools. A field
        with a value of another type keeps that value. The API's own tools have typed blocks instead: see `result`.
        """
        return tools.to_result(self.name, self.data)

    @property
    def outcome(self) -> Outcome:
        """How it ended, with its state, error and exit code."""
        if self.answer < 0:
            return Outcome(state=RUNNING)
        native = self.bodies.native(self.answer)
        denial = as_str(native.get("toolDenialKind")) or ("permission" if self.denied else None)
        is_error = self.is_error or bool(native.get("isError"))
        return outcome_of(self.result, self.data, is_error=is_error, denial=denial)

    @property
    def state(self) -> CallState:
        """running, done, failed, denied or interrupted."""
        if self.answer < 0:
            return RUNNING
        if not self.is_error and not self.denied and self.bodies.is_plainly_done(self.answer):
            return DONE
        return self.outcome.state

    @property
    def ok(self) -> bool | None:
        """None while it is running, True if it is done; False if it failed, was denied or interrupted."""
        state = self.state
        return None if state == RUNNING else state == DONE

    @property
    def exit_code(self) -> int | None:
        """The exit code of the program it ran; None if the result does not say."""
        return self.outcome.exit_code

    @property
    def error(self) -> str | None:
        """The message of a call that failed, was denied or interrupted; None otherwise."""
        outcome = self.outcome
        return None if outcome.state in (RUNNING, DONE) else outcome.message

    @property
    def started(self) -> datetime | None:
        """When the call was made."""
        return self.bodies.time(self.use)

    @property
    def ended(self) -> datetime | None:
        """When its result was written."""
        return None if self.answer < 0 else self.bodies.time(self.answer)

    @property
    def duration(self) -> float | None:
        """Seconds from the call to its result, by the records' timestamps."""
        return seconds_between(self.started, self.ended)

    @property
    def line(self) -> int:
        """The line of the tool use."""
        return self.bodies.records.line(self.use)

    def for_tool(self, agent: AgentStats | None) -> ToolCall:
        """Return the call as a tool sees it; `agent` has the figures of the agent that it started."""
        result, data = with_spilled(self.result, self.data, self.bodies.read_spilled)
        outcome, seconds = self.outcome, self.duration
        return ToolCall(self.name, self.input, result=result, data=data, outcome=outcome, seconds=seconds, agent=agent)

    def set_result(self, record: int, *, is_error: bool, place: int = -1) -> None:
        """Pair the call with the record that holds its result."""
        self.answer, self.is_error, self.result_place = record, is_error, place

    def deny(self) -> None:
        """Note that the end of its turn lists it as denied."""
        self.denied = True


def _other(value: Any, known: Container[str]) -> dict[str, Any]:
    return {name: item for name, item in as_dict(value).items() if name not in known}
