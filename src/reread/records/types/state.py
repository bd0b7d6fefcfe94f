"""Records outside the conversation tree: titles, modes, snapshots and other state; progress of calls."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.api import CacheMark, Prompt, RequestParams, RequestShape
from reread.records.types.base import Entry, NestedEntry, ProgressPayload, StateRecord, TreeRecord, declare, part
from reread.records.types.registry import PAYLOADS, PROGRESS, RECORDS, to_entry
from reread.records.types.usage import ModelUsage


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


_part = partial(part, __name__)
WorktreeSession = _part(
    "WorktreeSession",
    "The worktree that a session moved into.",
    "sessionId originalCwd preEnterOriginalCwd originalBranch originalHeadCommit worktreePath "
    "worktreeName worktreeBranch extensionRoot",
)
Replacement = _part(
    "Replacement", "A tool result, and the stub that the model saw instead.", "kind toolUseId", replacement=Any
)


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


_state = partial(declare, StateRecord, __name__)
_state(
    "file-history-delta", "One more file in a snapshot.", "messageId snapshotMessageId trackingPath", backup=FileBackup
)


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


_state("ai-title", "A title written by a model.", "aiTitle")
_state("custom-title", "A title set by a person; an empty one clears it.", "customTitle")
_state("tag", "A label; an empty one clears it.", "tag")
_state("agent-name", "The name of a session or teammate.", "agentName")
_state("agent-color", "The color of a session or teammate.", "agentColor")
_state("agent-setting", "The agent that a session runs as.", agentSetting=Any)
_state("mode", "Normal or coordinator mode.", "mode")
_state("permission-mode", "The actions allowed without asking.", "permissionMode")
_state("session-mode", "The kind of session.", "sessionMode")
_state("pr-link", "A pull request of this session.", "prUrl prRepository", prNumber=int)
_state(
    "bridge-session",
    "A Remote Control connection.",
    "bridgeSessionId sessionGroupingId",
    lastSequenceNum=int,
    declaredDialogKinds=list[Any],
)
_state("frame-link", "A published artifact.", "path frameUrl title")
_state("atis-latch", "A latch internal to the client, usually empty.", "atis")
_state("isolation-latch", "A latch internal to the client.", "side")
_state("worktree-state", "The worktree that a session is in, or none.", worktreeSession=WorktreeSession)
_state("relocated", "The folder that a session moved to.", "relocatedCwd")
_state(
    "cost-state",
    "The cumulative cost of the session.",
    totalCostUSD=Number,
    totalAPIDuration=Number,
    totalAPIDurationWithoutRetries=Number,
    totalToolDuration=Number,
    totalDuration=Number,
    totalLinesAdded=int,
    totalLinesRemoved=int,
    startTime=Number,
    hasUnknownModelCost=bool,
    modelUsage=dict[str, ModelUsage],
)
_state("content-replacement", "Tool results that the model saw as stubs.", replacements=list[Replacement])
_state(
    "fork-context-ref",
    "Where the context that a forked agent inherited is stored.",
    "parentSessionId parentLastUuid",
    contextLength=int,
)
_state("continued-in", "The session that continues this one.", "continuedInSessionId")
_state("speculation-accept", "A speculative response that was accepted, and the time it saved.", timeSavedMs=Number)
_state(
    "marble-origami-commit",
    "A span of the context that was replaced by a summary.",
    "collapseId summaryUuid summaryContent summary firstArchivedUuid lastArchivedUuid",
)
_state(
    "agent_metadata",
    "The metadata of an agent, as an entry of a store.",
    "agentType description toolUseId parentAgentId worktreePath name requestShape pickedEffortModel workflowPhase",
    worktreeCleanlyRemoved=bool,
    spawnDepth=int,
    requestNonInteractive=bool,
    launchedWithDefaults=bool,
    isBuiltIn=bool,
    finished=bool,
)
_state("launched", "The first line of a workflow's journal, which is not a transcript.")
_state("started", "An agent that started, in a workflow's journal.", "key label phase")
_state(
    "api-request",
    "An API request, as a change to the one before it.",
    "id base querySource requestDigest shapeHash version",
    keep=int,
    tail=list[str],
    params=RequestParams,
    cacheControl=list[CacheMark],
)
_state(
    "api-request-blob",
    "A message of a request, by its hash: a copy, not part of the conversation.",
    "hash",
    message=Prompt,
)
_state(
    "api-request-shape",
    "The system prompt and tools of requests, by their hash.",
    "shapeHash version",
    shape=RequestShape,
)
_state(
    "api-request-resumed",
    "An API request that was paused and went on as another.",
    "messageId pausedRequestId resumedRequestId version",
    requestRef=Any,
    requestNotRecorded=Any,
    requestHookChanged=Any,
)
_state("tools-used", "The tools that a session has used.", tools=list[str])
_state("ended-by-model", "The model ended the conversation.")
_state("session-owner", "The account that a session belongs to.", "accountUuid organizationUuid")
_state("dev-mods", "The folder with changes to the client that a session runs with.", "folder")
_state(
    "memory-mode",
    "Whether memory is used from a record on, and why.",
    "mode afterUuid reason",
    account=Any,
    accountChoice=Any,
)


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


_state("data-flow-incomplete", "The client does not know all that calls read and changed.", v=int)
_state("derived-from", "The sessions that a session took something from.", v=int, sessions=list[Any])
_state(
    "observer-ref",
    "A session that observes this one, or an agent of it.",
    "parentSessionId observerSessionId parentLastUuid",
)
_state("resume-head-vouch", "A checksum of the records before it.", sum=Any)
_state("repl-mode", "Whether the model writes code that calls tools.", replMode=Any, typedEvents=bool)
_state("run", "The start or end of a capture.", "id conversationId cwd customTitle", run=dict[str, Any])
_state(
    "output",
    "A captured line that is not a message, or was printed to stderr.",
    "id conversationId raw end stream",
    claudeMessage=Any,
    costUSD=Number,
    durationMs=Number,
)


BARE_STATES = (
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "attribution-snapshot",
    "ended",
    "goal",
    "goal-cleared",
    "history-suppression",
    "late-allow-ended",
    "marble-origami-snapshot",
    "task-summary",
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


_progress = partial(declare, ProgressPayload, __name__)
_progress(
    "bash_progress",
    "The output of a command so far.",
    "output fullOutput taskId",
    elapsedTimeSeconds=Number,
    totalLines=int,
    totalBytes=int,
    timeoutMs=Number,
)
_progress("hook_progress", "A hook that is running.", "hookEvent hookName command")


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


_progress("mcp_progress", "The progress of an MCP call.", "status serverName toolName", elapsedTimeMs=Number)
_progress("query_update", "The query of a running web search.", "query")
_progress("search_results_received", "The number of results of a web search.", "query", resultCount=int)
_progress("waiting_for_task", "The task that a call waits for.", "taskDescription taskType")


PAYLOADS[Progress] = ("data", PROGRESS)
