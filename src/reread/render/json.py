"""Sessions and changes as JSON: the values of `json_values`, encoded in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET

from reread.base import jsontext
from reread.base.structs import copied
from reread.model.conversation import Agent, Branch, Call, Compaction, Conversation, Message, Turn
from reread.model.ledger import ATTACHED, MALFORMED, NO_TARGET, ORPHAN, STATE, UNKNOWN
from reread.model.parts import TOOLS, NoticeDetails, QueuedPrompt, block_kind, message_parts
from reread.model.record_kinds import TURN_STARTERS, payload_of
from reread.model.remaining_fields import other_fields
from reread.records.blocks import Block
from reread.render.format import agent_of, shown_path
from reread.render.json_values import (
    VERSION,
    AgentValue,
    BranchValue,
    CallValue,
    ChangeValue,
    CommitValue,
    CompactionValue,
    ContentBlock,
    ConversationValue,
    MessageValue,
    PullRequestValue,
    QueuedValue,
    SessionValue,
    StateValue,
    TurnValue,
)
from reread.render.selection import EVERYTHING, Selection, agents_below, selected_turns
from reread.session.cache_breaks import CacheBreaks
from reread.session.changes import Change
from reread.session.commits import Commit, GitOperations, GitOperationsByTurn, PullRequest
from reread.session.results import TurnResult, turn_result
from reread.session.session import Session
from reread.session.session_inputs import is_usage_known

T = TypeVar("T")


def session_json(session: Session, selection: Selection = EVERYTHING) -> Iterator[bytes]:
    """The selection of a session as JSON, in pieces, so that a large one need not fit in memory."""
    yield from _encoded(_session_value(session, selection))
    yield b"\n"


def _encoded(value: Any) -> Iterator[bytes]:
    """A conversation, its streamed lists item by item, and anything else at once."""
    if isinstance(value, ConversationValue):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        short_first = sorted(fields, key=lambda field: isinstance(field[1], Iterator | dict))
        yield from _encoded({name: item for name, item in short_first if item is not UNSET})
    elif isinstance(value, dict):
        for n, (name, item) in enumerate(cast(dict[str, Any], value).items()):
            yield (b",\n" if n else b"{\n") + jsontext.dumps(name) + b": "
            yield from _encoded(item)
        yield b"}" if value else b"{}"
    elif isinstance(value, Iterator):
        yield b"["
        for n, item in enumerate(cast(Iterator[Any], value)):
            yield (b",\n" if n else b"\n") + jsontext.dumps(item)
        yield b"]"
    else:
        yield jsontext.dumps(value)


def _streamed(values: Iterable[T]) -> list[T]:
    """Values that are made while they are written: a list that is never held in memory."""
    return cast(list[T], iter(values))


def _session_value(session: Session, selection: Selection) -> SessionValue:
    turns = selected_turns(session.conversation, selection) if selection.is_excerpt else None
    return copied(
        SessionValue,
        session,
        version=VERSION,
        path=shown_path(session),
        dialects=list(session.dialects),
        usage=session.usage if is_usage_known(session.records) else None,
        **_conversation(session.conversation, selection, turns),
        agents={
            agent.id: _agent_value(agent, selection, chosen) for agent, chosen in _agents(session, selection, turns)
        },
    )


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


def _agent_value(agent: Agent, selection: Selection, turns: Sequence[Turn] | None) -> AgentValue:
    return copied(
        AgentValue,
        agent,
        call=agent.call.id if agent.call is not None else None,
        parent=agent.parent.id if agent.parent is not None else None,
        **_conversation(agent, selection, turns),
    )


def _conversation(conversation: Conversation, selection: Selection, turns: Sequence[Turn] | None) -> dict[str, Any]:
    """The fields of a conversation; only its messages, calls and turns if some turns are selected."""
    messages = conversation.messages if turns is None else [message for turn in turns for message in turn.messages]
    calls = conversation.calls if turns is None else [call for turn in turns for call in turn.calls]
    shown = [call for call in calls if selection.shows_call(call)] if selection.shows(TOOLS) else ()
    git = GitOperationsByTurn(conversation)
    chosen = conversation.turns if turns is None else turns
    whole = turns is None
    return {
        "messages": _streamed(value for m in messages if (value := _selected_value(m, selection)) is not None),
        "calls": _streamed(call_value(call, full=selection.full) for call in shown),
        "turns": _streamed(turn_value(turn, git.of_turn(turn.messages)) for turn in chosen),
        "branches": _streamed(_branch_values(conversation)) if whole else UNSET,
        "compactions": _streamed(map(compaction_value, conversation.compactions)) if whole else UNSET,
        "cache_breaks": _streamed(CacheBreaks(conversation)) if whole else UNSET,
        "state": _streamed(_state_values(conversation)) if whole else UNSET,
        "ledger": _streamed(conversation.ledger) if whole else UNSET,
    }


def _state_values(conversation: Conversation) -> Iterator[StateValue]:
    """The records that belong to no message; those that could be attached to one, if there is none."""
    fates = enumerate(zip(conversation.ledger.codes, conversation.ledger.targets, strict=True))
    for index in (
        index
        for index, (code, target) in fates
        if code in (STATE, UNKNOWN, MALFORMED) or (code in (ATTACHED, ORPHAN) and target == NO_TARGET)
    ):
        record = conversation.records[index]
        unread = {"text": record.raw.decode("utf-8", "replace")}
        fields = payload_of(record.native) if record.fault is None else unread
        yield StateValue(line=record.line, type=record.type, fields=fields)


def _selected_value(message: Message, selection: Selection) -> MessageValue | None:
    """A message with its selected blocks; None if only some kinds are selected and it has none of them."""
    blocks = [block for block in message.blocks if selection.shows(block_kind(message, block))]
    if selection.only is not None and not blocks:
        return None
    value = message_value(message, blocks)
    return value if selection.shows(TOOLS) else msgspec.structs.replace(value, calls=[])


def message_value(message: Message, blocks: Sequence[Block] | None = None) -> MessageValue:
    """A message, with all its blocks or the given ones."""
    facts, marks, native = message.api_facts, message.conversation.marks, message.conversation.bodies.native
    parts = list(message_parts(message))
    return copied(
        MessageValue,
        message,
        blocks=[_block_value(block) for block in (message.blocks if blocks is None else blocks)],
        calls=[call.id for call in message.calls],
        flags=sorted(message.flags),
        request_id=facts.request_id,
        stop_sequence=facts.stop_sequence,
        service_tier=facts.service_tier,
        attached=[payload_of(native(index)) for index in message.attached],
        fields=other_fields(message, [part for part in parts if not isinstance(part, NoticeDetails)]),
        setups=[payload_of(native(index)) for index in marks.setups.get(message.index, ())],
        queued=[_queued_value(part) for part in parts if isinstance(part, QueuedPrompt)],
        session=marks.sessions.get(message.index),
    )


def _queued_value(part: QueuedPrompt) -> QueuedValue:
    return copied(QueuedValue, part, blocks=[_block_value(block) for block in part.blocks])


def _block_value(block: Block) -> ContentBlock:
    """A content block, without empty fields."""
    try:
        value = msgspec.to_builtins(block)
    except (RecursionError, OverflowError):
        value = msgspec.structs.asdict(block)
    return {key: item for key, item in value.items() if item is not None}


def call_value(call: Call, *, full: bool = False) -> CallValue:
    """A call with its result."""
    outcome = call.outcome
    return copied(
        CallValue,
        call,
        state=outcome.state,
        exit_code=outcome.exit_code,
        result=_block_value(call.result) if call.result is not None else None,
        nodes=call.draw(full=full),
        attached=[payload_of(call.conversation.bodies.native(index)) for index in call.attached],
        fields={name: value for name, value in call.recorded.items() if name != "result" and value},
        agent=call.agent.id if call.agent is not None else None,
        message=call.message.id,
    )


def turn_value(turn: Turn, git: GitOperations) -> TurnValue:
    """A turn: its prompt, its messages and calls by id, and what it did with git."""
    return copied(
        TurnValue,
        turn,
        prompt=message_value(turn.prompt) if turn.prompt is not None else None,
        messages=[message.id for message in turn.messages],
        calls=[call.id for call in turn.calls],
        results=list(_results(turn)),
        commits=list(map(_commit_value, git.commits)),
        pull_requests=list(map(_pull_request_value, git.pull_requests)),
    )


def _commit_value(commit: Commit) -> CommitValue:
    return copied(CommitValue, commit, call=commit.call.id, agent=agent_of(commit.call))


def _pull_request_value(pull: PullRequest) -> PullRequestValue:
    call = pull.call
    shown = {"call": call.id, "agent": agent_of(call)} if call is not None else {"call": None, "agent": None}
    return copied(PullRequestValue, pull, **shown)


def _results(turn: Turn) -> Iterator[TurnResult]:
    for message in turn.messages:
        conversation = message.conversation
        for index in conversation.marks.ends.get(message.index, ()):
            yield turn_result(conversation.records.line(index), conversation.bodies.native(index))


def _branch_values(conversation: Conversation) -> Iterator[BranchValue]:
    own: dict[int, list[Message]] = {}
    for message in conversation.messages:
        own.setdefault(message.branch, []).append(message)
    return (branch_value(branch, own.get(branch.id, [])) for branch in conversation.branches)


def branch_value(branch: Branch, own: Sequence[Message]) -> BranchValue:
    """A branch: the message after which it leaves its parent, and by id the messages that no parent shares."""
    fork = branch.conversation.message_at(branch.fork) if branch.parent is not None else None
    return copied(
        BranchValue,
        branch,
        fork=fork.id if fork is not None else None,
        leaf=own[-1].uuids[-1] if own and own[-1].uuids else None,
        messages=[message.id for message in own],
        turns=sum(message.kind in TURN_STARTERS for message in own),
    )


def compaction_value(compaction: Compaction) -> CompactionValue:
    """A compaction with the figures that the client recorded."""
    return copied(
        CompactionValue,
        compaction,
        boundary=compaction.boundary.id if compaction.boundary is not None else None,
        summary=compaction.summary.id if compaction.summary is not None else None,
    )


def change_value(change: Change) -> ChangeValue:
    """Return the change that one record made, with the current state of the message or call."""
    return copied(
        ChangeValue,
        change,
        type=change.record.type if change.record is not None else None,
        message=message_value(change.message) if change.message is not None else None,
        call=call_value(change.call) if change.call is not None else None,
        agent=change.agent.id if change.agent is not None else None,
    )
