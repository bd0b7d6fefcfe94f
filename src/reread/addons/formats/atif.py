"""A session as a trajectory in the Agent Trajectory Interchange Format, version 1.7.

https://www.harborframework.com/docs/agents/trajectory-format
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from reread.accounting.billing import Usage
from reread.addons.formats._model_context import (
    ASSISTANT,
    SYSTEM,
    USER,
    ModelContext,
    arguments_of,
    chosen_messages,
    heard,
    output_text,
    refuse_choice,
    setup_of,
)
from reread.base import jsontext
from reread.base.text import plural
from reread.model.authors import PERSON
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection, agents_below
from reread.session.session import Session

VERSION = "ATIF-v1.7"
NAME = "claude-code"
UNKNOWN = "unknown"
SOURCES = {USER: "user", ASSISTANT: "agent", SYSTEM: "system"}


def session_atif(session: Session, selection: Selection) -> Iterator[bytes]:
    """A session as one JSON object; its agents are embedded, and what they used is in the totals."""
    refuse_choice(selection, "atif", turns=True)
    yield jsontext.dumps(_present(_Export(session, selection).trajectory()))
    yield b"\n"


class _Export:
    """The trajectories of one session; a response that several of its files have counts once."""

    def __init__(self, session: Session, selection: Selection) -> None:
        self._session = session
        self._selection = selection
        self._counted: set[str] = set()
        agents = session.agents.values()
        self._steps: dict[str, list[dict[str, Any]]] = {}
        self._root_steps = self._steps_of(session.conversation, selection)
        for agent in agents:
            self._steps[agent.id] = self._steps_of(agent, selection.for_agents)

    def trajectory(self) -> dict[str, Any]:
        """Return the session with its agents."""
        session, selection = self._session, self._selection
        whole = not selection.is_excerpt
        usage = session.usage if whole else None
        notes = self._notes()
        value = self._value(session.conversation, session.id, self._root_steps, usage)
        agents = session.agents.values() if whole else _agents_below(session, selection)
        embedded = [self._value(agent, agent.id, self._steps[agent.id]) for agent in agents if self._steps[agent.id]]
        return {
            **value,
            "session_id": session.id,
            "notes": " ".join(notes) or None,
            "extra": {"title": session.title, "project": session.project, "git_branches": session.git_branches},
            "subagent_trajectories": embedded or None,
        }

    def _notes(self) -> list[str]:
        others = len(self._session.branches) - 1
        notes = ["The totals include agents."] if self._session.agents else []
        if others and self._selection.path is None:
            notes.append(f"{plural(others, 'abandoned path')} left out; the totals include them.")
        elif not self._selection.is_excerpt and self._stated_tokens() < self._session.usage.tokens:
            notes.append("The totals include tokens that no step states.")
        return notes

    def _stated_tokens(self) -> int:
        steps = [step for steps in (self._root_steps, *self._steps.values()) for step in steps]
        known = [step["metrics"] for step in steps if step.get("metrics")]
        return sum(metrics["prompt_tokens"] + metrics["completion_tokens"] for metrics in known)

    def _value(
        self, conversation: Conversation, id: str, steps: list[dict[str, Any]], usage: Usage | None = None
    ) -> dict[str, Any]:
        """Return one trajectory: the session's or an agent's."""
        agent = conversation if isinstance(conversation, Agent) else None
        metadata = conversation.metadata
        setup = setup_of(conversation)
        about: dict[str, Any] = {"agent_type": agent.type} if agent is not None and agent.type else {}
        versions = metadata.versions or self._session.versions
        models = metadata.models or self._session.models
        return {
            "schema_version": VERSION,
            "session_id": self._session.id,
            "trajectory_id": id,
            "agent": {
                "name": NAME,
                "version": versions[-1] if versions else UNKNOWN,
                "model_name": models[0] if models else None,
                "tool_definitions": list(setup.tools) or None,
                "extra": about or None,
            },
            "steps": _numbered(steps) or [{"step_id": 1, "source": "system", "message": ""}],
            "final_metrics": _totals(usage, steps),
        }

    def _steps_of(self, conversation: Conversation, selection: Selection) -> list[dict[str, Any]]:
        setup = setup_of(conversation)
        steps: list[dict[str, Any]] = [{"source": "system", "message": setup.system}] if setup.system else []
        said = heard(chosen_messages(conversation, selection), selection)
        return steps + [self._step(one) for one in said]

    def _step(self, one: ModelContext) -> dict[str, Any]:
        message = one.message
        copied = self._is_copied(message)
        step: dict[str, Any] = {
            "timestamp": message.timestamp.isoformat() if message.timestamp else None,
            "source": SOURCES[one.role],
            "message": one.text,
            "is_copied_context": True if copied or _is_forked(message) else None,
            "extra": {} if one.role == ASSISTANT or message.author == PERSON else {"kind": message.kind},
        }
        results = [{"content": text} for text in one.orphans]
        if one.role == ASSISTANT:
            usage = Usage() if copied else message.usage
            step |= {
                "model_name": message.model,
                "reasoning_content": one.thinking or None,
                "tool_calls": [_call(call) for call in one.calls] or None,
                "metrics": _metrics(usage) if usage.responses else None,
                "llm_call_count": usage.responses or None,
            }
            results = [result for call in one.calls for result in self._results(call)] + results
        step["observation"] = {"results": results} if results else None
        step["extra"] = step["extra"] or None
        return step

    def _results(self, call: Call) -> Iterator[dict[str, Any]]:
        text = output_text(call)
        agents = [agent for agent in call.agents if self._steps.get(agent.id, True)]
        if text is None and not agents:
            return
        references = [{"trajectory_id": agent.id, "session_id": self._session.id} for agent in agents]
        yield {
            "source_call_id": _call_id(call),
            "content": text,
            "subagent_trajectory_ref": references or None,
            "extra": {"state": call.state} if call.ok is False else None,
        }

    def _is_copied(self, message: Message) -> bool:
        """True if a response was counted in another conversation of the session, which it was copied from."""
        if message.kind != "response":
            return False
        seen = message.id in self._counted
        self._counted.add(message.id)
        return seen


def _present(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the format without fields that are not known."""
    free = ("arguments", "tool_definitions", "extra")
    found = {name: item for name, item in value.items() if item is not None}
    for name, item in found.items():
        if isinstance(item, dict) and name not in free:
            found[name] = _present(cast(dict[str, Any], item))
        elif isinstance(item, list) and name not in free:
            found[name] = [_present(cast(dict[str, Any], one)) for one in cast(list[Any], item)]
    return found


