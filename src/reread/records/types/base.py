"""Base classes of all records and payloads."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.base.structs import FrozenStruct
from reread.records.blocks import BlockPart, Name, Needed, Number

NestedEntry: TypeAlias = Annotated[Any, Meta(extra={"contains": "entry"})]
"""A record or a list of records inside another record, as written."""


class Entry(FrozenStruct):
    """The typed value of one record."""

    type: str = ""


class Unknown(Entry):
    """A record, or the payload of one, of an unknown type."""

    value: Any = None


class Malformed(Entry):
    """A piece of a file that is not a record."""

    type: str = "malformed"
    reason: str = ""
    text: str | bytes = ""
    value: Any = None
    """The JSON value, if the text is JSON but not an object."""


class AttachmentPayload(FrozenStruct):
    """The payload of an attachment."""

    type: str = ""


class ProgressPayload(FrozenStruct):
    """The payload of a progress record."""

    type: str = ""


class EventPayload(FrozenStruct):
    """The payload of a stream event."""

    type: str = ""


class ForkedFrom(BlockPart):
    """The record that this one is a copy of."""

    sessionId: str | None = None
    messageUuid: str | None = None


class PreservedSegment(BlockPart):
    """The run of records preserved by a compaction."""

    headUuid: str | None = None
    anchorUuid: str | None = None
    tailUuid: str | None = None
    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class PreservedMessages(BlockPart):
    """The records preserved by a compaction."""

    anchorUuid: str | None = None
    uuids: list[str] | None = None
    allUuids: list[str] | None = None
    anchor_uuid: str | None = None
    all_uuids: list[str] | None = None


class CompactMetadata(BlockPart):
    """Details of a compaction."""

    trigger: str | None = None
    preTokens: int | None = None
    postTokens: int | None = None
    durationMs: Number | None = None
    cumulativeDroppedTokens: int | None = None
    preCompactDiscoveredTools: list[str] | None = None
    preCompactOrganizationsCoverStart: bool | None = None
    messagesSummarized: int | None = None
    userContext: Any = None
    preservedSegment: PreservedSegment | None = None
    preservedMessages: PreservedMessages | None = None
    runningTurnPrompt: dict[str, Any] | None = None


class TreeRecord(Entry):
    """Base of all records that have a parent, and so a place in the conversation tree."""

    uuid: Name | None = None
    parentUuid: Annotated[str, Meta(extra={"needed": "key"})] | None = None
    """Null at a root."""
    logicalParentUuid: str | None = None
    """The parent, if a compaction set `parentUuid` to null."""
    sessionId: Name | None = None
    session_id: str | None = None
    """The session that the process or lineage started with, which often differs from `sessionId`."""
    timestamp: Needed[str] | None = None
    """ISO 8601."""
    isSidechain: bool | None = None
    isMeta: bool | None = None
    userType: str | None = None
    cwd: str | None = None
    originalCwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None
    slug: str | None = None
    entrypoint: str | None = None
    agentId: str | None = None
    agentName: str | None = None
    teamName: str | None = None
    sessionKind: str | None = None
    parentToolUseID: str | None = None
    """In a stream, the call that started the agent; in a progress record, the call that waits for this one."""
    forkedFrom: ForkedFrom | None = None
    subtype: str | None = None
    compactMetadata: CompactMetadata | None = None
    isError: bool | None = None
    isDeleted: bool | None = None
    isAborted: bool | None = None
    is_active: bool | None = None
    """Only in the early format, like the three fields before it."""


class StateRecord(Entry):
    """Base of all records outside the tree, often without uuid or timestamp; of most types, the last one counts."""

    sessionId: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    agentId: str | None = None


class StreamRecord(Entry):
    """Base of all records that occur only in a stream."""

    sessionId: str | None = None
    uuid: str | None = None
    parentToolUseID: str | None = None
    timestamp: str | None = None


class System(TreeRecord):
    """A message of the client itself; the struct of every subtype without its own."""

    type: str = "system"
    content: str | None = None
    level: str | None = None
    toolUseID: str | None = None
