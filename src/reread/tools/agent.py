"""Agent (earlier: Task), which starts another agent; and Batch, which makes several calls at once.

Here are also the tools of teams of agents: SendMessage, TeamCreate, ListAgents and ReadNotifications.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

from reread import tools
from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.format import as_number, number_text
from reread.base.late_pattern import late_pattern
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, plural
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import _draw, generic
from reread.tools._show import (
    Fields,
    declared,
    if_answered,
    recorded,
    show_data,
    show_each,
    show_facts,
    show_files,
    show_links,
    show_note,
    show_outcome,
    show_outcome_or_result,
    show_prose,
    show_prose_or_code,
    show_result,
    show_section,
)
from reread.tools._values import first_nonblank, join_parts, parse_tags
from reread.tools.nodes import Data, Node
from reread.tools.tool import NoInput, ToolCall

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

_ID = late_pattern(r"^agentId: (\S+)", re.MULTILINE)
_FILE = late_pattern(r"^output_file: (\S+)", re.MULTILINE)
_STAT = late_pattern(r"^(\w+): (\d{1,15})$", re.MULTILINE)
_HANDBACK = late_pattern(r"^\[Subagent hand-back\][^\n]*\n(.*?)(?:\nagentId: |\Z)", re.DOTALL | re.MULTILINE)
"""A report as the client passes it to the model: indented, below a line that introduces it."""
_TOOLS_USED = late_pattern(r"\s*<tools-used-before-summary>.*</tools-used-before-summary>\s*", re.DOTALL)


class AgentInput(FrozenStruct):
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


class AgentResult(FrozenStruct):
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


class BatchInvocation(FrozenStruct):
    """One call in a batch."""

    tool_name: str = ""
    input: Any = None


class BatchInput(FrozenStruct):
    """The input of Batch."""

    description: str | None = None
    invocations: list[BatchInvocation] | None = None


class BatchResult(FrozenStruct):
    """The result of Batch."""

    normalizedMessages: list[Any] | None = None
    orderedToolResults: list[Any] | None = None
    resolvedInvocations: list[Any] | None = None
    totalDurationMs: float | None = None
    totalTokens: int | None = None
    totalToolCalls: int | None = None


def _result(call: ToolCall) -> dict[str, Any]:
    """Return the structured result, or what its text says."""
    found = recorded(call)
    if found is not None or call.outcome.state != DONE:
        return found or {}
    stats = {name: int(value) for name, value in _STAT.findall(parse_tags(call.text, "usage").get("usage", ""))}
    id, file = _ID.search(call.text), _FILE.search(call.text)
    launched, handback = call.text.startswith("Async agent launched"), _HANDBACK.search(call.text)
    report = dedent(handback[1]) if handback else [block for block in call.blocks if not _is_trailer(block)]
    return {
        "status": "async_launched" if launched else None,
        "content": [] if launched else report,
        "agentId": id[1] if id else None,
        "outputFile": file[1] if file else None,
        "totalTokens": stats.get("subagent_tokens", stats.get("total_tokens")),
        "totalToolUseCount": stats.get("tool_uses"),
        "totalDurationMs": stats.get("duration_ms"),
    }


def _is_trailer(block: b.Block) -> bool:
    """True if a block is the client's own line about the agent."""
    return isinstance(block, b.Text) and as_text(block.text).startswith("agentId: ")


def _title(fields: Fields) -> str:
    """Return the task, the type of agent, and how it was started."""
    started = TITLE_STATUSES.get(fields.text("result.status"), "")
    return join_parts(fields.line("description|prompt"), fields.line(_TYPE), started, separator=" · ")


def _status(fields: Fields) -> Iterator[Node]:
    call, status = fields.call, fields.text("result.status")
    yield from _draw.unfinished_note(call) if status else generic.outcome_note(call)
    text, level = STATUSES.get(status, (status.replace("_", " "), "info"))
    yield from _draw.note(text, level)


def _report(fields: Fields) -> Iterator[Node]:
    content = fields.value("result.content")
    typed = [block for block in as_list(content) if isinstance(block, b.Block)]
    for block in typed or b.to_blocks(content):
        if not (isinstance(block, b.Text) and _TOOLS_USED.fullmatch(as_text(block.text))):
            yield from _draw.content_block(block)


