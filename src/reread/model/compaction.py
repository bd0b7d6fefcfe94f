"""The figures of a compaction, read from its boundary."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from reread.base.coerce import as_dict, as_int, as_str
from reread.model.bodies import Bodies
from reread.model.message import MessageContent
from reread.model.tree import RecordTree


class CompactedThread(Protocol):
    """The parts of a conversation that its compactions are read from."""

    @property
    def bodies(self) -> Bodies: ...
    @property
    def tree(self) -> RecordTree: ...


T = TypeVar("T", bound=CompactedThread)
M = TypeVar("M", bound=MessageContent)


class CompactionContent(msgspec.Struct, Generic[T, M], eq=False):
    """A compaction as its boundary and its summary."""

    conversation: T
    boundary: M | None = None
    summary: M | None = None
    micro: bool = False
    """True if only old tool results were cleared."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The client's own figures, as written."""
        if self.boundary is None:
            return {}
        record = self.conversation.bodies.native(self.boundary.records[0])
        return as_dict(record.get("microcompactMetadata" if self.micro else "compactMetadata"))

    @property
    def trigger(self) -> str | None:
        """auto or manual."""
        return as_str(self.metadata.get("trigger"))

    @property
    def pre_tokens(self) -> int | None:
        """Tokens in the context before."""
        return as_int(self.metadata.get("preTokens"))

    @property
    def post_tokens(self) -> int | None:
        """Tokens in the context after."""
        return as_int(self.metadata.get("postTokens"))

    @property
    def preserved(self) -> list[str]:
        """The uuids of records that stayed in the context unchanged."""
        metadata = self.metadata
        uuids = as_dict(metadata.get("preservedMessages")).get("uuids")
        if isinstance(uuids, list):
            return [uuid for uuid in cast(list[Any], uuids) if isinstance(uuid, str)]
        ends = as_dict(metadata.get("preservedSegment"))
        chain = self.conversation.tree.chain(as_str(ends.get("headUuid")), as_str(ends.get("tailUuid")))
        records = self.conversation.bodies.records
        return [uuid for index in chain if (uuid := records[index].envelope.uuid)]

    @property
    def line(self) -> int:
        """The line of the boundary, or of the summary if there is no boundary."""
        message = self.boundary or self.summary
        return message.line if message else 0
