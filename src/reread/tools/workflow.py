"""Workflow and the tools that hand over results: ReportFindings, StructuredOutput, SubagentHandback and others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.format import as_number
from reread.base.text import as_text, one_line, plural
from reread.tools import _draw, generic
from reread.tools._values import first_nonblank, list_of, titled, typed_result
from reread.tools.nodes import Code, Data, Node, Section, facts
from reread.tools.tool import Tool, ToolCall

_NAME = re.compile(r"""\bname:\s*(['"`])(.{1,200}?)\1""")


class WorkflowInput(Struct, frozen=True, kw_only=True):
    """The script to run, or its name or path."""

    script: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    args: Any = None
    scriptPath: str | None = None
    resumeFromRunId: str | None = None


class WorkflowResult(Struct, frozen=True, kw_only=True):
    """The run that was started."""

    status: str | None = None
    isAsync: bool | None = None
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


class ReviewFinding(Struct, frozen=True, kw_only=True):
    """A finding of a review."""

    file: str = ""
    line: int | None = None
    summary: str = ""
    short_summary: str | None = None
    failure_scenario: str | None = None
    category: str | None = None
    verdict: str | None = None
    outcome: str | None = None


class ReviewFindings(Struct, frozen=True, kw_only=True):
    """The input and the result of ReportFindings."""

    level: str | None = None
    count: int | None = None
    findings: list[ReviewFinding] | None = None


class SubagentHandbackInput(Struct, frozen=True, kw_only=True):
    """The input of SubagentHandback."""

    message: str | None = None
    summary: str | None = None


class ProposeGoalInput(Struct, frozen=True, kw_only=True):
    """The input of ProposeGoal."""

    condition: str | None = None
    ask_user: bool | None = None


class ProposeGoalResult(Struct, frozen=True, kw_only=True):
    """The result of ProposeGoal."""

    condition: str | None = None
    askUser: bool | None = None


class EndConversationInput(Struct, frozen=True, kw_only=True):
    """The input of EndConversation."""

    reason: str | None = None


def workflow_title(call: ToolCall) -> str:
    """Return the name and the purpose of the workflow."""
    args, output = call.input(WorkflowInput), call.output(WorkflowResult) or WorkflowResult()
    found = _NAME.search(as_text(args.script))
    name = first_nonblank(output.workflowName, args.name, args.title, found[2] if found else None, args.scriptPath)
    purpose = first_nonblank(output.summary, args.description)
    return f"{call.name} {one_line(name)}" + (f": {one_line(purpose)}" if purpose else "")


def draw_workflow(call: ToolCall) -> Iterator[Node]:
    """Draw the script, and where to follow its run."""
    args, output = call.input(WorkflowInput), call.output(WorkflowResult)
    result = output or WorkflowResult()
    yield from _draw.prose(first_nonblank(result.summary, args.description))
    if first_nonblank(args.script):
        yield Code(text=as_text(args.script), language="javascript")
    if args.args is not None:
        yield Section(title="arguments", nodes=[Data(value=args.args)])
    yield from _draw.note(result.error, "error")
    yield from _draw.note(result.warning, "warning")
    yield from generic.outcome_note(call) if output else _draw.plain_result(call)
    yield from _draw.note(as_text(result.status).replace("_", " "))
    yield from _draw.links((result.sessionUrl, "cloud session"))
    yield from _draw.file_list(
        (first_nonblank(result.scriptPath, args.scriptPath), "script"), (result.transcriptDir, "transcripts")
    )
    yield from facts(
        workflow=first_nonblank(result.workflowName, args.name),
        run=result.runId,
        task=result.taskId,
        type=as_text(result.taskType).replace("_", " "),
        resumes=args.resumeFromRunId,
    )


def findings_title(call: ToolCall) -> str:
    """Return the number of findings."""
    return f"{call.name} {plural(_findings(call), 'finding')}"


def draw_findings(call: ToolCall) -> Iterator[Node]:
    """Draw each finding with its place."""
    found = _findings(call)
    if not found:
        yield from generic.draw(call)
        return
    yield from facts(effort=call.input(ReviewFindings).level)
    for finding in found:
        yield Section(title=_finding_title(finding), nodes=list(_finding(finding)))
    yield from generic.outcome_note(call)


def _findings(call: ToolCall) -> list[ReviewFinding]:
    output = call.output(ReviewFindings)
    return list_of(call.input(ReviewFindings).findings, ReviewFinding) or list_of(
        output.findings if output else None, ReviewFinding
    )


def _finding_title(finding: ReviewFinding) -> str:
    line = f":{finding.line}" if as_number(finding.line) is not None else ""
    return f"{one_line(finding.file)}{line} {one_line(finding.short_summary)}".strip() or "finding"


def _finding(finding: ReviewFinding) -> Iterator[Node]:
    yield from _draw.prose(finding.summary)
    yield from _draw.prose(finding.failure_scenario)
    yield from facts(
        category=finding.category, verdict=finding.verdict, outcome=as_text(finding.outcome).replace("_", " ")
    )


def output_title(call: ToolCall) -> str:
    """Return the names of the fields."""
    return f"{call.name} {one_line(', '.join(call.arguments))}".strip()


def draw_output(call: ToolCall) -> Iterator[Node]:
    """Draw the output as JSON."""
    yield Data(value=call.raw_input)
    yield from _draw.plain_result(call)


def draw_handback(call: ToolCall) -> Iterator[Node]:
    """Draw the report."""
    args = call.input(SubagentHandbackInput)
    yield from _draw.prose(args.message)
    yield from facts(summary=args.summary)
    yield from _draw.plain_result(call)


def goal_title(call: ToolCall) -> str:
    """Return the condition."""
    output = call.output(ProposeGoalResult) or ProposeGoalResult()
    return f"{call.name} {one_line(first_nonblank(call.input(ProposeGoalInput).condition, output.condition))}".strip()


def draw_goal(call: ToolCall) -> Iterator[Node]:
    """Draw the condition, and whether the user was asked."""
    args, output = call.input(ProposeGoalInput), typed_result(call, ProposeGoalResult) or ProposeGoalResult()
    yield from _draw.prose(first_nonblank(output.condition, args.condition))
    asked = args.ask_user if output.askUser is None else output.askUser
    if asked is not None:
        yield from _draw.note("the user was asked" if asked is True else "set without asking the user")
    yield from _draw.plain_result(call)


def draw_end(call: ToolCall) -> Iterator[Node]:
    """Draw the reason."""
    yield from _draw.prose(call.input(EndConversationInput).reason)
    yield from _draw.plain_result(call)


TOOLS = [
    Tool(("Workflow",), workflow_title, draw_workflow, category="agent", input=WorkflowInput, result=WorkflowResult),
    Tool(("ReportFindings",), findings_title, draw_findings, input=ReviewFindings, result=ReviewFindings),
    Tool(("StructuredOutput",), output_title, draw_output),
    Tool(("SubagentHandback",), titled("summary", "message"), draw_handback, input=SubagentHandbackInput),
    Tool(("ProposeGoal", "SetGoal"), goal_title, draw_goal, input=ProposeGoalInput, result=ProposeGoalResult),
    Tool(("EndConversation",), titled("reason"), draw_end, input=EndConversationInput),
]