def _terminal(fields: Fields) -> str:
    names = (fields.text(f"result.tmux_{name}") for name in ("session_name", "window_name", "pane_id"))
    return " ".join(dict.fromkeys(filter(None, names)))


def _usage(fields: Fields) -> str:
    return ", ".join(f"{number_text(count)} {noun}" for count, noun in _counts(fields, "result.usage", TOKENS))


def _activities(fields: Fields) -> str:
    return ", ".join(_activity(count, noun) for count, noun in _counts(fields, "result.toolStats", ACTIVITY))


def _counts(fields: Fields, path: str, nouns: dict[str, str]) -> Iterator[tuple[Any, str]]:
    counts = as_dict(fields.value(path))
    return ((counts[key], noun) for key, noun in nouns.items() if as_number(counts.get(key)))


def _activity(count: Any, noun: str) -> str:
    head, space, tail = noun.partition(" ")
    return f"{number_text(count)} other" if noun == "other" else f"{plural(count, head)}{space}{tail}"


def _batch(fields: Fields) -> Iterator[Node]:
    """Draw each call with its own tool."""
    results = [_result_block(value) for value in as_list(fields.value("result.orderedToolResults"))]
    for place, invocation in enumerate(fields.objects("invocations")):
        result = results[place] if place < len(results) else None
        inner = ToolCall(invocation.text("tool_name"), invocation.value("input"), result=result)
        yield from _draw.section(tools.title(inner), tools.draw(inner), open=True)
    yield from _BATCH_END(fields)
    yield from _BATCH_COST(fields)


def _result_block(value: Any) -> b.Block | None:
    """Return the result block in one result of a batch, however it is wrapped."""
    item = as_dict(value)
    inner = as_dict(item.get("message")).get("content", item.get("content"))
    wrapped = [block for block in b.to_blocks(inner) if isinstance(block, b.ToolResult)]
    if wrapped:
        return wrapped[0]
    return to_struct(item, b.ToolResult) if "content" in item else None


_BATCH_END = show_outcome_or_result("result.orderedToolResults")
_BATCH_COST = show_facts(
    calls="result.totalToolCalls:number", tokens="result.totalTokens:number", duration="result.totalDurationMs:ms"
)
_TYPE = "subagent_type|result.agentType|result.agent_type|agent.type"


class SendMessageInput(FrozenStruct):
    """The input of SendMessage, with its earlier field names."""

    to: str | None = None
    recipient: str | None = None
    recipient_kind: str | None = None
    message: Any = None
    content: str | None = None
    summary: str | None = None
    type: str | None = None
    request_id: str | None = None
    approve: bool | None = None


class Routing(FrozenStruct):
    """The sender and the receiver."""

    sender: str | None = None
    senderColor: str | None = None
    target: str | None = None
    targetColor: str | None = None
    summary: str | None = None
    content: str | None = None


class SendMessageResult(FrozenStruct):
    """The result of SendMessage."""

    success: bool | None = None
    message: str | None = None
    routing: Routing | None = None
    recipients: list[str] | None = None
    msg_id: str | None = None
    request_id: str | None = None
    target: str | None = None
    resumedAgentId: str | None = None
    revivedAgentId: str | None = None
    pin: dict[str, Any] | None = None


class TeamInput(FrozenStruct):
    """The input of the team tools."""

    operation: str | None = None
    team_name: str | None = None
    description: str | None = None
    agent_type: str | None = None


class TeamResult(FrozenStruct):
    """The result of the team tools."""

    success: bool | None = None
    message: str | None = None
    team_name: str | None = None
    team_file_path: str | None = None
    lead_agent_id: str | None = None


class ListAgentsResult(FrozenStruct):
    """The result of ListAgents."""

    listing: str | None = None
    sections: list[Any] | None = None
    notes: list[Any] | None = None


class Notification(FrozenStruct):
    """A notification."""

    notification_id: str | None = None
    origin: str | None = None
    queued_at: str | None = None
    arrived_at: str | None = None
    content: str | None = None


