"""Agent, once Task: work given to another agent, its report and what it took; and Batch, several calls in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from msgspec import Struct

from reread import tools
from reread.base.coerce import as_dict, as_list
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._values import count, each, first, grouped, line, names, number, span_ms, tagged, words
from reread.tools.nodes import Node, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

STATUSES = {
    "completed": ("", "info"),
    "async_launched": ("works in the background", "info"),
    "remote_launched": ("works in the cloud", "info"),
    "teammate_spawned": ("joined the team", "info"),
    "failed": ("the agent failed", "error"),
    "error": ("the agent failed", "error"),
    "timeout": ("the agent ran out of time", "error"),
    "timed_out": ("the agent ran out of time", "error"),
}
"""What a status is worth saying."""
WAYS = {
    "async_launched": "in the background",
    "remote_launched": "in the cloud",
    "teammate_spawned": "teammate",
    "failed": "failed",
    "error": "failed",
    "timeout": "timed out",
    "timed_out": "timed out",
}
"""What a status is in a title."""
DEEDS = {
    "readCount": "read",
    "searchCount": "search",
    "bashCount": "command",
    "editFileCount": "edit",
    "linesAdded": "line added",
    "linesRemoved": "line removed",
    "frameCount": "frame",
    "otherToolCount": "other",
}
"""What an agent's counts count."""
TOKENS = {
    "input_tokens": "in",
    "output_tokens": "out",
    "cache_read_input_tokens": "read from cache",
    "cache_creation_input_tokens": "written to cache",
}

_ID = re.compile(r"^agentId: (\S+)", re.MULTILINE)
_FILE = re.compile(r"^output_file: (\S+)", re.MULTILINE)
_STAT = re.compile(r"^(\w+): (\d{1,15})$", re.MULTILINE)
_FRAMED = re.compile(r"^\[Subagent hand-back\][^\n]*\n(.*?)(?:\nagentId: |\Z)", re.DOTALL | re.MULTILINE)
"""A report as the client hands it to the model: told apart by a line above it, and indented."""
_TOOLS_USED = re.compile(r"\s*<tools-used-before-summary>.*</tools-used-before-summary>\s*", re.DOTALL)


class Input(Struct, kw_only=True):
    """What the agent is to do."""

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


class Output(Struct, kw_only=True):
    """What came of it, in all the ways an agent can be started."""

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


class Invocation(Struct, kw_only=True):
    """One call of a batch."""

    tool_name: str = ""
    input: Any = None


class BatchInput(Struct, kw_only=True):
    """Several calls at once."""

    description: str | None = None
    invocations: list[Invocation] | None = None


class BatchOutput(Struct, kw_only=True):
    """What came of them."""

    normalizedMessages: list[Any] | None = None
    orderedToolResults: list[Any] | None = None
    resolvedInvocations: list[Any] | None = None
    totalDurationMs: float | None = None
    totalTokens: int | None = None
    totalToolCalls: int | None = None


def title(call: ToolCall) -> str:
    """What the agent is to do, which kind it is, and how it was started."""
    given, output = call.input(Input), _output(call)
    what = first(given.description, given.prompt)
    parts = (line(what), line(_type(call, given, output)), WAYS.get(words(output.status), ""))
    return f"{call.name} {' · '.join(part for part in parts if part)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """What it was told, what it reported, and what that took."""
    given, output = call.input(Input), _output(call)
    yield from _draw.section("prompt", _draw.prose(first(given.prompt, output.prompt)))
    yield from _status(call, output)
    yield from _draw.links((output.sessionUrl, "session in the cloud"))
    yield from _report(output)
    yield from _draw.files((output.outputFile, "its output"))
    yield from facts(**_who(call, given, output), **_cost(call, output))


def _output(call: ToolCall) -> Output:
    """What came of it; from the texts of the result where only those were kept."""
    output = call.output(Output)
    if output is not None:
        return output
    return _told(call) if call.ending.state == DONE else Output()


def _told(call: ToolCall) -> Output:
    stats = {name: int(value) for name, value in _STAT.findall(tagged(call.text, "usage").get("usage", ""))}
    id, file = _ID.search(call.text), _FILE.search(call.text)
    launched, framed = call.text.startswith("Async agent launched"), _FRAMED.search(call.text)
    report = dedent(framed[1]) if framed else [block for block in call.blocks if not _is_tail(block)]
    return Output(
        status="async_launched" if launched else None,
        content=[] if launched else report,
        agentId=id[1] if id else None,
        outputFile=file[1] if file else None,
        totalTokens=stats.get("subagent_tokens", stats.get("total_tokens")),
        totalToolUseCount=stats.get("tool_uses"),
        totalDurationMs=stats.get("duration_ms"),
    )


def _is_tail(block: b.Block) -> bool:
    """Whether a block is only the client's own line on the agent."""
    return isinstance(block, b.Text) and words(block.text).startswith("agentId: ")


