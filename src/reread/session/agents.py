"""Link agents to the calls that started them, and to the agents that made those calls."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from reread.base.coerce import as_dict, as_str
from reread.model.conversation import Agent, Call, Conversation
from reread.records.blocks import Text, ToolResult
from reread.records.dialects import DIALECTS, NATIVE

STARTERS = frozenset({"Task", "Agent", "Skill", "Workflow"})
"""The tools that start agents."""
CLAUDE_CODE = frozenset({NATIVE, *(dialect.NAME for dialect in DIALECTS)})
"""The dialects of Claude Code; in others, any call may start an agent."""

FIRST_MESSAGES = 8
"""An agent's prompt is among this many of its first messages."""
SKILL_FOLDER = "Base directory for this skill:"
"""How the prompt of an agent that runs a skill begins; the name of the folder is that of the skill."""
_AGENT_ID = re.compile(r"\bagentId: ?([\w-]+)")


class AgentEvidence(msgspec.Struct, eq=False):
    """The words of a call about the agent it started; read once, for a result does not change."""

    call: Call
    answered: bool = False
    prompt: str | None = None
    agent: str | None = None
    run: str | None = None
    skill: str | None = None
    """The skill that it ran in an agent."""

    def read(self) -> None:
        """Read the call and its result."""
        call = self.call
        data = as_dict(call.data)
        self.answered = call.answer >= 0
        self.prompt = as_str(as_dict(call.input).get("prompt"))
        self.agent = as_str(data.get("agentId") or _agent_in_text(call))
        self.run = as_str(data.get("runId"))
        self.skill = as_str(data.get("commandName")) if data.get("status") == "forked" else None


class AgentCalls:
    """The calls of one conversation that can have started agents."""

    def __init__(self, conversation: Conversation, main: Conversation) -> None:
        """An agent in the file of the main conversation is written as that is."""
        self.conversation = conversation
        self.evidence: list[AgentEvidence] = []
        self._unanswered: list[AgentEvidence] = []
        self._read = 0
        records = (main if isinstance(conversation, Agent) and conversation.path is None else conversation).records
        self._is_foreign = len(records) > 0 and records[0].dialect not in CLAUDE_CODE

    def update(self) -> bool:
        """Read the calls that are new or newly answered; True if any of them can start agents."""
        calls = self.conversation.calls
        fresh = [AgentEvidence(call) for call in calls[self._read :] if call.name in STARTERS or self._is_foreign]
        self._read = len(calls)
        self.evidence += fresh
        changed = [*(one for one in self._unanswered if one.call.answer >= 0), *fresh]
        for one in changed:
            one.read()
        self._unanswered = [one for one in (*self._unanswered, *fresh) if not one.answered]
        return bool(changed)


class AgentLinker:
    """Links agents to calls, again whenever there is new evidence."""

    def __init__(self) -> None:
        self._calls: dict[Conversation, AgentCalls] = {}
        self._state: object = None
        self._linked: list[Call] = []

    def link(self, main: Conversation, agents: Mapping[str, Agent]) -> None:
        """Link each agent to its call by the best evidence in the files; without evidence it stays unlinked."""
        conversations = [main, *agents.values()]
        self._calls = {one: self._calls.get(one) or AgentCalls(one, main) for one in conversations}
        changed = [calls.update() for calls in self._calls.values()]
        state = (tuple(conversations), [_signs(agent) for agent in agents.values()])
        if any(changed) or (*state, _call_count(conversations, agents)) != self._state:
            for call in self._linked:
                call.linked_agents = ()
            self._linked = _link_all(list(self._calls.values()), agents)
            for evidence in (evidence for calls in self._calls.values() for evidence in calls.evidence):
                is_absent = evidence.agent not in agents and not evidence.call.linked_agents
                evidence.call.absent_agent = evidence.agent if is_absent else None
            self._state = (*state, _call_count(conversations, agents))


def _call_count(conversations: Sequence[Conversation], agents: Mapping[str, Agent]) -> int:
    """Count all calls while an agent is unlinked: any new call may be its own."""
    unlinked = any(agent.call is None for agent in agents.values())
    return sum(len(conversation.calls) for conversation in conversations) if unlinked else 0


def _signs(agent: Agent) -> object:
    """Return what tells which call started an agent."""
    return min(len(agent.messages), FIRST_MESSAGES), agent.call_id, agent.parent_uuid, bool(agent.meta)


def _link_all(calls: Sequence[AgentCalls], agents: Mapping[str, Agent]) -> list[Call]:
    """Link all agents anew and return the calls that have agents."""
    links = _Links(calls)
    for agent in agents.values():
        agent.call = None
        agent.parent = None
    for agent in agents.values():
        links.link(agent, links.named_call(agent))
    for agent in agents.values():
        if agent.call is None:
            links.link(agent, links.call_by_prompt(agent) or links.call_by_skill(agent))
        if agent.parent is None and (parent := agents.get(as_str(agent.meta.get("parentAgentId")) or "")):
            links.set_parent(agent, parent)
    links.link_resumed(agents)
    for conversation in links.conversations:
        conversation.set_agents(agents)
    return links.finish()


