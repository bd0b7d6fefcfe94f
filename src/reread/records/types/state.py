"""Records outside the conversation tree: titles, modes, snapshots and other state."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Content, Number
from reread.records.types.api import CacheMark, Prompt, RequestParams, RequestShape
from reread.records.types.base import StateRecord
from reread.records.types.registry import RECORDS
from reread.records.types.usage import ModelUsage


class FileBackup(BlockPart, frozen=True, kw_only=True):
    """A copy of a file from before a change."""

    backupFileName: str | None = None
    version: int | None = None
    backupTime: str | None = None
    realParentDir: str | None = None


class FileSnapshot(BlockPart, frozen=True, kw_only=True):
    """The files as they were at a prompt, by path."""

    messageId: str | None = None
    timestamp: str | None = None
    trackedFileBackups: dict[str, FileBackup] | None = None


class WorktreeSession(BlockPart, frozen=True, kw_only=True):
    """The worktree that a session moved into."""

    sessionId: str | None = None
    originalCwd: str | None = None
    preEnterOriginalCwd: str | None = None
    originalBranch: str | None = None
    originalHeadCommit: str | None = None
    worktreePath: str | None = None
    worktreeName: str | None = None
    worktreeBranch: str | None = None
    extensionRoot: str | None = None


class Replacement(BlockPart, frozen=True, kw_only=True):
    """A tool result, and the stub that the model saw instead."""

    kind: str | None = None
    toolUseId: str | None = None
    replacement: Any = None


class Summary(StateRecord, frozen=True, kw_only=True):
    """The title of a session, which may be another one, identified by a leaf of it."""

    type: str = "summary"
    summary: str | None = None
    leafUuid: str | None = None
    """Often the uuid of a record in another file."""


class FileHistorySnapshot(StateRecord, frozen=True, kw_only=True):
    """The files as they were at a prompt."""

    type: str = "file-history-snapshot"
    messageId: str | None = None
    """The uuid of a user record."""
    snapshot: FileSnapshot | None = None
    isSnapshotUpdate: bool | None = None


class FileHistoryDelta(StateRecord, frozen=True, kw_only=True):
    """One more file in a snapshot."""

    type: str = "file-history-delta"
    messageId: str | None = None
    snapshotMessageId: str | None = None
    trackingPath: str | None = None
    backup: FileBackup | None = None


class QueueOperation(StateRecord, frozen=True, kw_only=True):
    """Input that was added to or removed from the queue."""

    type: str = "queue-operation"
    operation: str | None = None
    """`enqueue`, `dequeue`, `remove` or `popAll`."""
    content: Content = None
    reason: str | None = None
    commandUuid: str | None = None
    deliveryId: str | None = None


class LastPrompt(StateRecord, frozen=True, kw_only=True):
    """The last prompt, and the leaf of the active branch."""

    type: str = "last-prompt"
    lastPrompt: str | None = None
    leafUuid: str | None = None
    """All zeros means unknown."""
    explicit: bool | None = None
    rewound: bool | None = None


class AiTitle(StateRecord, frozen=True, kw_only=True):
    """A title written by a model."""

    type: str = "ai-title"
    aiTitle: str | None = None


class CustomTitle(StateRecord, frozen=True, kw_only=True):
    """A title set by a person; an empty one clears it."""

    type: str = "custom-title"
    customTitle: str | None = None


class Tag(StateRecord, frozen=True, kw_only=True):
    """A label; an empty one clears it."""

    type: str = "tag"
    tag: str | None = None


class AgentName(StateRecord, frozen=True, kw_only=True):
    """The name of a session or teammate."""

    type: str = "agent-name"
    agentName: str | None = None


class AgentColor(StateRecord, frozen=True, kw_only=True):
    """The color of a session or teammate."""

    type: str = "agent-color"
    agentColor: str | None = None


class AgentSetting(StateRecord, frozen=True, kw_only=True):
    """The agent that a session runs as."""

    type: str = "agent-setting"
    agentSetting: Any = None


class Mode(StateRecord, frozen=True, kw_only=True):
    """Normal or coordinator mode."""

    type: str = "mode"
    mode: str | None = None


class PermissionMode(StateRecord, frozen=True, kw_only=True):
    """The actions allowed without asking."""

    type: str = "permission-mode"
    permissionMode: str | None = None


class SessionMode(StateRecord, frozen=True, kw_only=True):
    """The kind of session."""

    type: str = "session-mode"
    sessionMode: str | None = None


class PrLink(StateRecord, frozen=True, kw_only=True):
    """A pull request of this session."""

    type: str = "pr-link"
    prNumber: int | None = None
    prUrl: str | None = None
    prRepository: str | None = None


class BridgeSession(StateRecord, frozen=True, kw_only=True):
    """A Remote Control connection."""

    type: str = "bridge-session"
    bridgeSessionId: str | None = None
    lastSequenceNum: int | None = None
    declaredDialogKinds: list[Any] | None = None
    sessionGroupingId: str | None = None


class FrameLink(StateRecord, frozen=True, kw_only=True):
    """A published artifact."""

    type: str = "frame-link"
    path: str | None = None
    frameUrl: str | None = None
    title: str | None = None


class AtisLatch(StateRecord, frozen=True, kw_only=True):
    """A latch internal to the client, usually empty."""

    type: str = "atis-latch"
    atis: str | None = None


class IsolationLatch(StateRecord, frozen=True, kw_only=True):
    """A latch internal to the client."""

    type: str = "isolation-latch"
    side: str | None = None


class WorktreeState(StateRecord, frozen=True, kw_only=True):
    """The worktree that a session is in, or none."""

    type: str = "worktree-state"
    worktreeSession: WorktreeSession | None = None


class Relocated(StateRecord, frozen=True, kw_only=True):
    """The folder that a session moved to."""

    type: str = "relocated"
    relocatedCwd: str | None = None


class CostState(StateRecord, frozen=True, kw_only=True):
    """The cumulative cost of the session."""

    type: str = "cost-state"
    totalCostUSD: Number | None = None
    totalAPIDuration: Number | None = None
    totalAPIDurationWithoutRetries: Number | None = None
    totalToolDuration: Number | None = None
    totalDuration: Number | None = None
    totalLinesAdded: int | None = None
    totalLinesRemoved: int | None = None
    startTime: Number | None = None
    hasUnknownModelCost: bool | None = None
    modelUsage: dict[str, ModelUsage] | None = None


class ContentReplacement(StateRecord, frozen=True, kw_only=True):
    """Tool results that the model saw as stubs."""

    type: str = "content-replacement"
    replacements: list[Replacement] | None = None


class ForkContextRef(StateRecord, frozen=True, kw_only=True):
    """Where the context that a forked agent inherited is stored."""

    type: str = "fork-context-ref"
    parentSessionId: str | None = None
    parentLastUuid: str | None = None
    contextLength: int | None = None


class ContinuedIn(StateRecord, frozen=True, kw_only=True):
    """The session that continues this one."""

    type: str = "continued-in"
    continuedInSessionId: str | None = None


class SpeculationAccept(StateRecord, frozen=True, kw_only=True):
    """A speculative response that was accepted, and the time it saved."""

    type: str = "speculation-accept"
    timeSavedMs: Number | None = None


class MarbleOrigamiCommit(StateRecord, frozen=True, kw_only=True):
    """A span of the context that was replaced by a summary."""

    type: str = "marble-origami-commit"
    collapseId: str | None = None
    summaryUuid: str | None = None
    summaryContent: str | None = None
    summary: str | None = None
    firstArchivedUuid: str | None = None
    lastArchivedUuid: str | None = None


class AgentMetadata(StateRecord, frozen=True, kw_only=True):
    """The metadata of an agent, as an entry of a store."""

    type: str = "agent_metadata"
    agentType: str | None = None
    description: str | None = None
    toolUseId: str | None = None
    parentAgentId: str | None = None
    worktreePath: str | None = None
    worktreeCleanlyRemoved: bool | None = None
    spawnDepth: int | None = None
    name: str | None = None
    requestShape: str | None = None
    requestNonInteractive: bool | None = None
    pickedEffortModel: str | None = None
    launchedWithDefaults: bool | None = None
    isBuiltIn: bool | None = None
    finished: bool | None = None
    workflowPhase: str | None = None


class Launched(StateRecord, frozen=True, kw_only=True):
    """The first line of a workflow's journal, which is not a transcript."""

    type: str = "launched"


