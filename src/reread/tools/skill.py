"""Skill, once SlashCommand: instructions called by name; and propose_skills, new ones put forward."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.tools import _diff, _draw, generic
from reread.tools._values import answer, count, each, first, line, names, words
from reread.tools.nodes import Code, Node, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall


class Input(Struct, kw_only=True):
    """Which one is called, with what."""

    skill: str | None = None
    command: str | None = None
    args: str | None = None


class Output(Struct, kw_only=True):
    """What came of it; a forked one ran as an agent and has a result."""

    success: bool | None = None
    commandName: str | None = None
    allowedTools: list[str] | None = None
    model: str | None = None
    status: str | None = None
    agentId: str | None = None
    result: str | None = None
    toolsUsedLine: str | None = None


class Replacement(Struct, kw_only=True):
    """A change to the text of a skill."""

    old_string: str = ""
    new_string: str = ""


class Proposal(Struct, kw_only=True):
    """A new skill, or a better one."""

    name: str = ""
    kind: str | None = None
    target: str | None = None
    description: str | None = None
    evidence: list[str] | None = None
    edits: list[Replacement] | None = None
    skillMd: str | None = None


class ProposeInput(Struct, kw_only=True):
    """The skills put forward."""

    proposals: list[Proposal] | None = None


class ProposeOutput(Struct, kw_only=True):
    """How many the user was shown."""

    proposalCount: int | None = None


def title(call: ToolCall) -> str:
    """Which one is called, with what."""
    given = call.input(Input)
    return f"{call.name} {line(first(given.skill, given.command))} {line(given.args)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """What it was called with; where it ran as an agent, what that reported."""
    given, output = call.input(Input), answer(call, Output) or Output()
    yield from facts(
        name=first(output.commandName, given.skill, given.command),
        arguments=words(given.args),
        may_use=names(output.allowedTools),
        model=words(output.model),
        ran=words(output.status),
        agent=words(output.agentId),
    )
    if first(output.result):
        yield from _draw.ending(call)
        yield from _draw.prose(output.result)
    else:
        yield from _draw.reply(call)


def propose_title(call: ToolCall) -> str:
    """Which skills are put forward."""
    proposals = each(call.input(ProposeInput).proposals, Proposal)
    return f"{call.name} {line(', '.join(words(one.name) for one in proposals))}".strip()


def draw_propose(call: ToolCall) -> Iterator[Node]:
    """Each skill as it is to be."""
    output = call.output(ProposeOutput) or ProposeOutput()
    proposals = each(call.input(ProposeInput).proposals, Proposal)
    if not proposals:
        yield from generic.draw(call)
        return
    for one in proposals:
        yield from _draw.section(words(one.name), _proposal(one), open=True)
    yield from facts(shown=count(output.proposalCount, "proposal"))
    yield from _draw.reply(call)


def _proposal(one: Proposal) -> Iterator[Node]:
    yield from _draw.prose(one.description)
    yield from facts(kind=words(one.kind), instead_of=words(one.target), seen_in=names(one.evidence))
    if first(one.skillMd):
        yield Code(text=words(one.skillMd), language="markdown")
    for edit in each(one.edits, Replacement):
        yield from _diff.changed("", _diff.between(words(edit.old_string), words(edit.new_string)))


TOOLS = [Tool(("Skill", "SlashCommand"), title, draw), Tool(("propose_skills",), propose_title, draw_propose)]
