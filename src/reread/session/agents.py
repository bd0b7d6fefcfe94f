"""Which call started which agent, and which agent made that call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from reread.base.coerce import as_dict, as_str
from reread.model.conversation import Agent, Conversation
from reread.model.messages import Call
from reread.records.blocks import Text, ToolResult

STARTERS = frozenset({"Task", "Agent", "Skill", "Workflow"})
"""The tools that start agents."""

FIRST_FEW = 8
"""Among its first messages is what an agent was asked."""
_TAIL = re.compile(r"\bagentId: ?([\w-]+)")


class AgentEvidence(msgspec.Struct, eq=False):
    """What a call that can start agents says of the one it started; read once, for an answer does not change."""

    call: Call
    answered: bool = False
    asked: str | None = None
    agent: str | None = None
    run: str | None = None

    def read(self) -> None:
        """Look at the call and its result."""
        call = self.call
        data, named = as_dict(call.data), _named_in_text(call)
        self.answered = call.answer >= 0
        self.asked = as_str(as_dict(call.input).get("prompt"))
        self.agent = as_str(data.get("agentId") or named)
        self.run = as_str(data.get("runId"))


class AgentCalls:
    """The calls of one conversation that can have started agents."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.evidence: list[AgentEvidence] = []
        self._open: list[AgentEvidence] = []
        self._looked_at = 0

    def take_in(self) -> bool:
        """Look at the calls that have come or were answered since; whether any of them can start agents."""
        calls = self.conversation.calls
        fresh = [AgentEvidence(call) for call in calls[self._looked_at :] if call.name in STARTERS]
        self._looked_at = len(calls)
        self.evidence += fresh
        changed = [*(one for one in self._open if one.call.answer >= 0), *fresh]
        for one in changed:
            one.read()
        self._open = [one for one in (*self._open, *fresh) if not one.answered]
        return bool(changed)


class AgentLinker:
    """Ties agents to calls, again whenever there is something new to go by."""

    def __init__(self) -> None:
        self._starters: dict[Conversation, AgentCalls] = {}
        self._state: object = None
        self._tied: list[Call] = []

    def link(self, main: Conversation, agents: Mapping[str, Agent]) -> None:
        """Tie each agent to its call, by the best evidence the files have; what has none stays untied."""
        conversations = [main, *agents.values()]
        self._starters = {
            conversation: self._starters.get(conversation) or AgentCalls(conversation) for conversation in conversations
        }
        changed = [starters.take_in() for starters in self._starters.values()]
        state = (tuple(conversations), [_signs(agent) for agent in agents.values()], self._calls(conversations, agents))
        if any(changed) or state != self._state:
            self._state = state
            for call in self._tied:
                call.started_agent, call.started_agents = None, ()
            self._tied = _tie_all(list(self._starters.values()), agents)
            self._state = (*state[:2], self._calls(conversations, agents))

    def _calls(self, conversations: Sequence[Conversation], agents: Mapping[str, Agent]) -> int:
        """Any new call may be the one that an untied agent names."""
        untied = any(agent.call is None for agent in agents.values())
        return sum(len(conversation.calls) for conversation in conversations) if untied else 0


def _signs(agent: Agent) -> object:
    """What of an agent tells which call started it."""
    return min(len(agent.messages), FIRST_FEW), agent.call_id, agent.parent_uuid, bool(agent.meta)


def _tie_all(starters: Sequence[AgentCalls], agents: Mapping[str, Agent]) -> list[Call]:
    """Tie the agents anew; gives the calls that were tied."""
    relatives = _Evidence(starters)
    for agent in agents.values():
        agent.call = agent.parent = None
    for agent in agents.values():
        call = relatives.find(agent)
        if call is not None:
            relatives.tie(agent, call)
    for agent in agents.values():
        if agent.call is None:
            call = relatives.by_prompt(agent)
            if call is not None:
                relatives.tie(agent, call)
        if agent.parent is None:
            _adopt(agent, agents.get(as_str(agent.meta.get("parentAgentId")) or ""))
    relatives.tie_resumed(agents)
    for agent in agents.values():
        if agent.call is not None:
            agent.call.started_agents = [*agent.call.started_agents, agent]
    starters[0].conversation.agents = dict(agents)
    for agent in agents.values():
        agent.agents = {}
    for agent in agents.values():
        for above in _ancestors(agent):
            above.agents[agent.id] = agent
    return relatives.tied