class Started(StateRecord, frozen=True, kw_only=True):
    """An agent that started, in a workflow's journal."""

    type: str = "started"
    key: str | None = None
    label: str | None = None
    phase: str | None = None


class ApiRequest(StateRecord, frozen=True, kw_only=True):
    """An API request, as a change to the one before it."""

    type: str = "api-request"
    id: str | None = None
    base: str | None = None
    keep: int | None = None
    tail: list[str] | None = None
    params: RequestParams | None = None
    cacheControl: list[CacheMark] | None = None
    querySource: str | None = None
    requestDigest: str | None = None
    shapeHash: str | None = None
    version: str | None = None


class ApiRequestBlob(StateRecord, frozen=True, kw_only=True):
    """A message of a request, by its hash: a copy, not part of the conversation."""

    type: str = "api-request-blob"
    hash: str | None = None
    message: Prompt | None = None


class ApiRequestShape(StateRecord, frozen=True, kw_only=True):
    """The system prompt and tools of requests, by their hash."""

    type: str = "api-request-shape"
    shapeHash: str | None = None
    shape: RequestShape | None = None
    version: str | None = None


class ToolsUsed(StateRecord, frozen=True, kw_only=True):
    """The tools that a session has used."""

    type: str = "tools-used"
    tools: list[str] | None = None


