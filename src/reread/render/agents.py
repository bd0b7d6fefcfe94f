"""Which agents a view shows, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reread.model.conversation import Agent, Call
from reread.render.selection import Selection
from reread.session.session import Session

NESTED = 8
"""How many agents, one inside the other, are shown below their calls; the next one is shown at the end."""


def is_shown_at_end(agent: Agent) -> bool:
    """True if an agent is nested so deeply that it is shown at the end and not below its call."""
    depth = 0
    above: Agent | None = agent
    while above is not None:
        depth, above = depth + 1, above.parent
    return depth % NESTED == 0


def agents_at_end(session: Session, selection: Selection) -> Iterator[tuple[Agent, str]]:
    """The agents shown at the end, each with the reason; the client's warm-up agents only with `full`."""
    if selection.only is not None or selection.turns != (1, None):
        return
    for agent in session.agents.values():
        if selection.chooses_calls and not selection.has_call(agent.calls):
            continue
        if agent.call is None and agent.parent is None:
            if selection.full or not agent.warmup:
                yield agent, "not linked to a call"
        elif agent.parent is not None and is_shown_at_end(agent):
            yield agent, f"started by agent {agent.parent.id}"


def agents_below(session: Session, calls: Iterable[Call] | None = None) -> list[Agent]:
    """The agents that these calls started, directly or through other agents; all agents without `calls`."""
    agents = list(session.agents.values())
    if calls is None:
        return agents
    found: set[str] = set()
    waiting = list(calls)
    while waiting:
        for agent in waiting.pop().agents:
            if agent.id not in found:
                found.add(agent.id)
                waiting += agent.calls
    return [agent for agent in agents if agent.id in found]
