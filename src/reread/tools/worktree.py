"""EnterWorktree and ExitWorktree: working in another checkout of the repository."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.tools import _draw
from reread.tools._values import answer, first, grouped, line, words
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall


class EnterInput(Struct, kw_only=True):
    """A name for a new one, or the path of one that exists."""

    name: str | None = None
    path: str | None = None


class ExitInput(Struct, kw_only=True):
    """Whether it is kept or removed."""

    action: str | None = None
    discard_changes: bool | None = None


class Output(Struct, kw_only=True):
    """Where the worktree is, and what became of it."""

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
    """Which worktree."""
    given, output = call.input(EnterInput), call.output(Output) or Output()
    return f"{call.name} {line(first(given.name, given.path, output.worktreeBranch))}".strip()


def exit_title(call: ToolCall) -> str:
    """What becomes of which worktree."""
    output = call.output(Output) or Output()
    return f"{call.name} {line(call.input(ExitInput).action)} {line(output.worktreeBranch)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Where the worktree is, and what was said of it."""
    output = answer(call, Output) or Output()
    entered, left = call.input(EnterInput), call.input(ExitInput)
    yield from facts(
        action=first(left.action, output.action),
        name=words(entered.name),
        worktree=first(output.worktreePath, entered.path),
        branch=words(output.worktreeBranch),
        back_in=first(output.restoredCwd, output.originalCwd),
        tmux=words(output.tmuxSessionName),
        files_discarded=grouped(output.discardedFiles),
        commits_discarded=grouped(output.discardedCommits),
    )
    if output.originalCwdMissing is True:
        yield from _draw.note("the folder it came from is gone", "warning")
    yield from _draw.ending(call, output.message) if first(output.message) else _draw.reply(call)


TOOLS = [Tool(("EnterWorktree",), enter_title, draw), Tool(("ExitWorktree",), exit_title, draw)]
