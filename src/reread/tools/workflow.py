"""Workflow and the tools that hand over results: ReportFindings, StructuredOutput, SubagentHandback and others.

Here is also Skill (earlier: SlashCommand), which runs instructions by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.format import as_number
from reread.base.late_pattern import late_pattern
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, one_line, plural
from reread.tools import _diff, _draw, generic
from reread.tools._show import (
    Fields,
    declared,
    show_code,
    show_each,
    show_facts,
    show_files,
    show_links,
    show_note,
    show_outcome_or_result,
    show_prose,
    show_result,
    show_section,
)
from reread.tools._values import first_nonblank, join_parts
from reread.tools.nodes import Data, Node, Section

_NAME = late_pattern(r"""\bname:\s*(['"`])(.{1,200}?)\1""")


class WorkflowInput(FrozenStruct):
    """The script to run, or its name or path."""

    script: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    args: Any = None
    scriptPath: str | None = None
    resumeFromRunId: str | None = None


class WorkflowResult(FrozenStruct):
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


class ReviewFinding(FrozenStruct):
    """A finding of a review."""

    file: str = ""
    line: int | None = None
    summary: str = ""
    short_summary: str | None = None
    failure_scenario: str | None = None
    category: str | None = None
    verdict: str | None = None
    outcome: str | None = None


class ReviewFindings(FrozenStruct):
    """The input and the result of ReportFindings."""

    level: str | None = None
    count: int | None = None
    findings: list[ReviewFinding] | None = None


class SubagentHandbackInput(FrozenStruct):
    """The input of SubagentHandback."""

    message: str | None = None
    summary: str | None = None


class ProposeGoalInput(FrozenStruct):
    """The input of ProposeGoal."""

    condition: str | None = None
    ask_user: bool | None = None


class ProposeGoalResult(FrozenStruct):
    """The result of ProposeGoal."""

    condition: str | None = None
    askUser: bool | None = None


class EndConversationInput(FrozenStruct):
    """The input of EndConversation."""

    reason: str | None = None


def _workflow_title(fields: Fields) -> str:
    """Return the name and the purpose of the workflow."""
    found = _NAME.search(fields.text("script"))
    name = first_nonblank(fields.text("result.workflowName|name|title"), found and found[2], fields.value("scriptPath"))
    return join_parts(one_line(name), fields.line("result.summary|description"), separator=": ")


def _workflow_arguments(fields: Fields) -> Iterator[Node]:
    value = fields.value("args")
    if value is not None:
        yield Section(title="arguments", nodes=[Data(value=value)])


def _findings_title(fields: Fields) -> str:
    """Return the number of findings."""
    return plural(_findings(fields), "finding")


def _draw_findings(fields: Fields) -> Iterator[Node]:
    """Draw each finding with its place."""
    found = _findings(fields)
    if not found:
        yield from generic.draw(fields.call)
        return
    yield from show_facts(effort="level")(fields)
    for finding in found:
        line = f":{finding.value('line')}" if as_number(finding.value("line")) is not None else ""
        title = f"{finding.line('file')}{line} {finding.line('short_summary')}".strip() or "finding"
        yield Section(title=title, nodes=[node for step in _FINDING for node in step(finding)])
    yield from generic.outcome_note(fields.call)


def _findings(fields: Fields) -> list[Fields]:
    return fields.objects("findings") or fields.objects("result.findings")


_FINDING = (
    show_prose("summary"),
    show_prose("failure_scenario"),
    show_facts(category="category", verdict="verdict", outcome="outcome:words"),
)


def _output_title(fields: Fields) -> str:
    """Return the names of the fields."""
    return one_line(", ".join(fields.call.arguments))


def _output(fields: Fields) -> Iterator[Node]:
    yield Data(value=fields.call.raw_input)


def _asked(fields: Fields) -> Iterator[Node]:
    """Draw whether the user was asked for a goal."""
    asked = fields.value("result.askUser")
    asked = fields.value("ask_user") if asked is None else asked
    if asked is not None:
        yield from _draw.note("the user was asked" if asked is True else "set without asking the user")


class SkillInput(FrozenStruct):
    """The skill and its arguments."""

    skill: str | None = None
    command: str | None = None
    args: str | None = None


class SkillResult(FrozenStruct):
    """The result of Skill; a forked skill runs as an agent and has a report."""

    success: bool | None = None
    commandName: str | None = None
    allowedTools: list[str] | None = None
    model: str | None = None
    status: str | None = None
    agentId: str | None = None
    result: str | None = None
    toolsUsedLine: str | None = None


class SkillReplacement(FrozenStruct):
    """A change to the text of a skill."""

    old_string: str = ""
    new_string: str = ""


class SkillProposal(FrozenStruct):
    """A proposal for a new or a changed skill."""

    name: str = ""
    kind: str | None = None
    target: str | None = None
    description: str | None = None
    evidence: list[str] | None = None
    edits: list[SkillReplacement] | None = None
    skillMd: str | None = None


class ProposeSkillsInput(FrozenStruct):
    """The input of propose_skills."""

    proposals: list[SkillProposal] | None = None


class ProposeSkillsResult(FrozenStruct):
    """The result of propose_skills."""

    proposalCount: int | None = None


def _report(fields: Fields) -> Iterator[Node]:
    """Draw the report of a skill that ran as an agent, or the result."""
    report = fields.text("result.result")
    yield from (
        [*_draw.outcome_message(fields.call), *_draw.prose(report)] if report else _draw.plain_result(fields.call)
    )


def _propose_title(fields: Fields) -> str:
    """Return the names of the skills."""
    return one_line(", ".join(proposal.text("name") for proposal in fields.objects("proposals")))


def _edits(fields: Fields) -> Iterator[Node]:
    for edit in fields.objects("edits"):
        yield from _diff.diff_nodes(
            "", _diff.compute_hunks(as_text(edit.value("old_string")), as_text(edit.value("new_string")))
        )


_PROPOSALS = show_each(
    "proposals",
    show_section(
        "{name}",
        show_prose("description"),
        show_facts(kind="kind", target="target", evidence="evidence:list"),
        show_code("skillMd", "markdown"),
        _edits,
        open=True,
    ),
)


def _proposals(fields: Fields) -> Iterator[Node]:
    """Draw each proposal, or the input if there is none."""
    if not fields.objects("proposals"):
        yield from generic.draw(fields.call)
        return
    yield from _PROPOSALS(fields)
    yield from show_facts(shown="result.proposalCount:# proposal")(fields)
    yield from show_result()(fields)


TOOLS = [
    declared(
        ("Workflow",),
        _workflow_title,
        show_prose("result.summary|description"),
        show_code("script", "javascript"),
        _workflow_arguments,
        show_note("{result.error}", "error"),
        show_note("{result.warning}", "warning"),
        show_outcome_or_result(),
        show_note("{result.status:words}"),
        show_links(("result.sessionUrl", "cloud session")),
        show_files(("result.scriptPath|scriptPath", "script"), ("result.transcriptDir", "transcripts")),
        show_facts(
            workflow="result.workflowName|name",
            run="result.runId",
            task="result.taskId",
            type="result.taskType:words",
            resumes="resumeFromRunId",
        ),
        category="agent",
        input=WorkflowInput,
        result=WorkflowResult,
    ),
    declared(("ReportFindings",), _findings_title, _draw_findings, input=ReviewFindings, result=ReviewFindings),
    declared(("StructuredOutput",), _output_title, _output, show_result()),
    declared(
        ("SubagentHandback",),
        "{summary|message}",
        show_prose("message"),
        show_facts(summary="summary"),
        show_result(),
        input=SubagentHandbackInput,
    ),
    declared(
        ("ProposeGoal", "SetGoal"),
        "{condition|result.condition}",
        show_prose("result.condition|condition"),
        _asked,
        show_result(),
        input=ProposeGoalInput,
        result=ProposeGoalResult,
    ),
    declared(("EndConversation",), "{reason}", show_prose("reason"), show_result(), input=EndConversationInput),
    declared(
        ("Skill", "SlashCommand"),
        "{skill|command} {args}",
        show_facts(
            name="result.commandName|skill|command",
            arguments="args",
            allowed_tools="result.allowedTools:list",
            model="result.model",
            status="result.status",
            agent="result.agentId",
        ),
        _report,
        input=SkillInput,
        result=SkillResult,
    ),
    declared(("propose_skills",), _propose_title, _proposals, input=ProposeSkillsInput, result=ProposeSkillsResult),
]
