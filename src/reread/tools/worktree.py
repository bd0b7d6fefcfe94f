"""EnterWorktree and ExitWorktree: work in another checkout of the repository."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.format import number_text
from reread.base.text import as_text, one_line
from reread.tools import _draw
from reread.tools._values import first_nonblank, typed_result
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall


class EnterInput(Struct, kw_only=True):
    """The name of a new worktree, or the path of an existing one."""

    name: str | None = None
    path: str | None = None


class ExitInput(Struct, kw_only=True):
    """Whether to keep or remove the worktree."""

    action: str | None = None
    discard_changes: bool | None = None


class Output(Struct, kw_only=True):
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
    args, output = call.input(EnterInput), call.output(Output) or Output()
    return f"{call.name} {one_line(first_nonblank(args.name, args.path, output.worktreeBranch))}".strip()


def exit_title(call: ToolCall) -> str:
    """Return the action and the worktree."""
    output = call.output(Output) or Output()
    return f"{call.name} {one_line(call.input(ExitInput).action)} {one_line(output.worktreeBranch)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the worktree and the result."""
    output = typed_result(call, Output) or Output()
    enter, exit = call.input(EnterInput), call.input(ExitInput)
    yield from facts(
        action=first_nonblank(exit.action, output.action),
        name=as_text(enter.name),
        worktree=first_nonblank(output.worktreePath, enter.path),
        branch=as_text(output.worktreeBranch),
        returned_to=first_nonblank(output.restoredCwd, output.originalCwd),
        tmux=as_text(output.tmuxSessionName),
        files_discarded=number_text(output.discardedFiles),
        commits_discarded=number_text(output.discardedCommits),
    )
    if output.originalCwdMissing is True:
        yield from _draw.note("the original folder no longer exists", "warning")
    yield from _draw.plain_result(call, output.message)


TOOLS = [Tool(("EnterWorktree",), enter_title, draw), Tool(("ExitWorktree",), exit_title, draw)]
