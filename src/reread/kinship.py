"""Which call started which agent, and which agent made that call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from reread.blocks import Text, ToolResult
from reread.conversation import Agent, Conversation
from reread.messages import Call

STARTERS = frozenset({"Task", "Agent", "Skill", "Workflow"})
"""The tools that start agents."""

_TAIL = re.compile(r"\bagentId: ?([\w-]+)")


def link(main: Conversation, agents: Mapping[str, Agent]) -> None:
    """Tie each agent to its call, by the best evidence the files have; what has none stays untied."""
    kin = _Kin(main, agents.values())
    kin.forget(agents.values())
    for agent in agents.values():
        call = kin.find(agent)
        if call is not None:
            kin.tie(agent, call)
    for agent in agents.values():
        if agent.call is None:
            call = kin.by_prompt(agent)
            if call is not None:
                kin.tie(agent, call)
        if agent.parent is None:
            _adopt(agent, agents.get(_str(agent.meta.get("parentAgentId")) or ""))
    kin.tie_resumed(agents)
    main.agents = dict(agents)
    for agent in agents.values():
        agent.agents = {}
    for agent in agents.values():
        for above in _ancestors(agent):
            above.agents[agent.id] = agent


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


class _Kin:
    """The calls that can have started agents, by each thing that may name them."""

    def __init__(self, main: Conversation, agents: Iterable[Agent]) -> None:
        self.talks: list[Conversation] = [main, *agents]
        self.starters = [call for talk in self.talks for call in talk.calls if call.name in STARTERS]
        self.by_agent: dict[str, Call] = {}
        self.resumed: list[tuple[str, Call]] = []
        self.by_run: dict[str, Call] = {}
        self.by_asked: dict[str, list[Call]] = {}
        for call in self.starters:
            data = _dict(call.data)
            id = data.get("agentId") or _named_in_text(call)
            if isinstance(id, str):
                first = self.by_agent.setdefault(id, call)
                if first is not call:
                    self.resumed.append((id, call))
            asked = _str(_dict(call.input).get("prompt"))
            if asked:
                self.by_asked.setdefault(asked, []).append(call)
            run = data.get("runId")
            if isinstance(run, str):
                self.by_run.setdefault(run, call)

    def forget(self, agents: Iterable[Agent]) -> None:
        """Untie what was tied when less was known."""
        for call in (call for talk in self.talks for call in talk.calls):
            call.started_agent = None
        for agent in agents:
            agent.call = agent.parent = None

    def find(self, agent: Agent) -> Call | None:
        """The call that something other than the prompt names."""
        named = self._call(_str(agent.meta.get("toolUseId"))) or self._call(agent.call_id)
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
        owner = call.conversation
        agent.parent = None
        _adopt(agent, owner if isinstance(owner, Agent) else None)

    def tie_resumed(self, agents: Mapping[str, Agent]) -> None:
        """A later call may go on with an agent that an earlier one started."""
        for id, call in self.resumed:
            call.started_agent = call.started_agent or agents.get(id)

    def _call(self, id: str | None) -> Call | None:
        found = (talk.find_call(id) for talk in self.talks) if id else ()
        return next((call for call in found if call is not None), None)

    def _of_run(self, agent: Agent) -> Call | None:
        parts = (agent.path or "").replace("\\", "/").split("/")
        return next((call for run, call in self.by_run.items() if run in parts), None)

    def _hung_on(self, agent: Agent) -> Call | None:
        """The call in the record that the agent's first record hangs under; early files do so."""
        if agent.hangs_on is None:
            return None
        main = self.talks[0]
        index = main.index_of(agent.hangs_on)
        there = (c for c in main.calls if c.use == index and c.started_agent is None and c.name in STARTERS)
        return self._call(agent.hangs_on) or (next(there, None) if index is not None else None)


def _named_in_text(call: Call) -> str | None:
    result = call.result
    texts = result.blocks if isinstance(result, ToolResult) else []
    for block in reversed(texts):
        found = _TAIL.search(block.text) if isinstance(block, Text) and isinstance(block.text, str) else None
        if found:
            return found[1]
    return None


def _dict(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None
