"""Records outside the conversation tree: titles, modes, snapshots and other state; progress of calls."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.records.blocks import BlockPart, Content
from reread.records.types.base import Entry, NestedEntry, ProgressPayload, StateRecord, TreeRecord
from reread.records.types.registry import PAYLOADS, PROGRESS, RECORDS, to_entry


class FileBackup(BlockPart):
    """A copy of a file from before a change."""

    backupFileName: str | None = None
    version: int | None = None
    backupTime: str | None = None
    realParentDir: str | None = None


class FileSnapshot(BlockPart):
    """The files as they were at a prompt, by path."""

    messageId: str | None = None
    timestamp: str | None = None
    trackedFileBackups: dict[str, FileBackup] | None = None
    hasUntrackedChanges: bool | None = None


class Summary(StateRecord):
    """The title of a session, which may be another one, identified by a leaf of it."""

    type: str = "summary"
    summary: str | None = None
    leafUuid: str | None = None
    """Often the uuid of a record in another file."""


class FileHistorySnapshot(StateRecord):
    """The files as they were at a prompt."""

    type: str = "file-history-snapshot"
    messageId: str | None = None
    """The uuid of a user record."""
    snapshot: FileSnapshot | None = None
    isSnapshotUpdate: bool | None = None


class QueueOperation(StateRecord):
    """Input that was added to or removed from the queue."""

    type: str = "queue-operation"
    operation: str | None = None
    """`enqueue`, `dequeue`, `remove` or `popAll`."""
    content: Content = None
    reason: str | None = None
    commandUuid: str | None = None
    deliveryId: str | None = None


class LastPrompt(StateRecord):
    """The last prompt, and the leaf of the active branch."""

    type: str = "last-prompt"
    lastPrompt: str | None = None
    leafUuid: str | None = None
    """All zeros means unknown."""
    explicit: bool | None = None
    rewound: bool | None = None


class DataFlowRecord(BlockPart):
    """The files that one call read or changed."""

    tool_name: str | None = None
    tool_use_id: str | None = None
    event_id: str | None = None
    inner_call_index: int | None = None
    no_message: bool | None = None
    implicit: bool | None = None
    carried: bool | None = None
    server: Any = None
    mcp_tool_name: str | None = None
    source: dict[str, Any] | None = None
    touched: dict[str, Any] | None = None


class DataFlowRecords(StateRecord):
    """The files that calls read and changed, as the client follows them."""

    type: str = "data-flow-records"
    v: int | None = None
    records: list[DataFlowRecord] | None = None
    snapshot: bool | None = None
    """Whether these replace all before them."""


BARE_STATES = tuple(
    """
    artifact-autoreact-ledger artifact-comment-monitor attribution-snapshot ended goal goal-cleared
    history-suppression late-allow-ended marble-origami-snapshot task-summary
    """.split()
)
"""Record types known by name only."""

RECORDS.update(dict.fromkeys(BARE_STATES, StateRecord))


AnyProgress: TypeAlias = Annotated[
    Any, Meta(extra={"contains": "progress"}, extra_json_schema={"$ref": "#/$defs/AnyProgress"})
]
"""One of the structs in PROGRESS, by its `type`."""


class Progress(TreeRecord):
    """The progress of a running call (2.1.12 to 2.1.81)."""

    type: str = "progress"
    data: AnyProgress = None
    toolUseID: str | None = None


class AgentProgress(ProgressPayload):
    """A message of a running agent."""

    type: str = "agent_progress"
    message: NestedEntry = None
    """A complete record of the agent."""
    normalizedMessages: NestedEntry = None
    prompt: str | None = None
    agentId: str | None = None

    @property
    def entry(self) -> Entry:
        """The agent's own record."""
        return to_entry(self.message)


PAYLOADS[Progress] = ("data", PROGRESS)