class _Links:
    """The calls that can have started agents, by each thing that may name them, and the links made so far."""

    def __init__(self, calls: Sequence[AgentCalls]) -> None:
        self.conversations = [one.conversation for one in calls]
        self._linked: dict[int, tuple[Call, list[Agent]]] = {}
        self._above: dict[Agent, Agent] = {}
        """An agent above each that has a parent."""
        self._by_agent: dict[str, Call] = {}
        self._resumed: list[tuple[str, Call]] = []
        self._by_run: dict[str, Call] = {}
        self._by_prompt: dict[str, deque[Call]] = {}
        self._by_skill: dict[str, deque[Call]] = {}
        self._by_id: dict[str, Call] = {}
        for conversation in self.conversations:
            for name, call in conversation.calls_by_id.items():
                self._by_id.setdefault(name, call)
        for evidence in (evidence for one in calls for evidence in one.evidence):
            if evidence.agent is not None:
                first = self._by_agent.setdefault(evidence.agent, evidence.call)
                if first is not evidence.call:
                    self._resumed.append((evidence.agent, evidence.call))
            if evidence.prompt:
                self._by_prompt.setdefault(evidence.prompt, deque()).append(evidence.call)
            if evidence.skill is not None:
                self._by_skill.setdefault(_last_name(evidence.skill), deque()).append(evidence.call)
            if evidence.run is not None:
                self._by_run.setdefault(evidence.run, evidence.call)

    def named_call(self, agent: Agent) -> Call | None:
        """Return the call that anything but the prompt names."""
        named = self._call(as_str(agent.meta.get("toolUseId"))) or self._call(agent.call_id)
        return named or self._by_agent.get(agent.id) or self._call_of_run(agent) or self._call_above(agent)

    def call_by_prompt(self, agent: Agent) -> Call | None:
        """Return the first call without an agent that asked for exactly what the agent was asked."""
        return self._first_free(self._by_prompt.get(agent.prompt or ""), agent)

    def call_by_skill(self, agent: Agent) -> Call | None:
        """Return the first call without an agent that ran the skill of the agent's prompt.

        2.1.20 names another agent in the result of such a call than the one that it started.
        """
        first, _, _ = (agent.prompt or "").partition("\n")
        if not first.startswith(SKILL_FOLDER):
            return None
        return self._first_free(self._by_skill.get(_last_name(first.removeprefix(SKILL_FOLDER))), agent)

    def _first_free(self, calls: deque[Call] | None, agent: Agent) -> Call | None:
        """Return the first call without an agent that is not the agent's own."""
        while calls and not self._is_free(calls[0]):
            calls.popleft()
        return next((call for call in calls or () if self._is_free(call) and call.conversation is not agent), None)

    def link(self, agent: Agent, call: Call | None) -> None:
        """Link an agent and the call that started it."""
        if call is not None:
            agent.call = call
            if isinstance(call.conversation, Agent):
                self.set_parent(agent, call.conversation)
            self._linked.setdefault(id(call), (call, []))[1].append(agent)

    def set_parent(self, agent: Agent, parent: Agent) -> None:
        """Link an agent and the one that started it, unless it would become its own ancestor."""
        if agent.parent is None and self._topmost(parent) is not agent:
            agent.parent = parent
            self._above[agent] = parent

    def _topmost(self, agent: Agent) -> Agent:
        """Return the agent above this one that has no parent, and remember it for all on the way."""
        path: list[Agent] = []
        while (above := self._above.get(agent)) is not None:
            path.append(agent)
            agent = above
        self._above.update(dict.fromkeys(path, agent))
        return agent

    def link_resumed(self, agents: Mapping[str, Agent]) -> None:
        """Link later calls that resumed an agent which an earlier one started."""
        for name, call in self._resumed:
            if name in agents and self._is_free(call):
                self._linked[id(call)] = (call, [agents[name]])

    def finish(self) -> list[Call]:
        """Tell the calls their agents and return them."""
        for call, agents in self._linked.values():
            call.linked_agents = agents
        return [call for call, _ in self._linked.values()]

    def _is_free(self, call: Call) -> bool:
        return id(call) not in self._linked

    def _call(self, id: str | None) -> Call | None:
        return self._by_id.get(id) if id else None

    def _call_of_run(self, agent: Agent) -> Call | None:
        parts = (agent.path or "").replace("\\", "/").split("/")
        return next((self._by_run[part] for part in parts if part in self._by_run), None)

    def _call_above(self, agent: Agent) -> Call | None:
        """Return the call in the record that the agent's first record hangs below; early files do so."""
        if agent.parent_uuid is None:
            return None
        index = self.conversations[0].tree.first(agent.parent_uuid)
        there = self._by_use.get(index, ()) if index is not None else ()
        return self._call(agent.parent_uuid) or next((call for call in there if self._is_free(call)), None)

    @cached_property
    def _by_use(self) -> dict[int, list[Call]]:
        """The calls of the main conversation that can start agents, by the record that holds them."""
        found: dict[int, list[Call]] = {}
        for call in self.conversations[0].calls:
            if call.name in STARTERS:
                found.setdefault(call.use, []).append(call)
        return found


def _last_name(name: str) -> str:
    """Return the last part of a path, or of the name of a plug-in's skill."""
    return re.split(r"[\\/:]", name.strip().rstrip("/\\"))[-1]


def _agent_in_text(call: Call) -> str | None:
    """Return the agent id in the text of a result."""
    result = call.result
    blocks = result.blocks if isinstance(result, ToolResult) else []
    for block in reversed(blocks):
        found = _AGENT_ID.search(block.text) if isinstance(block, Text) and isinstance(block.text, str) else None
        if found:
            return found[1]
    return None
