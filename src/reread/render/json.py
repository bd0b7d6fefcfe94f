"""The public values as JSON, with the same names as in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from reread.base import jsontext
from reread.model.conversation import Agent, Branch, Call, Compaction, Conversation, Message, Turn
from reread.model.parts import TOOLS, NoticeDetails, block_kind, message_parts
from reread.model.record_kinds import TURN_STARTERS, payload_of
from reread.model.recorded import other_fields
from reread.records.blocks import Block
from reread.render.agents import agents_below
from reread.render.selection import EVERYTHING, Selection, selected_turns
from reread.session.changes import Change
from reread.session.session import Session


def session_json(session: Session, selection: Selection = EVERYTHING) -> Iterator[bytes]:
    """The selection of a session as JSON, in pieces, so that a large one need not fit in memory."""
    turns = selected_turns(session.conversation, selection) if selection.is_excerpt else None
    yield b"{"
    yield from _pairs(_session_fields(session))
    yield from _conversation(session.conversation, selection, turns)
    yield b',\n"agents": {'
    for n, (agent, chosen) in enumerate(_agents(session, selection, turns)):
        yield (b",\n" if n else b"\n") + jsontext.dumps(agent.id) + b": {"
        yield from _pairs(_agent_fields(agent))
        yield from _conversation(agent, selection, chosen)
        yield b"}"
    yield b"}}\n"


def _agents(
    session: Session, selection: Selection, turns: Sequence[Turn] | None
) -> Iterator[tuple[Agent, Sequence[Turn] | None]]:
    """The agents that are shown; if only some calls are, each with the turns that have them."""
    if not selection.shows(TOOLS):
        return
    if selection.chooses_calls:
        for agent in session.agents.values():
            if chosen := selected_turns(agent, selection.for_agents):
                yield agent, chosen
        return
    for agent in agents_below(session, None if turns is None else (call for turn in turns for call in turn.calls)):
        yield agent, None


def _pairs(values: dict[str, Any]) -> Iterator[bytes]:
    for name, value in values.items():
        yield jsontext.dumps(name) + b": " + jsontext.dumps(value) + b",\n"


def _session_fields(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "ids": session.ids,
        "title": session.title,
        "project": session.project,
        "project_guessed": session.project_guessed,
        "path": str(session.path) if session.path is not None else None,
        "started": session.started,
        "ended": session.ended,
        "dialects": session.dialects,
        "versions": session.versions,
        "models": session.models,
        "git_branches": session.git_branches,
        "entrypoints": session.entrypoints,
        "slugs": session.slugs,
        "permission_modes": session.permission_modes,
        "pr_links": session.pr_links,
        "results": session.results,
        "usage": session.usage,
        "problems": session.problems,
    }


def _agent_fields(agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.id,
        "type": agent.type,
        "prompt": agent.prompt,
        "call": agent.call.id if agent.call is not None else None,
        "parent": agent.parent.id if agent.parent is not None else None,
        "path": agent.path,
        "warmup": agent.warmup,
        "usage": agent.usage,
    }


def _conversation(conversation: Conversation, selection: Selection, turns: Sequence[Turn] | None) -> Iterator[bytes]:
    """A conversation; only its messages, calls and turns if some turns are selected."""
    messages = conversation.messages if turns is None else [message for turn in turns for message in turn.messages]
    calls = conversation.calls if turns is None else [call for turn in turns for call in turn.calls]
    yield from _array("messages", (value for m in messages if (value := _selected_value(m, selection)) is not None))
    shown = [call for call in calls if selection.shows_call(call)] if selection.shows(TOOLS) else ()
    yield from _array("calls", (call_value(call, full=selection.full) for call in shown))
    yield from _array("turns", map(turn_value, conversation.turns if turns is None else turns), last=turns is not None)
    if turns is None:
        yield from _array("branches", _branch_values(conversation))
        yield from _array("compactions", map(compaction_value, conversation.compactions))
        yield from _array("ledger", map(plain, conversation.ledger), last=True)


def _selected_value(message: Message, selection: Selection) -> dict[str, Any] | None:
    """A message with its selected blocks; None if only some kinds are selected and it has none of them."""
    blocks = [block for block in message.blocks if selection.shows(block_kind(message, block))]
    if selection.only is not None and not blocks:
        return None
    value = message_value(message, blocks)
    return value if selection.shows(TOOLS) else {**value, "calls": []}


def _array(name: str, values: Iterable[Any], *, last: bool = False) -> Iterator[bytes]:
    yield jsontext.dumps(name) + b": ["
    for n, value in enumerate(values):
        yield (b",\n" if n else b"\n") + jsontext.dumps(value)
    yield b"]" if last else b"],\n"


def message_value(message: Message, blocks: Sequence[Block] | None = None) -> dict[str, Any]:
    """A message, with all its blocks or the given ones."""
    return {
        "id": message.id,
        "role": message.role,
        "kind": message.kind,
        "author": message.author,
        "timestamp": message.timestamp,
        "model": message.model,
        "stop_reason": message.stop_reason,
        "text": message.text,
        "blocks": [block_value(block) for block in (message.blocks if blocks is None else blocks)],
        "calls": [call.id for call in message.calls],
        "usage": plain(message.usage),
        "uuids": message.uuids,
        "line": message.line,
        "branch": message.branch,
        "flags": sorted(message.flags),
        **plain(message.api_facts),
        "attached": [payload_of(message.conversation.bodies.native(index)) for index in message.attached],
        "fields": other_fields(message, [x for x in message_parts(message) if not isinstance(x, NoticeDetails)]),
    }


def block_value(block: Block) -> dict[str, Any]:
    """A content block, without empty fields."""
    value = plain(block)
    return {key: item for key, item in value.items() if item is not None}


def call_value(call: Call, *, full: bool = False) -> dict[str, Any]:
    """A call with its result."""
    outcome = call.outcome
    return {
        "id": call.id,
        "name": call.name,
        "title": call.title,
        "state": outcome.state,
        "exit_code": outcome.exit_code,
        "error": call.error,
        "input": call.input,
        "result": block_value(call.result) if call.result is not None else None,
        "data": call.data,
        "duration": call.duration,
        "nodes": [plain(node) for node in call.draw(full=full)],
        "attached": [payload_of(call.conversation.bodies.native(index)) for index in call.attached],
        "fields": {name: value for name, value in call.recorded.items() if name != "result" and value},
        "agent": call.agent.id if call.agent is not None else None,
        "message": call.message.id,
        "line": call.line,
    }


def turn_value(turn: Turn) -> dict[str, Any]:
    """A turn: its prompt, and its messages and calls by id."""
    return {
        "index": turn.index,
        "prompt": message_value(turn.prompt) if turn.prompt is not None else None,
        "messages": [message.id for message in turn.messages],
        "calls": [call.id for call in turn.calls],
        "usage": plain(turn.usage),
    }


def _branch_values(conversation: Conversation) -> Iterator[dict[str, Any]]:
    own: dict[int, list[Message]] = {}
    for message in conversation.messages:
        own.setdefault(message.branch, []).append(message)
    return (branch_value(branch, own.get(branch.id, [])) for branch in conversation.branches)


def branch_value(branch: Branch, own: Sequence[Message]) -> dict[str, Any]:
    """A branch: the message after which it leaves its parent, and by id the messages that no parent shares."""
    fork = branch.conversation.message_at(branch.fork) if branch.parent is not None else None
    return {
        "id": branch.id,
        "active": branch.active,
        "parent": branch.parent,
        "fork": fork.id if fork is not None else None,
        "leaf": own[-1].uuids[-1] if own and own[-1].uuids else None,
        "messages": [message.id for message in own],
        "turns": sum(message.kind in TURN_STARTERS for message in own),
    }


def compaction_value(compaction: Compaction) -> dict[str, Any]:
    """A compaction with the figures that the client recorded."""
    return {
        "line": compaction.line,
        "trigger": compaction.trigger,
        "micro": compaction.micro,
        "pre_tokens": compaction.pre_tokens,
        "post_tokens": compaction.post_tokens,
        "preserved": compaction.preserved,
        "boundary": compaction.boundary.id if compaction.boundary is not None else None,
        "summary": compaction.summary.id if compaction.summary is not None else None,
    }


def change_value(change: Change) -> dict[str, Any]:
    """What one record changed, with the current state of the message or call."""
    return {
        "kind": change.kind,
        "line": change.line,
        "fate": plain(change.fate),
        "type": change.record.type if change.record is not None else None,
        "message": message_value(change.message) if change.message is not None else None,
        "call": call_value(change.call) if change.call is not None else None,
        "agent": change.agent.id if change.agent is not None else None,
    }


def plain(value: Any) -> Any:
    """A struct as plain JSON values."""
    try:
        return msgspec.to_builtins(value)
    except (RecursionError, OverflowError):
        return {name: getattr(value, name) for name in value.__struct_fields__}
