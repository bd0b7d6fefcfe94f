"""Skill (earlier: SlashCommand), which runs instructions by name; and propose_skills."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.text import as_text, one_line, plural
from reread.tools import _diff, _draw, generic
from reread.tools._values import comma_separated, first_nonblank, list_of, typed_result
from reread.tools.nodes import Code, Node, facts
from reread.tools.tool import Tool, ToolCall


class SkillInput(Struct, frozen=True, kw_only=True):
    """The skill and its arguments."""

    skill: str | None = None
    command: str | None = None
    args: str | None = None


class SkillResult(Struct, frozen=True, kw_only=True):
    """The result of Skill; a forked skill runs as an agent and has a report."""

    success: bool | None = None
    commandName: str | None = None
    allowedTools: list[str] | None = None
    model: str | None = None
    status: str | None = None
    agentId: str | None = None
    result: str | None = None
    toolsUsedLine: str | None = None


class SkillReplacement(Struct, frozen=True, kw_only=True):
    """A change to the text of a skill."""

    old_string: str = ""
    new_string: str = ""


class SkillProposal(Struct, frozen=True, kw_only=True):
    """A proposal for a new or a changed skill."""

    name: str = ""
    kind: str | None = None
    target: str | None = None
    description: str | None = None
    evidence: list[str] | None = None
    edits: list[SkillReplacement] | None = None
    skillMd: str | None = None


class ProposeSkillsInput(Struct, frozen=True, kw_only=True):
    """The input of propose_skills."""

    proposals: list[SkillProposal] | None = None


class ProposeSkillsResult(Struct, frozen=True, kw_only=True):
    """The result of propose_skills."""

    proposalCount: int | None = None


def title(call: ToolCall) -> str:
    """Return the skill and its arguments."""
    args = call.input(SkillInput)
    return f"{call.name} {one_line(first_nonblank(args.skill, args.command))} {one_line(args.args)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the arguments and, if the skill ran as an agent, its report."""
    args, output = call.input(SkillInput), typed_result(call, SkillResult) or SkillResult()
    yield from facts(
        name=first_nonblank(output.commandName, args.skill, args.command),
        arguments=args.args,
        allowed_tools=comma_separated(output.allowedTools),
        model=output.model,
        status=output.status,
        agent=output.agentId,
    )
    if first_nonblank(output.result):
        yield from _draw.outcome_message(call)
        yield from _draw.prose(output.result)
    else:
        yield from _draw.plain_result(call)


def propose_title(call: ToolCall) -> str:
    """Return the names of the skills."""
    proposals = list_of(call.input(ProposeSkillsInput).proposals, SkillProposal)
    return f"{call.name} {one_line(', '.join(as_text(proposal.name) for proposal in proposals))}".strip()


def draw_propose(call: ToolCall) -> Iterator[Node]:
    """Draw each proposal."""
    output = call.output(ProposeSkillsResult) or ProposeSkillsResult()
    proposals = list_of(call.input(ProposeSkillsInput).proposals, SkillProposal)
    if not proposals:
        yield from generic.draw(call)
        return
    for proposal in proposals:
        yield from _draw.section(as_text(proposal.name), _proposal(proposal), open=True)
    yield from facts(shown=plural(output.proposalCount, "proposal"))
    yield from _draw.plain_result(call)


def _proposal(proposal: SkillProposal) -> Iterator[Node]:
    yield from _draw.prose(proposal.description)
    yield from facts(kind=proposal.kind, target=proposal.target, evidence=comma_separated(proposal.evidence))
    if first_nonblank(proposal.skillMd):
        yield Code(text=as_text(proposal.skillMd), language="markdown")
    for edit in list_of(proposal.edits, SkillReplacement):
        yield from _diff.diff_nodes("", _diff.compute_hunks(as_text(edit.old_string), as_text(edit.new_string)))


TOOLS = [
    Tool(("Skill", "SlashCommand"), title, draw, input=SkillInput, result=SkillResult),
    Tool(("propose_skills",), propose_title, draw_propose, input=ProposeSkillsInput, result=ProposeSkillsResult),
]
