"""The mode of a session: EnterPlanMode and ExitPlanMode, the plan; EnterWorktree and ExitWorktree, another checkout."""

from __future__ import annotations

from collections.abc import Iterator

from reread.base.choices import DONE
from reread.base.structs import FrozenStruct
from reread.tools import _draw
from reread.tools._show import Fields, declared, show_facts, show_files, show_note, show_prose, show_result, show_table
from reread.tools.nodes import Node, Note


class EnterPlanModeInput(FrozenStruct):
    """The reason for planning."""

    reason: str | None = None


class EnterPlanModeResult(FrozenStruct):
    """The result of EnterPlanMode."""

    message: str | None = None


class PlanPermission(FrozenStruct):
    """A permission that the plan needs."""

    tool: str = ""
    prompt: str = ""


class ExitPlanModeInput(FrozenStruct):
    """The proposed plan."""

    plan: str | None = None
    planFilePath: str | None = None
    allowedPrompts: list[PlanPermission] | None = None


class ExitPlanModeResult(FrozenStruct):
    """The plan as approved."""

    plan: str | None = None
    isAgent: bool | None = None
    filePath: str | None = None
    hasTaskTool: bool | None = None
    planWasEdited: bool | None = None
    awaitingLeaderApproval: bool | None = None
    requestId: str | None = None


def _proposed(fields: Fields) -> Iterator[Node]:
    """Draw the plan as it was proposed, if the user changed it."""
    approved, proposed = fields.text("result.plan"), fields.text("plan")
    if approved and approved != proposed:
        yield from _draw.section("proposed plan", _draw.prose(proposed))


def _decision(fields: Fields) -> Iterator[Node]:
    if fields.result is None or fields.call.outcome.state != DONE:
        yield from _draw.plain_result(fields.call)
    elif fields.value("result.awaitingLeaderApproval") is True:
        yield Note(text="waiting for the team leader's approval")
    else:
        yield Note(
            text="approved with edits by the user" if fields.value("result.planWasEdited") is True else "approved"
        )


class EnterWorktreeInput(FrozenStruct):
    """The name of a new worktree, or the path of an existing one."""

    name: str | None = None
    path: str | None = None


class ExitWorktreeInput(FrozenStruct):
    """Whether to keep or remove the worktree."""

    action: str | None = None
    discard_changes: bool | None = None


class WorktreeResult(FrozenStruct):
    """The result of both."""

    action: str | None = None
    worktreePath: str | None = None
    worktreeBranch: str | None = None
    originalCwd: str | None = None
    restoredCwd: str | None = None
    originalCwdMissing: bool | None = None
    tmuxSessionName: str | None = None
    discardedFiles: int | None = None
    discardedCommits: int | None = None
    message: str | None = None


_STEPS = (
    show_facts(
        action="action|result.action",
        name="name",
        worktree="result.worktreePath|path",
        branch="result.worktreeBranch",
        returned_to="result.restoredCwd|result.originalCwd",
        tmux="result.tmuxSessionName",
        files_discarded="result.discardedFiles:number",
        commits_discarded="result.discardedCommits:number",
    ),
    show_note("the original folder no longer exists", "warning", when="result.originalCwdMissing"),
    show_result("{result.message}"),
)


TOOLS = [
    declared(
        ("EnterPlanMode",),
        "{reason}",
        show_prose("reason"),
        show_result("{result.message}"),
        category="plan",
        input=EnterPlanModeInput,
        result=EnterPlanModeResult,
    ),
    declared(
        ("ExitPlanMode", "exit_plan_mode"),
        "{result.plan:heading|plan:heading}",
        show_prose("result.plan|plan"),
        show_files(("result.filePath|planFilePath", "plan")),
        _proposed,
        show_table("allowedPrompts", tool="tool", permission="prompt"),
        _decision,
        category="plan",
        input=ExitPlanModeInput,
        result=ExitPlanModeResult,
    ),
    declared(
        ("EnterWorktree",),
        "{name|path|result.worktreeBranch}",
        *_STEPS,
        input=EnterWorktreeInput,
        result=WorktreeResult,
    ),
    declared(
        ("ExitWorktree",), "{action} {result.worktreeBranch}", *_STEPS, input=ExitWorktreeInput, result=WorktreeResult
    ),
]
