"""Workflow, and how work is handed over: findings, structured output, a report back, a goal, the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.tools import _draw, generic
from reread.tools._values import answer, count, each, first, line, number, words
from reread.tools.nodes import Code, Data, Node, Section, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

_NAME = re.compile(r"""\bname:\s*(['"`])(.{1,200}?)\1""")


class WorkflowInput(Struct, kw_only=True):
    """The script that is run, or the name or path of one."""

    script: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    args: Any = None
    scriptPath: str | None = None
    resumeFromRunId: str | None = None


class WorkflowOutput(Struct, kw_only=True):
    """The run that was started."""

    status: str | None = None
    taskId: str | None = None
    taskType: str | None = None
    workflowName: str | None = None
    runId: str | None = None
    summary: str | None = None
    transcriptDir: str | None = None
    scriptPath: str | None = None
    sessionUrl: str | None = None
    warning: str | None = None
    error: str | None = None


class Finding(Struct, kw_only=True):
    """Something that a review found."""

    file: str = ""
    line: int | None = None
    summary: str = ""
    short_summary: str | None = None
    failure_scenario: str | None = None
    category: str | None = None
    verdict: str | None = None
    outcome: str | None = None


class Findings(Struct, kw_only=True):
    """All that a review found; the result repeats the input."""

    level: str | None = None
    count: int | None = None
    findings: list[Finding] | None = None


class HandbackInput(Struct, kw_only=True):
    """What an agent reports to who started it."""

    message: str | None = None
    summary: str | None = None


class GoalInput(Struct, kw_only=True):
    """When the work is to count as done."""

    condition: str | None = None
    ask_user: bool | None = None


class GoalOutput(Struct, kw_only=True):
    """The condition as it was put."""

    condition: str | None = None
    askUser: bool | None = None


class EndInput(Struct, kw_only=True):
    """Why the conversation ends."""

    reason: str | None = None


def workflow_title(call: ToolCall) -> str:
    """Which workflow."""
    given, output = call.input(WorkflowInput), call.output(WorkflowOutput) or WorkflowOutput()
    found = _NAME.search(words(given.script))
    name = first(output.workflowName, given.name, given.title, found[2] if found else None, given.scriptPath)
    about = first(output.summary, given.description)
    return f"{call.name} {line(name)}" + (f": {line(about)}" if about else "")


def draw_workflow(call: ToolCall) -> Iterator[Node]:
    """The script, and where its run can be followed."""
    given, output = call.input(WorkflowInput), call.output(WorkflowOutput)
    told = output or WorkflowOutput()
    yield from _draw.prose(first(told.summary, given.description))
    if first(given.script):
        yield Code(text=words(given.script), language="javascript")
    if given.args is not None:
        yield Section(title="arguments", nodes=[Data(value=given.args)])
    yield from _draw.note(told.error, "error")
    yield from _draw.note(told.warning, "warning")
    yield from generic.ending(call) if output else _draw.reply(call)
    yield from _draw.note(words(told.status).replace("_", " "))
    yield from _draw.links((told.sessionUrl, "session in the cloud"))
    yield from _draw.files((first(told.scriptPath, given.scriptPath), "script"), (told.transcriptDir, "transcripts"))
    yield from facts(
        workflow=first(told.workflowName, given.name),
        run=words(told.runId),
        task=words(told.taskId),
        type=words(told.taskType).replace("_", " "),
        continues=words(given.resumeFromRunId),
    )


def findings_title(call: ToolCall) -> str:
    """How many findings."""
    return f"{call.name} {count(_findings(call), 'finding')}"


def draw_findings(call: ToolCall) -> Iterator[Node]:
    """Each finding, with where it is and how it shows."""
    found = _findings(call)
    if not found:
        yield from generic.draw(call)
        return
    yield from facts(effort=words(call.input(Findings).level))
    for one in found:
        yield Section(title=_place(one), nodes=list(_finding(one)))
    yield from generic.ending(call)


def _findings(call: ToolCall) -> list[Finding]:
    output = call.output(Findings)
    return each(call.input(Findings).findings, Finding) or each(output.findings if output else None, Finding)


def _place(one: Finding) -> str:
    at = f":{one.line}" if number(one.line) is not None else ""
    return f"{line(one.file)}{at} {line(one.short_summary)}".strip() or "finding"


def _finding(one: Finding) -> Iterator[Node]:
    yield from _draw.prose(one.summary)
    yield from _draw.prose(one.failure_scenario)
    yield from facts(
        category=words(one.category), verdict=words(one.verdict), outcome=words(one.outcome).replace("_", " ")
    )


def output_title(call: ToolCall) -> str:
    """The names of what is handed over."""
    return f"{call.name} {line(', '.join(call.arguments))}".strip()


def draw_output(call: ToolCall) -> Iterator[Node]:
    """What is handed over, as a tree."""
    yield Data(value=call.given)
    yield from _draw.reply(call)


def handback_title(call: ToolCall) -> str:
    """The first words of the report."""
    given = call.input(HandbackInput)
    return f"{call.name} {line(first(given.summary, given.message))}".strip()


def draw_handback(call: ToolCall) -> Iterator[Node]:
    """The report."""
    given = call.input(HandbackInput)
    yield from _draw.prose(given.message)
    yield from facts(summary=words(given.summary))
    yield from _draw.reply(call)


def goal_title(call: ToolCall) -> str:
    """When the work is to count as done."""
    output = call.output(GoalOutput) or GoalOutput()
    return f"{call.name} {line(first(call.input(GoalInput).condition, output.condition))}".strip()


def draw_goal(call: ToolCall) -> Iterator[Node]:
    """The condition, and whether the user was asked."""
    given, output = call.input(GoalInput), answer(call, GoalOutput) or GoalOutput()
    yield from _draw.prose(first(output.condition, given.condition))
    asked = given.ask_user if output.askUser is None else output.askUser
    if asked is not None:
        yield from _draw.note("the user was asked" if asked is True else "set without asking")
    yield from _draw.reply(call)


def end_title(call: ToolCall) -> str:
    """Why the conversation ends."""
    return f"{call.name} {line(call.input(EndInput).reason)}".strip()


def draw_end(call: ToolCall) -> Iterator[Node]:
    """Why the conversation ends."""
    yield from _draw.prose(call.input(EndInput).reason)
    yield from _draw.reply(call)


TOOLS = [
    Tool(("Workflow",), workflow_title, draw_workflow, category="agent"),
    Tool(("ReportFindings",), findings_title, draw_findings),
    Tool(("StructuredOutput",), output_title, draw_output),
    Tool(("SubagentHandback",), handback_title, draw_handback),
    Tool(("ProposeGoal",), goal_title, draw_goal),
    Tool(("EndConversation",), end_title, draw_end),
]
