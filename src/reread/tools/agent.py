"""Agent (earlier: Task), which starts another agent; and Batch, which makes several calls at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from msgspec import Struct

from reread import tools
from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.format import as_number, duration_ms_text, number_text
from reread.base.text import as_text, one_line, plural
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._values import comma_separated, first_nonblank, join_parts, list_of, parse_tags
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool, ToolCall

STATUSES = {
    "completed": ("", "info"),
    "async_launched": ("running in the background", "info"),
    "remote_launched": ("running in the cloud", "info"),
    "teammate_spawned": ("joined the team", "info"),
    "failed": ("the agent failed", "error"),
    "error": ("the agent failed", "error"),
    "timeout": ("the agent timed out", "error"),
    "timed_out": ("the agent timed out", "error"),
}
"""The note for a status."""
TITLE_STATUSES = {
    "async_launched": "in the background",
    "remote_launched": "in the cloud",
    "teammate_spawned": "teammate",
    "failed": "failed",
    "error": "failed",
    "timeout": "timed out",
    "timed_out": "timed out",
}
"""The words for a status in a title."""
ACTIVITY = {
    "readCount": "read",
    "searchCount": "search",
    "bashCount": "command",
    "editFileCount": "edit",
    "linesAdded": "line added",
    "linesRemoved": "line removed",
    "frameCount": "frame",
    "otherToolCount": "other",
}
"""The nouns for an agent's counts."""
TOKENS = {
    "input_tokens": "in",
    "output_tokens": "out",
    "cache_read_input_tokens": "cache read",
    "cache_creation_input_tokens": "cache write",
}

_ID = re.compile(r"^agentId: (\S+)", re.MULTILINE)
_FILE = re.compile(r"^output_file: (\S+)", re.MULTILINE)
_STAT = re.compile(r"^(\w+): (\d{1,15})$", re.MULTILINE)
_HANDBACK = re.compile(r"^\[Subagent hand-back\][^\n]*\n(.*?)(?:\nagentId: |\Z)", re.DOTALL | re.MULTILINE)
"""A report as the client passes it to the model: indented, below a line that introduces it."""
_TOOLS_USED = re.compile(r"\s*<tools-used-before-summary>.*</tools-used-before-summary>\s*", re.DOTALL)


class AgentInput(Struct, frozen=True, kw_only=True):
    """The input of Agent."""

    description: str | None = None
    prompt: str | None = None
    subagent_type: str | None = None
    model: str | None = None
    effort: str | None = None
    run_in_background: bool | None = None
    name: str | None = None
    team_name: str | None = None
    mode: str | None = None
    isolation: str | None = None
    resume: str | None = None
    max_turns: int | None = None


class AgentResult(Struct, frozen=True, kw_only=True):
    """The result of Agent, for every way to start one."""

    status: str | None = None
    agentId: str | None = None
    agentType: str | None = None
    description: str | None = None
    prompt: str | None = None
    content: b.Content = None
    resolvedModel: str | None = None
    modelsUsed: list[str] | None = None
    totalToolUseCount: int | None = None
    totalDurationMs: float | None = None
    totalTokens: int | None = None
    usage: dict[str, Any] | None = None
    toolStats: dict[str, Any] | None = None
    toolsUsed: list[str] | None = None
    worktreePath: str | None = None
    worktreeBranch: str | None = None
    wasInterrupted: bool | None = None
    isAsync: bool | None = None
    outputFile: str | None = None
    canReadOutputFile: bool | None = None
    canContinueAgent: bool | None = None
    taskId: str | None = None
    sessionUrl: str | None = None
    teammate_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    name: str | None = None
    color: str | None = None
    model: str | None = None
    team_name: str | None = None
    tmux_session_name: str | None = None
    tmux_window_name: str | None = None
    tmux_pane_id: str | None = None
    is_splitpane: bool | None = None
    plan_mode_required: bool | None = None
    harnessNoteCount: int | None = None
    harnessSectionHash: str | None = None
    harnessTailCount: int | None = None


