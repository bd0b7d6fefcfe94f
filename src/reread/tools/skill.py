"""Skill (earlier: SlashCommand), which runs instructions by name; and propose_skills."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.text import as_text, one_line
from reread.tools import _diff, _draw, generic
from reread.tools._show import Fields, declared, show_code, show_each, show_facts, show_prose, show_result, show_section
from reread.tools.nodes import Node


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
