"""Copies and pickles of a conversation's parts: each is a part of its session, and a copy has the session's bytes."""

from __future__ import annotations

import copyreg
from typing import Any

from reread.model.conversation import Agent, Branch, Call, Compaction, Conversation, Message, Request, ThreadOwner


def _reduce_thread(thread: Conversation) -> tuple[Any, ...]:
    owner = thread.owner
    if owner is None:
        raise TypeError("A conversation without a session cannot be copied or pickled; open its file as a session.")
    if owner.conversation is thread:
        return _thread, (owner, None)
    id = next((id for id, agent in owner.agents.items() if agent is thread), None)
    if id is None:
        raise TypeError("Its session was read again, and this is what was there before; it cannot be copied.")
    return _thread, (owner, id)


def _thread(owner: ThreadOwner, agent: str | None) -> Conversation:
    return owner.conversation if agent is None else owner.agents[agent]


def _reduce_message(message: Message) -> tuple[Any, ...]:
    return _part, (message.conversation, "messages", message.index)


def _reduce_call(call: Call) -> tuple[Any, ...]:
    return _part, (call.conversation, "calls", call.index)


def _reduce_compaction(compaction: Compaction) -> tuple[Any, ...]:
    return _part, (compaction.conversation, "compactions", compaction.conversation.compactions.index(compaction))


def _reduce_request(request: Request) -> tuple[Any, ...]:
    return _part, (request.conversation, "requests", request.number - 1)


def _part(conversation: Conversation, kind: str, index: int) -> Any:
    return getattr(conversation, kind)[index]


def _reduce_branch(branch: Branch) -> tuple[Any, ...]:
    return Conversation.branch, (branch.conversation, branch.id)


copyreg.pickle(Conversation, _reduce_thread)
copyreg.pickle(Agent, _reduce_thread)
copyreg.pickle(Message, _reduce_message)
copyreg.pickle(Call, _reduce_call)
copyreg.pickle(Compaction, _reduce_compaction)
copyreg.pickle(Branch, _reduce_branch)
copyreg.pickle(Request, _reduce_request)
