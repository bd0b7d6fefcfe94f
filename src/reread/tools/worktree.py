"""EnterWorktree and ExitWorktree: work in another checkout of the repository."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.format import number_text
from reread.base.text import one_line
from reread.tools import _draw
from reread.tools._values import first_nonblank, typed_result
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool, ToolCall


class EnterWorktreeInput(Struct, frozen=True, kw_only=True):
    """The name of a new worktree, or the path of an existing one."""

    name: str | None = None
    path: str | None = None


class ExitWorktreeInput(Struct, frozen=True, kw_only=True):
    """Whether to keep or remove the worktree."""

    action: str | None = None
    discard_changes: bool | None = None


class WorktreeResult(Struct, frozen=True, kw_only=True):
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


def enter_title(call: ToolCall) -> str:
    """Return the worktree."""
    args, output = call.input(EnterWorktreeInput), call.output(WorktreeResult) or WorktreeResult()
    return f"{call.name} {one_line(first_nonblank(args.name, args.path, output.worktreeBranch))}".strip()


def exit_title(call: ToolCall) -> str:
    """Return the action and the worktree."""
    output = call.output(WorktreeResult) or WorktreeResult()
    return f"{call.name} {one_line(call.input(ExitWorktreeInput).action)} {one_line(output.worktreeBranch)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the worktree and the result."""
    output = typed_result(call, WorktreeResult) or WorktreeResult()
    enter, exit = call.input(EnterWorktreeInput), call.input(ExitWorktreeInput)
    yield from facts(
        action=first_nonblank(exit.action, output.action),
        name=enter.name,
        worktree=first_nonblank(output.worktreePath, enter.path),
        branch=output.worktreeBranch,
        returned_to=first_nonblank(output.restoredCwd, output.originalCwd),
        tmux=output.tmuxSessionName,
        files_discarded=number_text(output.discardedFiles),
        commits_discarded=number_text(output.discardedCommits),
    )
    if output.originalCwdMissing is True:
        yield from _draw.note("the original folder no longer exists", "warning")
    yield from _draw.plain_result(call, output.message)


TOOLS = [
    Tool(("EnterWorktree",), enter_title, draw, input=EnterWorktreeInput, result=WorktreeResult),
    Tool(("ExitWorktree",), exit_title, draw, input=ExitWorktreeInput, result=WorktreeResult),
]
