"""EnterPlanMode and ExitPlanMode: planning before doing, and the plan itself."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.tools import _draw
from reread.tools._values import answer, each, first, line, words
from reread.tools.nodes import Node, Note, Table
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall


class EnterInput(Struct, kw_only=True):
    """Why a plan is wanted."""

    reason: str | None = None


class EnterOutput(Struct, kw_only=True):
    """That planning began."""

    message: str | None = None


class Permission(Struct, kw_only=True):
    """Something that the plan asks to be allowed."""

    tool: str = ""
    prompt: str = ""


class ExitInput(Struct, kw_only=True):
    """The plan as proposed."""

    plan: str | None = None
    planFilePath: str | None = None
    allowedPrompts: list[Permission] | None = None


class ExitOutput(Struct, kw_only=True):
    """The plan as it was decided upon."""

    plan: str | None = None
    isAgent: bool | None = None
    filePath: str | None = None
    hasTaskTool: bool | None = None
    planWasEdited: bool | None = None
    awaitingLeaderApproval: bool | None = None
    requestId: str | None = None


def enter_title(call: ToolCall) -> str:
    """That planning begins."""
    return f"{call.name} {line(call.input(EnterInput).reason)}".strip()


def draw_enter(call: ToolCall) -> Iterator[Node]:
    """Why, and what was said to it."""
    output = answer(call, EnterOutput)
    yield from _draw.prose(call.input(EnterInput).reason)
    if output and first(output.message):
        yield from _draw.ending(call, output.message)
    else:
        yield from _draw.reply(call)


def exit_title(call: ToolCall) -> str:
    """The plan's first line."""
    given, output = call.input(ExitInput), call.output(ExitOutput) or ExitOutput()
    head = first(output.plan, given.plan).strip().partition("\n")[0].lstrip("# ")
    return f"{call.name} {line(head)}".strip()


def draw_exit(call: ToolCall) -> Iterator[Node]:
    """The plan and its file, and what was decided."""
    given, output = call.input(ExitInput), call.output(ExitOutput)
    told = output or ExitOutput()
    proposed, decided = words(given.plan), words(told.plan)
    yield from _draw.prose(first(decided, proposed))
    yield from _draw.files((first(told.filePath, given.planFilePath), "plan"))
    if decided.strip() and decided != proposed:
        yield from _draw.section("plan as proposed", _draw.prose(proposed))
    asked = [[words(one.tool), words(one.prompt)] for one in each(given.allowedPrompts, Permission)]
    if asked:
        yield Table(columns=["tool", "asks to"], rows=asked)
    yield from _decision(call, output)


def _decision(call: ToolCall, output: ExitOutput | None) -> Iterator[Node]:
    if output is None or call.ending.state != DONE:
        yield from _draw.reply(call)
    elif output.awaitingLeaderApproval is True:
        yield Note(text="waits for the team leader to approve")
    else:
        yield Note(text="approved, with changes by the user" if output.planWasEdited is True else "approved")


TOOLS = [
    Tool(("EnterPlanMode",), enter_title, draw_enter, category="plan"),
    Tool(("ExitPlanMode", "exit_plan_mode"), exit_title, draw_exit, category="plan"),
]