def _adopt(agent: Agent, parent: Agent | None) -> None:
    """Give an agent its parent, unless it would become its own ancestor."""
    if parent is not None and parent is not agent and agent not in _ancestors(parent):
        agent.parent = parent


def _ancestors(agent: Agent) -> list[Agent]:
    out: dict[int, Agent] = {}
    above = agent.parent
    while above is not None and id(above) not in out:
        out[id(above)] = above
        above = above.parent
    return list(out.values())


class _Evidence:
    """The calls that can have started agents, by each thing that may name them."""

    def __init__(self, starters: Sequence[AgentCalls]) -> None:
        self.conversations = [one.conversation for one in starters]
        self.tied: list[Call] = []
        self.by_agent: dict[str, Call] = {}
        self.resumed: list[tuple[str, Call]] = []
        self.by_run: dict[str, Call] = {}
        self.by_asked: dict[str, list[Call]] = {}
        for one in (evidence for found in starters for evidence in found.evidence):
            if one.agent is not None:
                first = self.by_agent.setdefault(one.agent, one.call)
                if first is not one.call:
                    self.resumed.append((one.agent, one.call))
            if one.asked:
                self.by_asked.setdefault(one.asked, []).append(one.call)
            if one.run is not None:
                self.by_run.setdefault(one.run, one.call)

    def find(self, agent: Agent) -> Call | None:
        """The call that something other than the prompt names."""
        named = self._call(as_str(agent.meta.get("toolUseId"))) or self._call(agent.call_id)
        return named or self.by_agent.get(agent.id) or self._of_run(agent) or self._hung_on(agent)

    def by_prompt(self, agent: Agent) -> Call | None:
        """The first call without an agent that asked for just what the agent was asked."""
        prompt = agent.prompt
        if not prompt:
            return None
        asked = self.by_asked.get(prompt, ())
        return next((call for call in asked if call.started_agent is None and call.conversation is not agent), None)

    def tie(self, agent: Agent, call: Call) -> None:
        """Make agent and call know each other."""
        agent.call = call
        call.started_agent = call.started_agent or agent
        self.tied.append(call)
        owner = call.conversation
        agent.parent = None
        _adopt(agent, owner if isinstance(owner, Agent) else None)

    def tie_resumed(self, agents: Mapping[str, Agent]) -> None:
        """A later call may go on with an agent that an earlier one started."""
        for id, call in self.resumed:
            call.started_agent = call.started_agent or agents.get(id)
            self.tied.append(call)

    def _call(self, id: str | None) -> Call | None:
        found = (conversation.find_call(id) for conversation in self.conversations) if id else ()
        return next((call for call in found if call is not None), None)

    def _of_run(self, agent: Agent) -> Call | None:
        parts = (agent.path or "").replace("\\", "/").split("/")
        return next((call for run, call in self.by_run.items() if run in parts), None)

    def _hung_on(self, agent: Agent) -> Call | None:
        """The call in the record that the agent's first record hangs under; early files do so."""
        if agent.parent_uuid is None:
            return None
        main = self.conversations[0]
        index = main.index_of(agent.parent_uuid)
        there = (c for c in main.calls if c.use == index and c.started_agent is None and c.name in STARTERS)
        return self._call(agent.parent_uuid) or (next(there, None) if index is not None else None)


def _named_in_text(call: Call) -> str | None:
    result = call.result
    texts = result.blocks if isinstance(result, ToolResult) else []
    for block in reversed(texts):
        found = _TAIL.search(block.text) if isinstance(block, Text) and isinstance(block.text, str) else None
        if found:
            return found[1]
    return None
