"""Rows: what counting needs of a line, in the native tongue."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Raw

from reread.records.envelope import NOTHING, UsageFields


class MessageRow(msgspec.Struct, gc=False):
    """The API message of a line, without its content."""

    model: str | None = None
    id: str | None = None
    stop_reason: str | None = None
    usage: UsageFields | None = None


class UsageLine(msgspec.Struct, gc=False):
    """What counting needs of a row of a response, in the file's own order: that is fast."""

    isSidechain: bool | None = None
    cwd: str | None = None
    sessionId: str | None = None
    gitBranch: str | None = None
    agentId: str | None = None
    message: MessageRow | None = None
    requestId: str | None = None
    type: str = ""
    uuid: str | None = None
    timestamp: str | None = None
    isApiErrorMessage: bool | None = None
    forkedFrom: Raw = NOTHING
    costUSD: float | None = None


Named = Annotated[str, msgspec.Meta(min_length=1)]


class PlainMessage(msgspec.Struct, gc=False, kw_only=True):
    """The API message of a plain row."""

    model: str | None = None
    id: Named
    stop_reason: str | None = None
    usage: UsageFields


class PlainRow(msgspec.Struct, gc=False, kw_only=True):
    """A row of a response that names all it should: what is no such row is no value of this type."""

    isSidechain: bool | None = None
    cwd: str | None = None
    sessionId: str
    gitBranch: str | None = None
    agentId: str | None = None
    message: PlainMessage
    requestId: Named
    type: Literal["assistant"]
    uuid: str | None = None
    timestamp: str | None = None
    isApiErrorMessage: bool | None = None
    forkedFrom: Raw = NOTHING
    costUSD: float | None = None

    def go_on(self, row: PlainRow) -> None:
        """Take in a later row of the response: this one says where it belongs, the better one what it used."""
        message, best = row.message, self.message
        if (not message.stop_reason) == (not best.stop_reason):
            if (message.usage.output_tokens or 0) >= (best.usage.output_tokens or 0):
                self.message = message
        elif message.stop_reason:
            self.message = message
        if self.timestamp is None:
            self.timestamp = row.timestamp


AnyMessage = MessageRow | PlainMessage
AnyRow = UsageLine | PlainRow


class AnyLine(UsageLine, gc=False):
    """What counting needs of lines of other types."""

    subtype: str | None = None
    version: str | None = None
    parentToolUseID: str | None = None
    data: Raw = NOTHING
    event: Raw = NOTHING
    toolUseResult: Raw = NOTHING


class ProgressRow(msgspec.Struct):
    """An agent's record inside a progress record."""

    type: str = ""
    agentId: str | None = None
    message: UsageLine | None = None


class AgentResultRow(msgspec.Struct):
    """What a call that ran an agent gave back."""

    agentId: str | None = None
    resolvedModel: str | None = None
    usage: UsageFields | None = None
    totalTokens: int | None = None
    totalToolUseCount: int | None = None


class EventDelta(msgspec.Struct):
    """What an event changes."""

    stop_reason: str | None = None


class EventRow(msgspec.Struct):
    """An event of the API's stream."""

    type: str = ""
    message: MessageRow | None = None
    usage: UsageFields | None = None
    delta: EventDelta | None = None