class BatchInvocation(Struct, frozen=True, kw_only=True):
    """One call in a batch."""

    tool_name: str = ""
    input: Any = None


class BatchInput(Struct, frozen=True, kw_only=True):
    """The input of Batch."""

    description: str | None = None
    invocations: list[BatchInvocation] | None = None


class BatchResult(Struct, frozen=True, kw_only=True):
    """The result of Batch."""

    normalizedMessages: list[Any] | None = None
    orderedToolResults: list[Any] | None = None
    resolvedInvocations: list[Any] | None = None
    totalDurationMs: float | None = None
    totalTokens: int | None = None
    totalToolCalls: int | None = None


def title(call: ToolCall) -> str:
    """Return the task, the type of agent, and how it was started."""
    args, output = call.input(AgentInput), _output(call)
    task = first_nonblank(args.description, args.prompt)
    parts = (one_line(task), one_line(_type(call, args, output)), TITLE_STATUSES.get(as_text(output.status), ""))
    return f"{call.name} {join_parts(*parts, separator=' · ')}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the prompt, the report, and what it took."""
    args, output = call.input(AgentInput), _output(call)
    yield from _draw.section("prompt", _draw.prose(first_nonblank(args.prompt, output.prompt)))
    yield from _status(call, output)
    yield from _draw.links((output.sessionUrl, "cloud session"))
    yield from _report(output)
    yield from _draw.file_list((output.outputFile, "output"))
    yield from facts(**_identity(call, args, output), **_cost(call, output))


def _output(call: ToolCall) -> AgentResult:
    """Return the structured result, or what its text says."""
    output = call.output(AgentResult)
    if output is not None:
        return output
    return _output_from_text(call) if call.outcome.state == DONE else AgentResult()


def _output_from_text(call: ToolCall) -> AgentResult:
    stats = {name: int(value) for name, value in _STAT.findall(parse_tags(call.text, "usage").get("usage", ""))}
    id, file = _ID.search(call.text), _FILE.search(call.text)
    launched, handback = call.text.startswith("Async agent launched"), _HANDBACK.search(call.text)
    report = dedent(handback[1]) if handback else [block for block in call.blocks if not _is_trailer(block)]
    return AgentResult(
        status="async_launched" if launched else None,
        content=[] if launched else report,
        agentId=id[1] if id else None,
        outputFile=file[1] if file else None,
        totalTokens=stats.get("subagent_tokens", stats.get("total_tokens")),
        totalToolUseCount=stats.get("tool_uses"),
        totalDurationMs=stats.get("duration_ms"),
    )


def _is_trailer(block: b.Block) -> bool:
    """True if a block is the client's own line about the agent."""
    return isinstance(block, b.Text) and as_text(block.text).startswith("agentId: ")


def _status(call: ToolCall, output: AgentResult) -> Iterator[Node]:
    status = as_text(output.status)
    yield from _draw.unfinished_note(call) if status else generic.outcome_note(call)
    text, level = STATUSES.get(status, (status.replace("_", " "), "info"))
    yield from _draw.note(text, level)
    if output.wasInterrupted is True:
        yield from _draw.note("interrupted", "warning")


def _report(output: AgentResult) -> Iterator[Node]:
    typed = [block for block in as_list(output.content) if isinstance(block, b.Block)]
    for block in typed or b.to_blocks(output.content):
        if not (isinstance(block, b.Text) and _TOOLS_USED.fullmatch(as_text(block.text))):
            yield from _draw.content_block(block)


def _identity(call: ToolCall, args: AgentInput, output: AgentResult) -> dict[str, str]:
    agent = call.agent
    return {
        "agent": first_nonblank(output.agentId, output.teammate_id, output.agent_id, output.taskId, agent and agent.id),
        "type": _type(call, args, output),
        "name": first_nonblank(output.name, args.name),
        "team": first_nonblank(output.team_name, args.team_name),
        "color": as_text(output.color),
        "model": first_nonblank(comma_separated(output.modelsUsed), output.resolvedModel, output.model, args.model),
        "effort": as_text(args.effort),
        "mode": as_text(args.mode),
        "isolation": as_text(args.isolation),
        "worktree": as_text(output.worktreePath),
        "branch": as_text(output.worktreeBranch),
        "resumes": as_text(args.resume),
        "max_turns": number_text(args.max_turns),
        "terminal": _terminal(output),
    }