class EndedByModel(StateRecord, frozen=True, kw_only=True):
    """The model ended the conversation."""

    type: str = "ended-by-model"


class SessionOwner(StateRecord, frozen=True, kw_only=True):
    """The account that a session belongs to."""

    type: str = "session-owner"
    accountUuid: str | None = None
    organizationUuid: str | None = None


class DevMods(StateRecord, frozen=True, kw_only=True):
    """The folder with changes to the client that a session runs with."""

    type: str = "dev-mods"
    folder: str | None = None


class MemoryMode(StateRecord, frozen=True, kw_only=True):
    """Whether memory is used from a record on, and why."""

    type: str = "memory-mode"
    mode: str | None = None
    afterUuid: str | None = None
    reason: str | None = None
    account: Any = None
    accountChoice: Any = None


class DataFlowRecord(BlockPart, frozen=True, kw_only=True):
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


class DataFlowRecords(StateRecord, frozen=True, kw_only=True):
    """The files that calls read and changed, as the client follows them."""

    type: str = "data-flow-records"
    v: int | None = None
    records: list[DataFlowRecord] | None = None
    snapshot: bool | None = None
    """Whether these replace all before them."""


class DataFlowIncomplete(StateRecord, frozen=True, kw_only=True):
    """The client does not know all that calls read and changed."""

    type: str = "data-flow-incomplete"
    v: int | None = None


class DerivedFrom(StateRecord, frozen=True, kw_only=True):
    """The sessions that a session took something from."""

    type: str = "derived-from"
    v: int | None = None
    sessions: list[Any] | None = None


class ObserverRef(StateRecord, frozen=True, kw_only=True):
    """A session that observes this one, or an agent of it."""

    type: str = "observer-ref"
    parentSessionId: str | None = None
    observerSessionId: str | None = None
    parentLastUuid: str | None = None


class ResumeHeadVouch(StateRecord, frozen=True, kw_only=True):
    """A checksum of the records before it."""

    type: str = "resume-head-vouch"
    sum: Any = None


class ReplMode(StateRecord, frozen=True, kw_only=True):
    """Whether the model writes code that calls tools."""

    type: str = "repl-mode"
    replMode: Any = None
    typedEvents: bool | None = None


class Run(StateRecord, frozen=True, kw_only=True):
    """The start or end of a capture."""

    type: str = "run"
    id: str | None = None
    conversationId: str | None = None
    run: dict[str, Any] | None = None
    cwd: str | None = None
    customTitle: str | None = None


class Output(StateRecord, frozen=True, kw_only=True):
    """A captured line that is not a message, or was printed to stderr."""

    type: str = "output"
    id: str | None = None
    conversationId: str | None = None
    claudeMessage: Any = None
    raw: str | None = None
    end: str | None = None
    stream: str | None = None
    costUSD: Number | None = None
    durationMs: Number | None = None


BARE_STATES = (
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "attribution-snapshot",
    "ended",
    "goal",
    "goal-cleared",
    "history-suppression",
    "marble-origami-snapshot",
    "task-summary",
)
"""Record types known by name only."""

RECORDS.update(dict.fromkeys(BARE_STATES, StateRecord))
