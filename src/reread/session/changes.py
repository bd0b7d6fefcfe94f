"""The change that one record makes in a session, for those who follow it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType

import msgspec

from reread.base.async_iteration import iterate_in_thread
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.model.ledger import AGENT, MERGED, PAIRED, SHOWN, Fate
from reread.records.decode import Record
from reread.session.session import Session


class Change(msgspec.Struct, frozen=True):
    """The change that one record made; of kind `rewritten`, the first line from which the file differs."""

    kind: str
    """record or rewritten."""
    line: int
    fate: Fate | None = None
    record: Record | None = None
    message: Message | None = None
    call: Call | None = None
    agent: Agent | None = None
    """The agent that the record belongs to."""
    session: Session | None = None
    """The session that changed; None if the record came from a stream."""


def change_of(conversation: Conversation, index: int, session: Session | None = None) -> Change:
    """Return what the record at `index` changed."""
    ledger = conversation.ledger
    code, target = ledger.code(index), ledger.targets[index]
    record = conversation.records[index]
    message, call, agent = None, None, conversation if isinstance(conversation, Agent) else None
    if code in (SHOWN, MERGED):
        message = conversation.messages[target]
    elif code == PAIRED:
        call = conversation.calls[target]
        message = call.message
    elif code == AGENT:
        agent = conversation.inline_agents[ledger.agents[target]]
        message = agent.find_message(record.envelope.uuid or "")
    elif index in conversation.marks.ended:
        message = conversation.messages[conversation.marks.ended[index]]
    return Change("record", record.line, ledger[index], record, message, call, agent, session)


class ChangeStream(Iterator[Change]):
    """The changes of sessions that are followed: iterate over it with `for` or `async for`, and close it to stop."""

    def __init__(self) -> None:
        self.closed: bool = False
        """True once it was closed: it ends within a heartbeat."""
        self._changes: Iterator[Change] = iter(())

    def start(self, changes: Iterator[Change]) -> ChangeStream:
        """Set where the changes come from."""
        self._changes = changes
        return self

    def __next__(self) -> Change:
        return next(self._changes)

    def __aiter__(self) -> AsyncIterator[Change]:
        return iterate_in_thread(self._changes, self.close)

    def close(self) -> None:
        """Stop following; an iteration that waits ends within a heartbeat."""
        self.closed = True

    def __enter__(self) -> ChangeStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