def _type(call: ToolCall, args: AgentInput, output: AgentResult) -> str:
    agent = call.agent
    return first_nonblank(args.subagent_type, output.agentType, output.agent_type, agent and agent.type)


def _terminal(output: AgentResult) -> str:
    names = (output.tmux_session_name, output.tmux_window_name, output.tmux_pane_id)
    return " ".join(dict.fromkeys(as_text(name) for name in names if first_nonblank(name)))


def _cost(call: ToolCall, output: AgentResult) -> dict[str, str]:
    agent = call.agent
    tokens = output.totalTokens if as_number(output.totalTokens) is not None else agent and agent.tokens
    calls = output.totalToolUseCount if as_number(output.totalToolUseCount) is not None else agent and agent.calls
    usage, stats = as_dict(output.usage), as_dict(output.toolStats)
    return {
        "tokens": number_text(tokens),
        "tool_calls": number_text(calls),
        "duration": duration_ms_text(output.totalDurationMs),
        "usage": ", ".join(f"{number_text(usage[key])} {noun}" for key, noun in TOKENS.items() if _counted(usage, key)),
        "activity": ", ".join(_activity(stats[key], noun) for key, noun in ACTIVITY.items() if _counted(stats, key)),
        "tools_used": comma_separated(output.toolsUsed),
    }


def _counted(counts: dict[str, Any], key: str) -> bool:
    return bool(as_number(counts.get(key)))


def _activity(count: Any, noun: str) -> str:
    head, space, tail = noun.partition(" ")
    return f"{number_text(count)} other" if noun == "other" else f"{plural(count, head)}{space}{tail}"


def batch_title(call: ToolCall) -> str:
    """Return the purpose and the number of the calls."""
    args = call.input(BatchInput)
    parts = (one_line(args.description), plural(args.invocations, "call"))
    return f"{call.name} {join_parts(*parts, separator=' · ')}".strip()


def draw_batch(call: ToolCall) -> Iterator[Node]:
    """Draw each call with its own tool."""
    args, output = call.input(BatchInput), call.output(BatchResult) or BatchResult()
    results = [_result_block(value) for value in as_list(output.orderedToolResults)]
    invocations = list_of(args.invocations, BatchInvocation)
    if not invocations:
        yield from generic.draw(call)
        return
    for place, invocation in enumerate(invocations):
        result = results[place] if place < len(results) else None
        inner = ToolCall(as_text(invocation.tool_name), invocation.input, result=result)
        yield from _draw.section(tools.title(inner), tools.draw(inner), open=True)
    if output.orderedToolResults:
        yield from generic.outcome_note(call)
    else:
        yield from _draw.plain_result(call)
    yield from facts(
        calls=number_text(output.totalToolCalls),
        tokens=number_text(output.totalTokens),
        duration=duration_ms_text(output.totalDurationMs),
    )


def _result_block(value: Any) -> b.Block | None:
    """Return the result block in one result of a batch, however it is wrapped."""
    item = as_dict(value)
    inner = as_dict(item.get("message")).get("content", item.get("content"))
    wrapped = [block for block in b.to_blocks(inner) if isinstance(block, b.ToolResult)]
    if wrapped:
        return wrapped[0]
    return to_struct(item, b.ToolResult) if "content" in item else None


TOOLS = [
    Tool(("Agent", "Task"), title, draw, category="agent", input=AgentInput, result=AgentResult),
    Tool(("Batch", "BatchTool"), batch_title, draw_batch, category="agent", input=BatchInput, result=BatchResult),
]
