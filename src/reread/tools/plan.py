"""EnterPlanMode and ExitPlanMode: the plan and its approval."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.text import as_text, one_line
from reread.tools import _draw
from reread.tools._values import first_nonblank, list_of, titled, typed_result
from reread.tools.nodes import Node, Note, Table
from reread.tools.tool import Tool, ToolCall


class EnterPlanModeInput(Struct, frozen=True, kw_only=True):
    """The reason for planning."""

    reason: str | None = None


class EnterPlanModeResult(Struct, frozen=True, kw_only=True):
    """The result of EnterPlanMode."""

    message: str | None = None


class PlanPermission(Struct, frozen=True, kw_only=True):
    """A permission that the plan needs."""

    tool: str = ""
    prompt: str = ""


class ExitPlanModeInput(Struct, frozen=True, kw_only=True):
    """The proposed plan."""

    plan: str | None = None
    planFilePath: str | None = None
    allowedPrompts: list[PlanPermission] | None = None


class ExitPlanModeResult(Struct, frozen=True, kw_only=True):
    """The plan as approved."""

    plan: str | None = None
    isAgent: bool | None = None
    filePath: str | None = None
    hasTaskTool: bool | None = None
    planWasEdited: bool | None = None
    awaitingLeaderApproval: bool | None = None
    requestId: str | None = None


def draw_enter(call: ToolCall) -> Iterator[Node]:
    """Draw the reason and the result."""
    output = typed_result(call, EnterPlanModeResult) or EnterPlanModeResult()
    yield from _draw.prose(call.input(EnterPlanModeInput).reason)
    yield from _draw.plain_result(call, output.message)


def exit_title(call: ToolCall) -> str:
    """Return the first line of the plan."""
    args, output = call.input(ExitPlanModeInput), call.output(ExitPlanModeResult) or ExitPlanModeResult()
    head = first_nonblank(output.plan, args.plan).strip().partition("\n")[0].lstrip("# ")
    return f"{call.name} {one_line(head)}".strip()


def draw_exit(call: ToolCall) -> Iterator[Node]:
    """Draw the plan, its file, and the decision."""
    args, output = call.input(ExitPlanModeInput), call.output(ExitPlanModeResult)
    result = output or ExitPlanModeResult()
    proposed, approved = as_text(args.plan), as_text(result.plan)
    yield from _draw.prose(first_nonblank(approved, proposed))
    yield from _draw.file_list((first_nonblank(result.filePath, args.planFilePath), "plan"))
    if approved.strip() and approved != proposed:
        yield from _draw.section("proposed plan", _draw.prose(proposed))
    permissions = list_of(args.allowedPrompts, PlanPermission)
    if permissions:
        rows = [[as_text(permission.tool), as_text(permission.prompt)] for permission in permissions]
        yield Table(columns=["tool", "permission"], rows=rows)
    yield from _decision(call, output)


def _decision(call: ToolCall, output: ExitPlanModeResult | None) -> Iterator[Node]:
    if output is None or call.outcome.state != DONE:
        yield from _draw.plain_result(call)
    elif output.awaitingLeaderApproval is True:
        yield Note(text="waiting for the team leader's approval")
    else:
        yield Note(text="approved with edits by the user" if output.planWasEdited is True else "approved")


TOOLS = [
    Tool(
        ("EnterPlanMode",),
        titled("reason"),
        draw_enter,
        category="plan",
        input=EnterPlanModeInput,
        result=EnterPlanModeResult,
    ),
    Tool(
        ("ExitPlanMode", "exit_plan_mode"),
        exit_title,
        draw_exit,
        category="plan",
        input=ExitPlanModeInput,
        result=ExitPlanModeResult,
    ),
]
