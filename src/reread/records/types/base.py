"""Base classes of all records and payloads."""

from __future__ import annotations

import sys
from typing import Annotated, Any, TypeAlias, cast

from msgspec import Meta, Struct

from reread.base.structs import FrozenStruct
from reread.records.blocks import BlockPart, Content, Name, Needed, Number, StructT

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


_NAMES = {AttachmentPayload: "Attachment", ProgressPayload: "Progress", EventPayload: "Event"}
"""The last word of the names of payloads, by their base."""


def declare(base: type[Struct], module: str, kind: str, meaning: str, texts: str = "", /, **fields: Any) -> None:
    """Add a struct that only states fields: its type or subtype, its meaning, the fields with text, and all others.

    Its name follows from its type: `system/away_summary` is `SystemAwaySummary`. Like any class, it is an attribute of
    its module, by which a pickle finds it.
    """
    words = "".join(word[:1].upper() + word[1:] for word in kind.replace("-", "_").split("_"))
    ending = next((ending for family, ending in _NAMES.items() if issubclass(base, family)), "")
    name = f"System{words}" if base is System else words.removesuffix(ending) + ending
    tag = ("subtype", str | None, kind) if base is System else ("type", str, kind)
    setattr(sys.modules[module], name, _struct(base, module, name, meaning, [tag, *_optional(texts, fields)]))


def part(module: str, name: str, meaning: str, texts: str = "", /, **fields: Any) -> type[BlockPart]:
    """Return the struct of an object inside such records, declared in the same way."""
    return _struct(BlockPart, module, name, meaning, _optional(texts, fields))


def _optional(texts: str, fields: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    hints = dict.fromkeys(texts.split(), str) | fields
    return [(name, one if one in (Any, Content, NestedEntry) else one | None, None) for name, one in hints.items()]


def _struct(
    base: type[StructT], module: str, name: str, meaning: str, fields: list[tuple[str, Any, Any]]
) -> type[StructT]:
    hints = {name: hint for name, hint, _ in fields}
    defaults = {name: default for name, _, default in fields}
    namespace = {"__doc__": meaning, "__module__": module, "__annotations__": hints, **defaults}
    return cast(type[StructT], type(base)(name, (base,), namespace))
