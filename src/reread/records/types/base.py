"""What every record is built on: entries in the tree, beside it and in a stream, and payloads."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from reread.records.blocks import BlockPart, Number

NestedEntry: TypeAlias = Annotated[Any, Meta(extra={"holds": "entry"})]
"""A record, or a list of records, inside another, as written."""


class Entry(Struct, frozen=True, kw_only=True):
    """What one record says, typed."""

    type: str = ""


class Unknown(Entry, frozen=True, kw_only=True):
    """A record, or the payload of one, of a type that has no struct."""

    value: Any = None


class Malformed(Entry, frozen=True, kw_only=True):
    """A piece of a file that is no record."""

    type: str = "malformed"
    reason: str = ""
    text: str | bytes = ""
    value: Any = None
    """The JSON that stands there, where it is JSON but no object."""


class AttachmentPayload(Struct, frozen=True, kw_only=True):
    """What an attachment carries."""

    type: str = ""


class ProgressPayload(Struct, frozen=True, kw_only=True):
    """What a progress record carries."""

    type: str = ""


class EventPayload(Struct, frozen=True, kw_only=True):
    """What a stream event carries."""

    type: str = ""


class ForkedFrom(BlockPart, frozen=True, kw_only=True):
    """The record that this one is a copy of."""

    sessionId: str | None = None
    messageUuid: str | None = None


class PreservedSegment(BlockPart, frozen=True, kw_only=True):
    """The run of records that a compaction kept."""

    headUuid: str | None = None
    anchorUuid: str | None = None
    tailUuid: str | None = None
    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class PreservedMessages(BlockPart, frozen=True, kw_only=True):
    """The records that a compaction kept."""

    anchorUuid: str | None = None
    uuids: list[str] | None = None
    allUuids: list[str] | None = None
    anchor_uuid: str | None = None
    all_uuids: list[str] | None = None


class CompactMetadata(BlockPart, frozen=True, kw_only=True):
    """What a compaction did."""

    trigger: str | None = None
    preTokens: int | None = None
    postTokens: int | None = None
    durationMs: Number | None = None
    cumulativeDroppedTokens: int | None = None
    preCompactDiscoveredTools: list[str] | None = None
    messagesSummarized: int | None = None
    userContext: Any = None
    preservedSegment: PreservedSegment | None = None
    preservedMessages: PreservedMessages | None = None
    runningTurnPrompt: dict[str, Any] | None = None


class TreeRecord(Entry, frozen=True, kw_only=True):
    """A record of the tree: what every line with a parent has."""

    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    """The parent, where a compaction set `parentUuid` to null."""
    sessionId: str | None = None
    session_id: str | None = None
    """The session that the process or lineage began with, often another than `sessionId`."""
    timestamp: str | Number | None = None
    """ISO 8601 in every real file."""
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
    """In a stream, the call whose agent speaks; in progress, the call that waits for this one."""
    forkedFrom: ForkedFrom | None = None
    subtype: str | None = None
    compactMetadata: CompactMetadata | None = None
    isError: bool | None = None
    isDeleted: bool | None = None
    isAborted: bool | None = None
    is_active: bool | None = None
    """These four are in early descriptions only."""


class StateRecord(Entry, frozen=True, kw_only=True):
    """A record outside the tree, often without uuid or time; of most kinds the last one holds."""

    sessionId: str | None = None
    uuid: str | None = None
    timestamp: str | Number | None = None
    agentId: str | None = None


class StreamRecord(Entry, frozen=True, kw_only=True):
    """A line that only a stream has."""

    sessionId: str | None = None
    uuid: str | None = None
    parentToolUseID: str | None = None
    timestamp: str | Number | None = None


class System(TreeRecord, frozen=True, kw_only=True):
    """A notice of the client's own; also every subtype that has no struct of its own."""

    type: str = "system"
    content: str | None = None
    level: str | None = None
    toolUseID: str | None = None