class ReadNotificationsResult(FrozenStruct):
    """The result of ReadNotifications."""

    notifications: list[Notification] | None = None
    remaining: int | None = None
    read_at: str | None = None


def _message_title(fields: Fields) -> str:
    """Return the receiver and the summary."""
    receiver = fields.line("to|recipient") or ("everyone" if fields.value("type") == "broadcast" else "")
    to = f"to {receiver}" if receiver else ""
    return join_parts(to, fields.line("summary|message|content"), separator=": ")


def _message(fields: Fields) -> Iterator[Node]:
    """Draw the message: its text, or the object that it is."""
    message = fields.value("message")
    if isinstance(message, dict | list):
        yield Data(value=message)
        message = None
    yield from _draw.prose(first_nonblank(message, fields.value("content")))


def _kind(fields: Fields) -> str:
    kind = fields.text("type:words")
    return "" if kind == "message" else kind


TOOLS = [
    declared(
        ("Agent", "Task"),
        _title,
        show_section("prompt", show_prose("prompt|result.prompt")),
        _status,
        show_note("interrupted", "warning", when="result.wasInterrupted"),
        show_links(("result.sessionUrl", "cloud session")),
        _report,
        show_files(("result.outputFile", "output")),
        show_facts(
            agent="result.agentId|result.teammate_id|result.agent_id|result.taskId|agent.id",
            type=_TYPE,
            name="result.name|name",
            team="result.team_name|team_name",
            color="result.color",
            model="result.modelsUsed:list|result.resolvedModel|result.model|model",
            effort="effort",
            mode="mode",
            isolation="isolation",
            worktree="result.worktreePath",
            branch="result.worktreeBranch",
            resumes="resume",
            max_turns="max_turns:number",
            terminal=_terminal,
            tokens="result.totalTokens:number|agent.tokens:number",
            tool_calls="result.totalToolUseCount:number|agent.calls:number",
            duration="result.totalDurationMs:ms",
            usage=_usage,
            activity=_activities,
            tools_used="result.toolsUsed:list",
        ),
        category="agent",
        input=AgentInput,
        result=AgentResult,
        read=_result,
    ),
    declared(
        ("Batch", "BatchTool"),
        "{description} · {invocations:# call}",
        lambda fields: _batch(fields) if fields.objects("invocations") else generic.draw(fields.call),
        category="agent",
        input=BatchInput,
        result=BatchResult,
    ),
    declared(
        ("SendMessage",),
        _message_title,
        _message,
        show_facts(
            **{"from": "result.routing.sender"},
            to="to|recipient|result.routing.target",
            summary="summary",
            kind=_kind,
            recipients="result.recipients:list",
            resumes="result.resumedAgentId|result.revivedAgentId",
            message="result.msg_id",
            request="request_id|result.request_id",
            approved="approve:yes_no",
        ),
        show_result("{result.message}"),
        input=SendMessageInput,
        result=SendMessageResult,
    ),
    declared(
        ("TeamCreate", "TeamDelete", "Teammate"),
        "{operation} {team_name|result.team_name} {description}",
        show_prose("description"),
        show_facts(
            operation="operation", team="team_name|result.team_name", lead="result.lead_agent_id", type="agent_type"
        ),
        show_files(("result.team_file_path", "team")),
        show_result("{result.message}"),
        input=TeamInput,
        result=TeamResult,
    ),
    declared(
        ("ListAgents", "ListPeers"),
        "",
        show_outcome_or_result("result.listing"),
        show_prose("result.listing"),
        show_data("sections", "result.sections"),
        show_data("notes", "result.notes"),
        input=NoInput,
        result=ListAgentsResult,
    ),
    declared(
        ("ReadNotifications",),
        "[→ {result.notifications:# notification}]",
        if_answered(
            show_outcome(),
            show_each(
                "result.notifications",
                show_section(
                    "{origin|notification_id|'?'}",
                    show_prose_or_code("content"),
                    show_facts(queued="queued_at", arrived="arrived_at", id="notification_id"),
                    open=True,
                ),
            ),
            show_facts(remaining="result.remaining:number", read_at="result.read_at"),
            done=False,
        ),
        input=NoInput,
        result=ReadNotificationsResult,
    ),
]