def _is_forked(message: Message) -> bool:
    return message.bodies.native(message.records[0]).get("forkedFrom") is not None


def _numbered(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"step_id": number, **step} for number, step in enumerate(steps, 1)]


def _call(call: Call) -> dict[str, Any]:
    return {"tool_call_id": _call_id(call), "function_name": call.name, "arguments": arguments_of(call)}


def _call_id(call: Call) -> str:
    return call.id or f"call_{call.index}"


def _agents_below(session: Session, selection: Selection) -> list[Agent]:
    return agents_below(session, (call for m in chosen_messages(session.conversation, selection) for call in m.calls))


def _prompt_tokens(usage: Usage) -> int:
    return usage.tokens - usage.output_tokens


def _metrics(usage: Usage) -> dict[str, Any]:
    writes = {"5m": usage.cache_write_5m_tokens, "1h": usage.cache_write_1h_tokens}
    return {
        "prompt_tokens": _prompt_tokens(usage),
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cache_read_tokens,
        "cost_usd": usage.cost_usd,
        "extra": {f"cache_write_{name}_tokens": count for name, count in writes.items() if count} or None,
    }


def _totals(usage: Usage | None, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the totals: those of the session, or the sum of the steps."""
    if usage is not None:
        values = _metrics(usage)
    else:
        known = [step["metrics"] for step in steps if step.get("metrics")]
        names = ("prompt_tokens", "completion_tokens", "cached_tokens")
        values: dict[str, Any] = {name: sum(one[name] for one in known) for name in names}
        costs = [one["cost_usd"] for one in known if one["cost_usd"] is not None]
        values["cost_usd"] = sum(costs) if costs else None
    return {
        "total_prompt_tokens": values["prompt_tokens"],
        "total_completion_tokens": values["completion_tokens"],
        "total_cached_tokens": values["cached_tokens"],
        "total_cost_usd": values["cost_usd"],
        "total_steps": max(len(steps), 1),
        "extra": values.get("extra"),
    }


FORMAT = ExportFormat(
    session_atif,
    about="a trajectory in the Agent Trajectory Interchange Format, 1.7",
    readers="Harbor, the `atif` package, trainers and viewers of runs",
)