def _status(call: ToolCall, output: Output) -> Iterator[Node]:
    said = words(output.status)
    yield from _draw.refusal(call) if said else generic.ending(call)
    text, level = STATUSES.get(said, (said.replace("_", " "), "info"))
    yield from _draw.note(text, level)
    if output.wasInterrupted is True:
        yield from _draw.note("interrupted", "warning")


def _report(output: Output) -> Iterator[Node]:
    ready = [block for block in as_list(output.content) if isinstance(block, b.Block)]
    for block in ready or b.to_blocks(output.content):
        if not (isinstance(block, b.Text) and _TOOLS_USED.fullmatch(words(block.text))):
            yield from _draw.drawn(block)


def _who(call: ToolCall, given: Input, output: Output) -> dict[str, str]:
    known = call.agent
    return {
        "agent": first(output.agentId, output.teammate_id, output.agent_id, output.taskId, known and known.id),
        "type": _type(call, given, output),
        "name": first(output.name, given.name),
        "team": first(output.team_name, given.team_name),
        "color": words(output.color),
        "model": first(names(output.modelsUsed), output.resolvedModel, output.model, given.model),
        "effort": words(given.effort),
        "mode": words(given.mode),
        "isolation": words(given.isolation),
        "worktree": words(output.worktreePath),
        "branch": words(output.worktreeBranch),
        "continues": words(given.resume),
        "turns_at_most": grouped(given.max_turns),
        "terminal": _terminal(output),
    }


def _type(call: ToolCall, given: Input, output: Output) -> str:
    known = call.agent
    return first(given.subagent_type, output.agentType, output.agent_type, known and known.type)


def _terminal(output: Output) -> str:
    places = (output.tmux_session_name, output.tmux_window_name, output.tmux_pane_id)
    return " ".join(dict.fromkeys(words(place) for place in places if first(place)))


def _cost(call: ToolCall, output: Output) -> dict[str, str]:
    known = call.agent
    tokens = output.totalTokens if number(output.totalTokens) is not None else known and known.tokens
    calls = output.totalToolUseCount if number(output.totalToolUseCount) is not None else known and known.calls
    usage, stats = as_dict(output.usage), as_dict(output.toolStats)
    return {
        "tokens": grouped(tokens),
        "tool_calls": grouped(calls),
        "duration": span_ms(output.totalDurationMs),
        "usage": ", ".join(f"{grouped(usage[key])} {noun}" for key, noun in TOKENS.items() if number(usage.get(key))),
        "did": ", ".join(_did(stats[key], noun) for key, noun in DEEDS.items() if number(stats.get(key))),
        "tools_used": names(output.toolsUsed),
    }


def _did(value: Any, noun: str) -> str:
    head, blank, tail = noun.partition(" ")
    return f"{grouped(value)} other" if noun == "other" else f"{count(value, head)}{blank}{tail}"


def batch_title(call: ToolCall) -> str:
    """What the calls are for, and how many there are."""
    given = call.input(BatchInput)
    parts = (line(given.description), count(given.invocations, "call"))
    return f"{call.name} {' · '.join(part for part in parts if part)}".strip()


def draw_batch(call: ToolCall) -> Iterator[Node]:
    """Each call as its own tool draws it."""
    given, output = call.input(BatchInput), call.output(BatchOutput) or BatchOutput()
    results = [_result(value) for value in as_list(output.orderedToolResults)]
    invocations = each(given.invocations, Invocation)
    if not invocations:
        yield from generic.draw(call)
        return
    for place, invocation in enumerate(invocations):
        result = results[place] if place < len(results) else None
        failed = getattr(result, "is_error", None) is True
        inner = ToolCall(
            words(invocation.tool_name), invocation.input, result=result, ok=None if result is None else not failed
        )
        yield from _draw.section(tools.title(inner), tools.draw(inner), open=True)
    if output.orderedToolResults:
        yield from generic.ending(call)
    else:
        yield from _draw.reply(call)
    yield from facts(
        calls=grouped(output.totalToolCalls),
        tokens=grouped(output.totalTokens),
        duration=span_ms(output.totalDurationMs),
    )


def _result(value: Any) -> b.Block | None:
    """The result block in one of a batch's results, whichever way it is wrapped."""
    item = as_dict(value)
    inner = as_dict(item.get("message")).get("content", item.get("content"))
    wrapped = [block for block in b.to_blocks(inner) if isinstance(block, b.ToolResult)]
    if wrapped:
        return wrapped[0]
    return to_struct(item, b.ToolResult) if "content" in item else None


TOOLS = [
    Tool(("Agent", "Task"), title, draw, category="agent"),
    Tool(("Batch", "BatchTool"), batch_title, draw_batch, category="agent"),
]
