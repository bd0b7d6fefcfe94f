"""Records: the struct of every line that Claude Code writes or prints, in the native tongue.

Attribute names are the file's own. Every field is optional; one whose value has another shape than its type
says holds that value as written. Fields that no type knows are not here: the bytes are kept elsewhere.

A new type needs its struct and nothing else: the tables gather the subclasses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field

from reread.blocks import BLOCKS, Block, Content, Number, Piece, fields_of, fit, options, to_blocks

AnyAttachment: TypeAlias = Annotated[
    Any, Meta(extra={"holds": "attachment"}, extra_json_schema={"$ref": "#/$defs/AnyAttachment"})
]
"""A struct of ATTACHMENTS, by its `type`."""
AnyProgress: TypeAlias = Annotated[
    Any, Meta(extra={"holds": "progress"}, extra_json_schema={"$ref": "#/$defs/AnyProgress"})
]
"""A struct of PROGRESS, by its `type`."""
AnyEvent: TypeAlias = Annotated[
    Any, Meta(extra={"holds": "event"}, extra_json_schema={"$ref": "#/$defs/AnyEvent"})
]
"""A struct of EVENTS, by its `type`."""
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


class CacheCreation(Piece, frozen=True, kw_only=True):
    """Tokens written to the cache, by how long they live there."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUsage(Piece, frozen=True, kw_only=True):
    """How often the API's own tools ran."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class OutputTokensDetails(Piece, frozen=True, kw_only=True):
    """What the output tokens went into."""

    thinking_tokens: int | None = None


class CreditStatus(Piece, frozen=True, kw_only=True):
    """Whether a fallback credit was redeemed."""

    type: str | None = None
    reason: str | None = None
    remove_to_redeem: list[str] | None = None


class FallbackCredit(Piece, frozen=True, kw_only=True):
    """What became of a fallback credit token."""

    status: CreditStatus | None = None


class Iteration(Piece, frozen=True, kw_only=True):
    """The tokens of one sampling step inside a response."""

    type: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class Usage(Piece, frozen=True, kw_only=True):
    """The tokens of one API response, as its row states them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerToolUsage | None = None
    output_tokens_details: OutputTokensDetails | None = None
    iterations: list[Iteration] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    fallback_credit: FallbackCredit | None = None


class ModelUsage(Piece, frozen=True, kw_only=True):
    """What one model used and cost, summed by the client."""

    inputTokens: int | None = None
    outputTokens: int | None = None
    thinkingTokens: int | None = None
    cacheReadInputTokens: int | None = None
    cacheCreationInputTokens: int | None = None
    cacheCreationEphemeral5mInputTokens: int | None = None
    cacheCreationEphemeral1hInputTokens: int | None = None
    webSearchRequests: int | None = None
    costUSD: Number | None = None
    costBasis: str | None = None
    contextWindow: int | None = None
    maxOutputTokens: int | None = None
    canonicalModel: str | None = None
    provider: str | None = None


class TaskUsage(Piece, frozen=True, kw_only=True):
    """What a background task used."""

    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: Number | None = None


class StopDetails(Piece, frozen=True, kw_only=True):
    """Why the API refused."""

    type: str | None = None
    category: str | None = None
    explanation: str | None = None
    recommended_model: str | None = None
    fallback_credit_token: str | None = None
    fallback_has_prefill_claim: bool | None = None


class Skill(Piece, frozen=True, kw_only=True):
    """A skill loaded into a container."""

    skill_id: str | None = None
    type: str | None = None
    version: str | None = None


class Container(Piece, frozen=True, kw_only=True):
    """The sandbox that ran code for a response."""

    id: str | None = None
    expires_at: str | None = None
    skills: list[Skill] | None = None


class AppliedEdit(Piece, frozen=True, kw_only=True):
    """What the API cleared from the context."""

    type: str | None = None
    cleared_input_tokens: int | None = None
    cleared_thinking_turns: int | None = None
    cleared_tool_uses: int | None = None


class ContextManagement(Piece, frozen=True, kw_only=True):
    """The context edits that the API applied."""

    applied_edits: list[AppliedEdit] | None = None


class CacheMiss(Piece, frozen=True, kw_only=True):
    """Why the prompt was not in the cache."""

    type: str | None = None
    cache_missed_input_tokens: int | None = None


class Diagnostics(Piece, frozen=True, kw_only=True):
    """What the API says of its own caching."""

    cache_miss_reason: CacheMiss | None = None


class InputTransformation(Piece, frozen=True, kw_only=True):
    """What the API changed in the request."""

    type: str | None = None
    path: str | None = None
    reason: str | None = None


class Response(Piece, frozen=True, kw_only=True):
    """An assistant message as the API answered it, or one block of it."""

    id: str | None = None
    type: str | None = None
    role: str | None = None
    model: str | None = None
    content: Content = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: StopDetails | None = None
    usage: Usage | None = None
    container: Container | None = None
    context_management: ContextManagement | None = None
    diagnostics: Diagnostics | None = None
    input_transformations: list[InputTransformation] | None = None
    error: Any = None


class OutputConfig(Piece, frozen=True, kw_only=True):
    """How hard the model was asked to work."""

    effort: str | None = None


class Prompt(Piece, frozen=True, kw_only=True):
    """A message sent to the API."""

    id: str | None = None
    type: str | None = None
    role: str | None = None
    content: Content = None
    output_config: OutputConfig | None = None


class ForkedFrom(Piece, frozen=True, kw_only=True):
    """The record that this one is a copy of."""

    sessionId: str | None = None
    messageUuid: str | None = None


class Origin(Piece, frozen=True, kw_only=True):
    """Who spoke: a person, a task, a peer …"""

    kind: str | None = None
    subkind: str | None = None
    server: str | None = None
    from_: str | None = field(default=None, name="from")
    name: str | None = None
    body: str | None = None
    fromMode: str | None = None
    fromSession: str | None = None
    senderTaskId: str | None = None
    verifiedPeerPid: int | None = None
    fireReason: str | None = None
    producer: str | None = None
    runId: str | None = None


class ThinkingMetadata(Piece, frozen=True, kw_only=True):
    """How much thinking a prompt asked for."""

    level: str | None = None
    disabled: bool | None = None
    triggers: list[Any] | None = None
    maxThinkingTokens: int | None = None


class Todo(Piece, frozen=True, kw_only=True):
    """One item of a to-do list."""

    id: Any = None
    content: str | None = None
    status: str | None = None
    activeForm: str | None = None
    priority: str | None = None


class PermissionDecision(Piece, frozen=True, kw_only=True):
    """Who allowed or refused a call, and why."""

    decision: str | None = None
    source: str | None = None
    reasonType: str | None = None
    reasonCode: str | None = None
    grantScope: str | None = None
    reason_type: str | None = None
    reason_code: str | None = None
    grant_scope: str | None = None


class TurnPosition(Piece, frozen=True, kw_only=True):
    """Where in the session a prompt stands."""

    promptIndex: int | None = None
    turnIndex: int | None = None


class ToolResultMeta(Piece, frozen=True, kw_only=True):
    """What the stream says of a tool result beside it."""

    id: str | None = None
    non_execution_kind: str | None = None
    permission_decision: PermissionDecision | None = None


class ToolUseMeta(Piece, frozen=True, kw_only=True):
    """How a host should name a tool call."""

    id: str | None = None
    tool_name: str | None = None
    display_name: str | None = None
    server_display_name: str | None = None
    icon_url: str | None = None


class CommandRun(Piece, frozen=True, kw_only=True):
    """A local command and its arguments."""

    command: str | None = None
    args: str | None = None


class ContextShare(Piece, frozen=True, kw_only=True):
    """One thing that fills the context."""

    name: str | None = None
    kind: str | None = None
    path: str | None = None
    type: str | None = None
    agent_type: str | None = None
    source: str | None = None
    server_name: str | None = None
    plugin_name: str | None = None
    tokens: int | None = None


class OverLimit(Piece, frozen=True, kw_only=True):
    """By how much the context is too full."""

    kind: str | None = None
    tokens_over: int | None = None


class ContextUsage(Piece, frozen=True, kw_only=True):
    """What fills the context window."""

    model: str | None = None
    total_tokens: int | None = None
    raw_max_tokens: int | None = None
    percentage: Number | None = None
    over_limit: OverLimit | None = None
    categories: list[ContextShare] | None = None
    mcp_tools: list[ContextShare] | None = None
    memory_files: list[ContextShare] | None = None
    agents: list[ContextShare] | None = None
    skills: list[ContextShare] | None = None


class SessionTotals(Piece, frozen=True, kw_only=True):
    """What a session has cost so far."""

    total_cost_usd: Number | None = None
    total_api_duration_ms: Number | None = None
    total_duration_ms: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    model_usage: dict[str, ModelUsage] | None = None


class UsageReport(Piece, frozen=True, kw_only=True):
    """The answer to a question about usage."""

    session: SessionTotals | None = None
    rate_limits: dict[str, Any] | None = None


class PreservedSegment(Piece, frozen=True, kw_only=True):
    """The run of records that a compaction kept."""

    headUuid: str | None = None
    anchorUuid: str | None = None
    tailUuid: str | None = None
    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class PreservedMessages(Piece, frozen=True, kw_only=True):
    """The records that a compaction kept."""

    anchorUuid: str | None = None
    uuids: list[str] | None = None
    allUuids: list[str] | None = None
    anchor_uuid: str | None = None
    all_uuids: list[str] | None = None


class CompactMetadata(Piece, frozen=True, kw_only=True):
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


class MicrocompactMetadata(Piece, frozen=True, kw_only=True):
    """What a microcompaction cleared."""

    trigger: str | None = None
    preTokens: int | None = None
    tokensSaved: int | None = None
    compactedToolIds: list[str] | None = None
    clearedAttachmentUUIDs: list[str] | None = None


class FileBackup(Piece, frozen=True, kw_only=True):
    """A copy of a file from before a change."""

    backupFileName: str | None = None
    version: int | None = None
    backupTime: str | None = None
    realParentDir: str | None = None


class FileSnapshot(Piece, frozen=True, kw_only=True):
    """The files as they were at a prompt, by path."""

    messageId: str | None = None
    timestamp: str | None = None
    trackedFileBackups: dict[str, FileBackup] | None = None


class WorktreeSession(Piece, frozen=True, kw_only=True):
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


class Replacement(Piece, frozen=True, kw_only=True):
    """A tool result and the stub that the model saw instead."""

    kind: str | None = None
    toolUseId: str | None = None
    replacement: Any = None


class ErrorCause(Piece, frozen=True, kw_only=True):
    """The network error below an API error."""

    code: str | None = None
    path: str | None = None
    errno: int | None = None


class ErrorDetail(Piece, frozen=True, kw_only=True):
    """The innermost error that the API sent."""

    type: str | None = None
    message: str | None = None
    details: Any = None


class ErrorBody(Piece, frozen=True, kw_only=True):
    """The body of an API error."""

    type: str | None = None
    error: ErrorDetail | None = None
    request_id: str | None = None
    message: str | None = None


class ErrorInfo(Piece, frozen=True, kw_only=True):
    """An API error, serialised by the client; its headers are private."""

    type: str | None = None
    message: str | None = None
    formatted: str | None = None
    status: int | None = None
    headers: dict[str, Any] | None = None
    requestID: str | None = None
    requestId: str | None = None
    error: ErrorBody | None = None
    cause: ErrorCause | None = None
    isNetworkDown: bool | None = None
    connection: Any = None
    noResponse: Any = None
    rateLimits: Any = None


class Permission(Piece, frozen=True, kw_only=True):
    """A call that was not allowed."""

    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_input: dict[str, Any] | None = None


class RateLimit(Piece, frozen=True, kw_only=True):
    """How much of a limit is used, and when it resets."""

    status: str | None = None
    resetsAt: Number | None = None
    rateLimitType: str | None = None
    utilization: Number | None = None
    overageStatus: str | None = None
    overageResetsAt: Number | None = None
    overageDisabledReason: str | None = None
    isUsingOverage: bool | None = None
    overageInUse: bool | None = None
    overageEnabled: bool | None = None
    surpassedThreshold: Number | None = None
    limitScope: str | None = None
    errorCode: str | None = None
    canUserPurchaseCredits: bool | None = None
    hasChargeableSavedPaymentMethod: bool | None = None


class Node(Entry, frozen=True, kw_only=True):
    """A record of the tree: what every line with a parent has."""

    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    sessionId: str | None = None
    session_id: str | None = None
    timestamp: str | Number | None = None
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
    forkedFrom: ForkedFrom | None = None
    subtype: str | None = None
    compactMetadata: CompactMetadata | None = None
    isError: bool | None = None
    isDeleted: bool | None = None
    isAborted: bool | None = None
    is_active: bool | None = None


class State(Entry, frozen=True, kw_only=True):
    """A record outside the tree, often without uuid or time; of most kinds the last one holds."""

    sessionId: str | None = None
    uuid: str | None = None
    timestamp: str | Number | None = None
    agentId: str | None = None


class Frame(Entry, frozen=True, kw_only=True):
    """A line that only a stream has."""

    sessionId: str | None = None
    uuid: str | None = None
    parentToolUseID: str | None = None
    timestamp: str | Number | None = None


class User(Node, frozen=True, kw_only=True):
    """A prompt, a tool result, or something injected in the user's name."""

    type: str = "user"
    message: Prompt | None = None
    toolUseResult: Any = None
    sourceToolAssistantUUID: str | None = None
    sourceToolUseID: str | None = None
    promptId: str | None = None
    promptSource: str | None = None
    permissionMode: str | None = None
    permissionDecision: PermissionDecision | None = None
    origin: Origin | None = None
    turnOrigin: str | None = None
    turnPosition: TurnPosition | None = None
    turnCompanion: bool | None = None
    queuePriority: str | None = None
    queueSkipAttachments: bool | None = None
    isCompactSummary: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    summarizedTurnPromptUuids: list[str] | None = None
    isAtMentionRead: bool | None = None
    isReplay: bool | None = None
    imagePasteIds: list[int] | None = None
    todos: list[Todo] | None = None
    thinkingMetadata: ThinkingMetadata | None = None
    planContent: str | None = None
    mcpMeta: Any = None
    mcpCallNotReadOnly: Any = None
    classifierMetaLines: Any = None
    userFeedback: Any = None
    holdsPersonsWords: bool | None = None
    sandboxed: bool | None = None
    toolDenialKind: str | None = None
    toolEndsTurn: bool | None = None
    interruptedMessageId: str | None = None
    interruptedByShutdown: bool | None = None
    refusedMessageId: str | None = None
    # As a stream has it.
    priority: str | None = None
    shouldQuery: bool | None = None
    client_composed: bool | None = None
    file_attachments: list[Any] | None = None
    pasted_content: list[Any] | None = None
    inline_pastes: list[str] | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    tool_result_meta: list[ToolResultMeta] | None = None
    refused_message_id: str | None = None
    # As the early descriptions have it.
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Content = None
    output: Content = None

    @property
    def blocks(self) -> list[Block]:
        """What was said, as blocks."""
        return _blocks_of(self.message)


class Assistant(Node, frozen=True, kw_only=True):
    """One block, or several, of a model's answer."""

    type: str = "assistant"
    message: Response | None = None
    requestId: str | None = None
    requestRef: str | None = None
    requestedModel: str | None = None
    model: str | None = None
    costUSD: Number | None = None
    durationMs: Number | None = None
    effort: str | None = None
    perTurnEffort: str | None = None
    advisorModel: str | None = None
    apiBlockIndex: int | None = None
    madeBy: str | None = None
    promptCacheRequested: str | None = None
    serverClassifierRequest: str | None = None
    thinkingDisplay: str | None = None
    thinkingDurationMs: Number | None = None
    toolInputStreamMs: Number | None = None
    attributionSkill: str | None = None
    attributionPlugin: str | None = None
    attributionMcpServer: str | None = None
    attributionMcpTool: str | None = None
    attributionAgent: str | None = None
    isAbortedMidStream: bool | None = None
    isApiErrorMessage: bool | None = None
    error: Any = None
    errorDetails: Any = None
    apiError: Any = None
    apiErrorStatus: int | None = None
    apiErrorType: str | None = None
    apiErrorIsTransient: bool | None = None
    failedResponseHadNoToolCall: bool | None = None
    # As a stream has it.
    aborted: bool | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    supersedes: list[str] | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None
    resumed_from_incomplete_thinking: bool | None = None
    thinking_display: str | None = None
    thinking_duration_ms: Number | None = None
    context_usage: ContextUsage | None = None
    usage_report: UsageReport | None = None
    tool_use_meta: list[ToolUseMeta] | None = None
    local_command_run: CommandRun | None = None
    local_command_source: str | None = None
    # As the early descriptions have it.
    id: str | None = None
    name: str | None = None
    input: Any = None
    content: Content = None
    role: str | None = None

    @property
    def blocks(self) -> list[Block]:
        """What was said, as blocks."""
        return _blocks_of(self.message)


class Rendered(Piece, frozen=True, kw_only=True):
    """A text that the model saw."""

    content: Content = None


class Attachment(Node, frozen=True, kw_only=True):
    """Context that the client injected."""

    type: str = "attachment"
    attachment: AnyAttachment = None
    rendered: list[Rendered] | None = None
    renderedInHumanTurn: list[Rendered] | None = None
    renderedRole: str | None = None
    renderedBesideToolResult: bool | None = None


class Progress(Node, frozen=True, kw_only=True):
    """How a running call gets on (2.1.12 to 2.1.81)."""

    type: str = "progress"
    data: AnyProgress = None
    toolUseID: str | None = None


class System(Node, frozen=True, kw_only=True):
    """A notice of the client's own; also every subtype that has no struct of its own."""

    type: str = "system"
    content: str | None = None
    level: str | None = None
    toolUseID: str | None = None


class HookInfo(Piece, frozen=True, kw_only=True):
    """A hook that ran."""

    command: str | None = None
    durationMs: Number | None = None


class PromptEnding(Piece, frozen=True, kw_only=True):
    """How a submitted prompt ended."""

    kind: str | None = None
    reason: str | None = None


class PromptSubmitEnding(Piece, frozen=True, kw_only=True):
    """How a submitted prompt ended, and whether it was kept."""

    ending: PromptEnding | None = None
    promptKept: bool | None = None


class PromptOutcome(Piece, frozen=True, kw_only=True):
    """The same in a stream."""

    kind: str | None = None
    reason: str | None = None
    prompt_kept: bool | None = None


class McpServer(Piece, frozen=True, kw_only=True):
    """An MCP server and its state."""

    name: str | None = None
    status: str | None = None
    source: str | None = None


class Plugin(Piece, frozen=True, kw_only=True):
    """A loaded plugin."""

    name: str | None = None
    path: str | None = None
    source: str | None = None
    version: str | None = None


class PluginError(Piece, frozen=True, kw_only=True):
    """A plugin that did not load."""

    plugin: str | None = None
    type: str | None = None
    message: str | None = None
    path: str | None = None
    managed_lock: dict[str, Any] | None = None


class WorkflowStep(Piece, frozen=True, kw_only=True):
    """A phase or an agent of a running workflow."""

    type: str | None = None
    index: int | None = None
    title: str | None = None
    label: str | None = None
    state: str | None = None
    agentId: str | None = None
    attempt: int | None = None
    model: str | None = None
    phaseIndex: int | None = None
    phaseTitle: str | None = None
    promptFramed: bool | None = None
    promptPreview: str | None = None
    resultPreview: str | None = None
    lastToolName: str | None = None
    lastToolSummary: str | None = None
    tokens: int | None = None
    toolCalls: int | None = None
    durationMs: Number | None = None
    queuedAt: Number | None = None
    startedAt: Number | None = None
    lastProgressAt: Number | None = None


class TaskPatch(Piece, frozen=True, kw_only=True):
    """The fields of a task that changed."""

    status: str | None = None
    description: str | None = None
    error: str | None = None
    end_time: Number | None = None
    total_paused_ms: Number | None = None
    is_backgrounded: bool | None = None


class ResourceLink(Piece, frozen=True, kw_only=True):
    """A resource that an MCP server offers."""

    uri: str | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mimeType: str | None = None
    size: int | None = None
    annotations: dict[str, Any] | None = None


class BackgroundTask(Piece, frozen=True, kw_only=True):
    """A task that runs in the background."""

    task_id: str | None = None
    run_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    parent_task_id: str | None = None
    ambient: bool | None = None


class Command(Piece, frozen=True, kw_only=True):
    """A slash command."""

    name: str | None = None
    description: str | None = None
    argumentHint: str | None = None
    aliases: list[str] | None = None
    builtin: bool | None = None


class PersistedFile(Piece, frozen=True, kw_only=True):
    """A file that was uploaded, or failed to be."""

    filename: str | None = None
    file_id: str | None = None
    error: str | None = None


class Memory(Piece, frozen=True, kw_only=True):
    """A memory file."""

    path: str | None = None
    scope: str | None = None
    content: str | None = None


class MirrorKey(Piece, frozen=True, kw_only=True):
    """The mirrored transcript."""

    projectKey: str | None = None
    sessionId: str | None = None
    subpath: str | None = None


class SystemStopHookSummary(System, frozen=True, kw_only=True):
    """What the Stop hooks did."""

    subtype: str | None = "stop_hook_summary"
    hookCount: int | None = None
    hookInfos: list[HookInfo] | None = None
    hookErrors: list[Any] | None = None
    hookAdditionalContext: list[Any] | None = None
    preventedContinuation: bool | None = None
    stopReason: str | None = None
    hasOutput: bool | None = None


class SystemTurnDuration(System, frozen=True, kw_only=True):
    """How long a turn took."""

    subtype: str | None = "turn_duration"
    durationMs: Number | None = None
    messageCount: int | None = None
    pendingBackgroundAgentCount: int | None = None


class SystemCompactBoundary(System, frozen=True, kw_only=True):
    """Where the context was compacted."""

    subtype: str | None = "compact_boundary"
    # As a stream has it.
    logical_parent_uuid: str | None = None
    # As the early descriptions have it.
    message: Prompt | None = None


class SystemMicrocompactBoundary(System, frozen=True, kw_only=True):
    """Where old tool results were cleared."""

    subtype: str | None = "microcompact_boundary"
    microcompactMetadata: MicrocompactMetadata | None = None


class SystemApiError(System, frozen=True, kw_only=True):
    """A failed request that is tried again."""

    subtype: str | None = "api_error"
    error: ErrorInfo | None = None
    cause: ErrorCause | None = None
    retryInMs: Number | None = None
    retryAttempt: int | None = None
    maxRetries: int | None = None
    source: str | None = None


class SystemAwaySummary(System, frozen=True, kw_only=True):
    """What happened while nobody looked."""

    subtype: str | None = "away_summary"


class SystemLocalCommand(System, frozen=True, kw_only=True):
    """A slash command that the client ran itself, and what it said."""

    subtype: str | None = "local_command"
    commandRun: CommandRun | None = None
    contextUsage: ContextUsage | None = None


class SystemInformational(System, frozen=True, kw_only=True):
    """A notice to the reader."""

    subtype: str | None = "informational"
    preventContinuation: bool | None = None
    promptSubmitEnding: PromptSubmitEnding | None = None
    # As a stream has it.
    tool_use_id: str | None = None
    tag: str | None = None
    prevent_continuation: bool | None = None
    prompt_submit_outcome: PromptOutcome | None = None


class SystemScheduledTaskFire(System, frozen=True, kw_only=True):
    """A scheduled prompt that came due."""

    subtype: str | None = "scheduled_task_fire"


class SystemBridgeStatus(System, frozen=True, kw_only=True):
    """A Remote Control link."""

    subtype: str | None = "bridge_status"
    url: str | None = None


class SystemModelFallback(System, frozen=True, kw_only=True):
    """Another model took over."""

    subtype: str | None = "model_fallback"
    originalModel: str | None = None
    fallbackModel: str | None = None
    trigger: str | None = None
    # As a stream has it.
    original_model: str | None = None
    fallback_model: str | None = None


class SystemModelRefusalFallback(System, frozen=True, kw_only=True):
    """A refused prompt that another model answered."""

    subtype: str | None = "model_refusal_fallback"
    originalModel: str | None = None
    fallbackModel: str | None = None
    requestId: str | None = None
    apiRefusalCategory: str | None = None
    apiRefusalExplanation: str | None = None
    refusedUserMessageUuid: str | None = None
    retractedMessageUuids: list[str] | None = None
    neutralizedByFork: bool | None = None
    trigger: str | None = None
    direction: str | None = None
    scope: str | None = None
    # As a stream has it.
    original_model: str | None = None
    fallback_model: str | None = None
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    retracted_message_uuids: list[str] | None = None


class SystemModelRefusalNoFallback(System, frozen=True, kw_only=True):
    """A refused prompt that no model answered."""

    subtype: str | None = "model_refusal_no_fallback"
    originalModel: str | None = None
    requestId: str | None = None
    apiRefusalCategory: str | None = None
    apiRefusalExplanation: str | None = None
    refusedUserMessageUuid: str | None = None
    neutralizedByFork: bool | None = None
    # As a stream has it.
    original_model: str | None = None
    request_id: str | None = None
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None


class SystemFileSnapshot(System, frozen=True, kw_only=True):
    """The files as they were."""

    subtype: str | None = "file_snapshot"
    snapshotFiles: Any = None


class SystemCodeChangePublished(System, frozen=True, kw_only=True):
    """A commit or pull request that went out."""

    subtype: str | None = "code_change_published"
    provider: str | None = None
    repo: str | None = None
    branch: str | None = None
    identifier: str | None = None
    url: str | None = None
    action: str | None = None


class SystemInit(System, frozen=True, kw_only=True):
    """How the client was set up, once a turn."""

    subtype: str | None = "init"
    tools: list[str] | None = None
    mcp_servers: list[McpServer] | None = None
    model: str | None = None
    permissionMode: str | None = None
    slash_commands: list[str] | None = None
    terminal_slash_commands: list[str] | None = None
    apiKeySource: str | None = None
    claude_code_version: str | None = None
    output_style: str | None = None
    agents: list[str] | None = None
    skills: list[str] | None = None
    plugins: list[Plugin] | None = None
    plugin_errors: list[PluginError] | None = None
    mcp_server_errors: list[Any] | None = None
    betas: list[str] | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    memory_paths: dict[str, Any] | None = None
    analytics_disabled: bool | None = None
    product_feedback_disabled: bool | None = None
    capabilities: list[str] | None = None
    view_mode: str | None = None
    effort: str | None = None
    per_turn_effort_active: bool | None = None
    ultrathink_available: bool | None = None
    ultrathink_typed_raises: bool | None = None
    additional_directories: list[str] | None = None
    original_cwd: str | None = None
    messaging_socket_path: str | None = None


class SystemHookStarted(System, frozen=True, kw_only=True):
    """A hook that began."""

    subtype: str | None = "hook_started"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None


class SystemHookProgress(System, frozen=True, kw_only=True):
    """What a running hook has printed."""

    subtype: str | None = "hook_progress"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None


class SystemHookResponse(System, frozen=True, kw_only=True):
    """What a hook answered."""

    subtype: str | None = "hook_response"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None


class SystemStatus(System, frozen=True, kw_only=True):
    """What the client is doing."""

    subtype: str | None = "status"
    status: str | None = None
    permissionMode: str | None = None
    compact_result: str | None = None
    compact_error: str | None = None
    compact_output_chars: int | None = None


class SystemApiRetry(System, frozen=True, kw_only=True):
    """A failed request that is tried again, in a stream."""

    subtype: str | None = "api_retry"
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error: str | None = None
    error_status: int | None = None
    no_response: dict[str, Any] | None = None


class SystemNotification(System, frozen=True, kw_only=True):
    """A notice for the screen."""

    subtype: str | None = "notification"
    key: str | None = None
    text: str | None = None
    priority: str | None = None
    color: str | None = None
    timeout_ms: Number | None = None


class SystemTaskStarted(System, frozen=True, kw_only=True):
    """A background task that began."""

    subtype: str | None = "task_started"
    task_id: str | None = None
    run_id: str | None = None
    tool_use_id: str | None = None
    task_type: str | None = None
    description: str | None = None
    prompt: str | None = None
    subagent_type: str | None = None
    workflow_name: str | None = None
    parent_task_id: str | None = None
    spawn_depth: int | None = None
    is_backgrounded: bool | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class SystemTaskProgress(System, frozen=True, kw_only=True):
    """How a background task gets on."""

    subtype: str | None = "task_progress"
    task_id: str | None = None
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    last_tool_name: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    workflow_progress: list[WorkflowStep] | None = None


class SystemTaskUpdated(System, frozen=True, kw_only=True):
    """What changed in a background task."""

    subtype: str | None = "task_updated"
    task_id: str | None = None
    run_id: str | None = None
    patch: TaskPatch | None = None


class SystemTaskNotification(System, frozen=True, kw_only=True):
    """A background task that ended."""

    subtype: str | None = "task_notification"
    task_id: str | None = None
    run_id: str | None = None
    tool_use_id: str | None = None
    status: str | None = None
    reason: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    resource_links: list[ResourceLink] | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class SystemBackgroundTasksChanged(System, frozen=True, kw_only=True):
    """The background tasks that are left."""

    subtype: str | None = "background_tasks_changed"
    tasks: list[BackgroundTask] | None = None


class SystemThinkingTokens(System, frozen=True, kw_only=True):
    """How much the model has thought so far."""

    subtype: str | None = "thinking_tokens"
    estimated_tokens: int | None = None
    estimated_tokens_delta: int | None = None
    user_message_uuid: str | None = None


class SystemSessionStateChanged(System, frozen=True, kw_only=True):
    """Whether the session works or waits."""

    subtype: str | None = "session_state_changed"
    state: str | None = None


class SystemCommandsChanged(System, frozen=True, kw_only=True):
    """The slash commands there are."""

    subtype: str | None = "commands_changed"
    commands: list[Command] | None = None


class SystemFilesPersisted(System, frozen=True, kw_only=True):
    """Files that were uploaded."""

    subtype: str | None = "files_persisted"
    files: list[PersistedFile] | None = None
    failed: list[PersistedFile] | None = None
    processed_at: str | None = None


class SystemMemoryRecall(System, frozen=True, kw_only=True):
    """Memories that were brought in."""

    subtype: str | None = "memory_recall"
    mode: str | None = None
    memories: list[Memory] | None = None


class SystemElicitationComplete(System, frozen=True, kw_only=True):
    """A question of an MCP server that was answered."""

    subtype: str | None = "elicitation_complete"
    mcp_server_name: str | None = None
    elicitation_id: str | None = None


class SystemPermissionDenied(System, frozen=True, kw_only=True):
    """A call that was not allowed."""

    subtype: str | None = "permission_denied"
    tool_name: str | None = None
    tool_use_id: str | None = None
    agent_id: str | None = None
    decision_reason_type: str | None = None
    decision_reason: str | None = None
    message: str | None = None


class SystemLocalCommandOutput(System, frozen=True, kw_only=True):
    """What a slash command said, in a stream."""

    subtype: str | None = "local_command_output"


class SystemPluginInstall(System, frozen=True, kw_only=True):
    """How the installing of a plugin gets on."""

    subtype: str | None = "plugin_install"
    status: str | None = None
    name: str | None = None
    error: str | None = None


class SystemMirrorError(System, frozen=True, kw_only=True):
    """A transcript that could not be mirrored."""

    subtype: str | None = "mirror_error"
    error: str | None = None
    key: MirrorKey | None = None


class SystemWorkerShuttingDown(System, frozen=True, kw_only=True):
    """A remote worker that stops."""

    subtype: str | None = "worker_shutting_down"
    reason: str | None = None


class SystemSessionWritesLost(System, frozen=True, kw_only=True):
    """Writes that a full disk swallowed."""

    subtype: str | None = "session_writes_lost"
    error_code: str | None = None
    lost: list[str] | None = None
    transcript_session_ids: list[str] | None = None


class SystemControlRequestProgress(System, frozen=True, kw_only=True):
    """How a control request gets on."""

    subtype: str | None = "control_request_progress"
    request_id: str | None = None
    status: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = None


class ThinkingConfig(Piece, frozen=True, kw_only=True):
    """How much thinking was asked for."""

    type: str | None = None
    display: str | None = None
    budget_tokens: int | None = None


class RequestParams(Piece, frozen=True, kw_only=True):
    """What a request asked of the API."""

    model: str | None = None
    max_tokens: int | None = None
    betas: list[str] | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    context_management: dict[str, Any] | None = None
    temperature: Number | None = None
    tool_choice: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    speed: str | None = None
    stop_sequences: list[str] | None = None


class CacheMark(Piece, frozen=True, kw_only=True):
    """Where a request asked for caching."""

    path: list[Any] | None = None
    value: dict[str, Any] | None = None


class ToolDefinition(Piece, frozen=True, kw_only=True):
    """A tool as the model was told of it."""

    type: str | None = None
    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    schema: dict[str, Any] | None = None
    server: str | None = None
    defer_loading: bool | None = None


class RequestShape(Piece, frozen=True, kw_only=True):
    """The parts that many requests share."""

    system: Content = None
    tools: list[ToolDefinition] | None = None


class Summary(State, frozen=True, kw_only=True):
    """The title of another session, by a leaf of it."""

    type: str = "summary"
    summary: str | None = None
    leafUuid: str | None = None


class FileHistorySnapshot(State, frozen=True, kw_only=True):
    """The files as they were at a prompt."""

    type: str = "file-history-snapshot"
    messageId: str | None = None
    snapshot: FileSnapshot | None = None
    isSnapshotUpdate: bool | None = None


class FileHistoryDelta(State, frozen=True, kw_only=True):
    """One more file in a snapshot."""

    type: str = "file-history-delta"
    messageId: str | None = None
    snapshotMessageId: str | None = None
    trackingPath: str | None = None
    backup: FileBackup | None = None


class QueueOperation(State, frozen=True, kw_only=True):
    """Input that was queued, or left the queue."""

    type: str = "queue-operation"
    operation: str | None = None
    content: Content = None
    reason: str | None = None
    commandUuid: str | None = None
    deliveryId: str | None = None


class LastPrompt(State, frozen=True, kw_only=True):
    """The last prompt and the leaf of the active branch."""

    type: str = "last-prompt"
    lastPrompt: str | None = None
    leafUuid: str | None = None
    explicit: bool | None = None
    rewound: bool | None = None


class AiTitle(State, frozen=True, kw_only=True):
    """A title that a model gave."""

    type: str = "ai-title"
    aiTitle: str | None = None


class CustomTitle(State, frozen=True, kw_only=True):
    """A title that a person gave; empty clears it."""

    type: str = "custom-title"
    customTitle: str | None = None


class Tag(State, frozen=True, kw_only=True):
    """A label; empty clears it."""

    type: str = "tag"
    tag: str | None = None


class AgentName(State, frozen=True, kw_only=True):
    """The name of a session or teammate."""

    type: str = "agent-name"
    agentName: str | None = None


class AgentColor(State, frozen=True, kw_only=True):
    """The colour of a session or teammate."""

    type: str = "agent-color"
    agentColor: str | None = None


class AgentSetting(State, frozen=True, kw_only=True):
    """The agent that a session runs as."""

    type: str = "agent-setting"
    agentSetting: Any = None


class Mode(State, frozen=True, kw_only=True):
    """Normal, or coordinating."""

    type: str = "mode"
    mode: str | None = None


class PermissionMode(State, frozen=True, kw_only=True):
    """What is allowed without asking."""

    type: str = "permission-mode"
    permissionMode: str | None = None


class SessionMode(State, frozen=True, kw_only=True):
    """The kind of session."""

    type: str = "session-mode"
    sessionMode: str | None = None


class PrLink(State, frozen=True, kw_only=True):
    """A pull request of this session."""

    type: str = "pr-link"
    prNumber: int | None = None
    prUrl: str | None = None
    prRepository: str | None = None


class BridgeSession(State, frozen=True, kw_only=True):
    """A Remote Control link."""

    type: str = "bridge-session"
    bridgeSessionId: str | None = None
    lastSequenceNum: int | None = None
    declaredDialogKinds: list[Any] | None = None
    sessionGroupingId: str | None = None


class FrameLink(State, frozen=True, kw_only=True):
    """A published artifact."""

    type: str = "frame-link"
    path: str | None = None
    frameUrl: str | None = None
    title: str | None = None


class AtisLatch(State, frozen=True, kw_only=True):
    """A latch of the client's own, usually empty."""

    type: str = "atis-latch"
    atis: str | None = None


class IsolationLatch(State, frozen=True, kw_only=True):
    """A latch of the client's own."""

    type: str = "isolation-latch"
    side: str | None = None


class WorktreeState(State, frozen=True, kw_only=True):
    """The worktree that a session is in, or none."""

    type: str = "worktree-state"
    worktreeSession: WorktreeSession | None = None


class Relocated(State, frozen=True, kw_only=True):
    """The folder that a session moved to."""

    type: str = "relocated"
    relocatedCwd: str | None = None


class CostState(State, frozen=True, kw_only=True):
    """What the session has cost so far; cumulative."""

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


class ContentReplacement(State, frozen=True, kw_only=True):
    """Tool results that the model saw as stubs."""

    type: str = "content-replacement"
    replacements: list[Replacement] | None = None


class ForkContextRef(State, frozen=True, kw_only=True):
    """Where the beginning of a forked agent stands."""

    type: str = "fork-context-ref"
    parentSessionId: str | None = None
    parentLastUuid: str | None = None
    contextLength: int | None = None


class ContinuedIn(State, frozen=True, kw_only=True):
    """The session that goes on with this one."""

    type: str = "continued-in"
    continuedInSessionId: str | None = None


class SpeculationAccept(State, frozen=True, kw_only=True):
    """A guess that saved time."""

    type: str = "speculation-accept"
    timeSavedMs: Number | None = None


class MarbleOrigamiCommit(State, frozen=True, kw_only=True):
    """A span of the context that a summary replaced."""

    type: str = "marble-origami-commit"
    collapseId: str | None = None
    summaryUuid: str | None = None
    summaryContent: str | None = None
    summary: str | None = None
    firstArchivedUuid: str | None = None
    lastArchivedUuid: str | None = None


class AgentMetadata(State, frozen=True, kw_only=True):
    """An agent's sidecar, as an entry of a store."""

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


class Launched(State, frozen=True, kw_only=True):
    """The first line of a workflow's journal, which is no transcript."""

    type: str = "launched"


class Started(State, frozen=True, kw_only=True):
    """An agent of a workflow's journal that began."""

    type: str = "started"
    key: str | None = None
    label: str | None = None
    phase: str | None = None


class ApiRequest(State, frozen=True, kw_only=True):
    """A request as it was sent, as a change to the one before."""

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


class ApiRequestBlob(State, frozen=True, kw_only=True):
    """A message of a request, by its hash: a copy, not part of the conversation."""

    type: str = "api-request-blob"
    hash: str | None = None
    message: Prompt | None = None


class ApiRequestShape(State, frozen=True, kw_only=True):
    """The system prompt and tools of requests, by their hash."""

    type: str = "api-request-shape"
    shapeHash: str | None = None
    shape: RequestShape | None = None
    version: str | None = None


class ToolsUsed(State, frozen=True, kw_only=True):
    """The tools that a session has used."""

    type: str = "tools-used"
    tools: list[str] | None = None


class Output(State, frozen=True, kw_only=True):
    """A captured line that was no message."""

    type: str = "output"
    id: str | None = None
    conversationId: str | None = None
    raw: str | None = None
    end: str | None = None
    stream: str | None = None
    costUSD: Number | None = None
    durationMs: Number | None = None


class DeferredToolUse(Piece, frozen=True, kw_only=True):
    """A call that waits."""

    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class SubagentStats(Piece, frozen=True, kw_only=True):
    """How many agents a turn started, and what became of them."""

    by_type: dict[str, int] | None = None
    spawned: int | None = None
    spawned_by_subagents: int | None = None
    started_in_background: int | None = None
    completed: int | None = None
    failed: int | None = None
    max_depth: int | None = None
    killed: dict[str, int] | None = None
    refused: dict[str, int] | None = None
    requested: dict[str, int] | None = None


class Goal(Piece, frozen=True, kw_only=True):
    """What a session is to reach."""

    condition: str | None = None
    iterations: int | None = None
    set_at: Number | None = None
    tokens_at_start: int | None = None
    last_reason: str | None = None


class Delta(Piece, frozen=True, kw_only=True):
    """What a block or message gained."""

    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    estimated_tokens: int | None = None
    citation: dict[str, Any] | None = None
    content: str | None = None
    encrypted_content: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: StopDetails | None = None
    container: Container | None = None


class Result(Frame, frozen=True, kw_only=True):
    """The end of a turn: what it said, took and cost. In a workflow's journal: an agent's answer."""

    type: str = "result"
    subtype: str | None = None
    is_error: bool | None = None
    result: Any = None
    errors: list[str] | None = None
    num_turns: int | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    duration_ms: Number | None = None
    duration_api_ms: Number | None = None
    total_cost_usd: Number | None = None
    usage: Usage | None = None
    modelUsage: dict[str, ModelUsage] | None = None
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    permission_denials: list[Permission] | None = None
    structured_output: Any = None
    deferred_tool_use: DeferredToolUse | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    local_command: str | None = None
    origin: Origin | None = None
    result_index: int | None = None
    queued_turn_count: int | None = None
    safety_stops: int | None = None
    subagent_stats: SubagentStats | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    startup_failure_reason: Any = None
    invalid_config_file: dict[str, Any] | None = None
    credential_expires_at: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None
    ttft_ms: Number | None = None
    ttft_stream_ms: Number | None = None
    time_to_request_ms: Number | None = None
    time_to_request_from_spawn_ms: Number | None = None
    request_sent_wall_ms: Number | None = None
    first_content_frame_ms: Number | None = None
    first_stream_post_ms: Number | None = None
    first_stream_post_ack_ms: Number | None = None
    first_stream_post_queue_wait_ms: Number | None = None
    first_stream_post_queued_behind: str | None = None
    first_stream_post_wall_ms: Number | None = None
    first_text_post_ms: Number | None = None
    first_text_post_queue_wait_ms: Number | None = None
    first_text_post_queued_behind: str | None = None
    first_text_post_wall_ms: Number | None = None
    time_origin_ms: Number | None = None
    warm_spare_claimed: bool | None = None
    key: str | None = None
    agentId: str | None = None
    toolsUsed: list[str] | None = None
    remoteControlDeviceReport: Any = None


class StreamEvent(Frame, frozen=True, kw_only=True):
    """A piece of a message in progress."""

    type: str = "stream_event"
    event: AnyEvent = None
    api_message_id: str | None = None
    ttft_ms: Number | None = None
    thinking_display: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None


class RateLimitEvent(Frame, frozen=True, kw_only=True):
    """A limit that is near or reached."""

    type: str = "rate_limit_event"
    rate_limit_info: RateLimit | None = None


class ToolProgress(Frame, frozen=True, kw_only=True):
    """How a running call gets on."""

    type: str = "tool_progress"
    tool_use_id: str | None = None
    tool_name: str | None = None
    elapsed_time_seconds: Number | None = None
    task_id: str | None = None
    heartbeat: bool | None = None
    subagent_type: str | None = None
    subagent_retry: dict[str, Any] | None = None


class ToolUseSummary(Frame, frozen=True, kw_only=True):
    """What some calls did, in a sentence."""

    type: str = "tool_use_summary"
    summary: str | None = None
    preceding_tool_use_ids: list[str] | None = None


class AuthStatus(Frame, frozen=True, kw_only=True):
    """How logging in gets on."""

    type: str = "auth_status"
    isAuthenticating: bool | None = None
    output: list[str] | None = None
    error: str | None = None


class PromptSuggestion(Frame, frozen=True, kw_only=True):
    """What a person might ask next."""

    type: str = "prompt_suggestion"
    suggestion: str | None = None


class ConversationReset(Frame, frozen=True, kw_only=True):
    """A new conversation in the same process."""

    type: str = "conversation_reset"
    new_conversation_id: str | None = None
    trigger: str | None = None
    user_message_uuid: str | None = None


class ActiveGoal(Frame, frozen=True, kw_only=True):
    """The goal that is pursued, or none."""

    type: str = "active_goal"
    value: Goal | None = None


class KeepAlive(Frame, frozen=True, kw_only=True):
    """A sign of life."""

    type: str = "keep_alive"


class ControlRequest(Frame, frozen=True, kw_only=True):
    """A question of one side to the other; its kinds are many and no part of a transcript."""

    type: str = "control_request"
    request_id: str | None = None
    request: dict[str, Any] | None = None


class ControlResponse(Frame, frozen=True, kw_only=True):
    """The answer to it."""

    type: str = "control_response"
    response: dict[str, Any] | None = None


class ControlCancelRequest(Frame, frozen=True, kw_only=True):
    """A question taken back."""

    type: str = "control_cancel_request"
    request_id: str | None = None


class StreamlinedText(Frame, frozen=True, kw_only=True):
    """Text in a shortened stream."""

    type: str = "streamlined_text"
    text: str | None = None


class StreamlinedToolUseSummary(Frame, frozen=True, kw_only=True):
    """Calls in a shortened stream."""

    type: str = "streamlined_tool_use_summary"
    tool_summary: str | None = None


class TranscriptMirror(Frame, frozen=True, kw_only=True):
    """Records of the transcript, as they are written."""

    type: str = "transcript_mirror"
    filePath: str | None = None
    entries: NestedEntry = None


class MessageStartEvent(EventPayload, frozen=True, kw_only=True):
    """A message begins."""

    type: str = "message_start"
    message: Response | None = None


class ContentBlockStartEvent(EventPayload, frozen=True, kw_only=True):
    """A block begins."""

    type: str = "content_block_start"
    index: int | None = None
    content_block: Content = None


class ContentBlockDeltaEvent(EventPayload, frozen=True, kw_only=True):
    """A block grows."""

    type: str = "content_block_delta"
    index: int | None = None
    delta: Delta | None = None


class ContentBlockStopEvent(EventPayload, frozen=True, kw_only=True):
    """A block is complete."""

    type: str = "content_block_stop"
    index: int | None = None


class MessageDeltaEvent(EventPayload, frozen=True, kw_only=True):
    """The message's end and its final usage."""

    type: str = "message_delta"
    delta: Delta | None = None
    usage: Usage | None = None
    context_management: ContextManagement | None = None
    input_transformations: list[InputTransformation] | None = None


class MessageStopEvent(EventPayload, frozen=True, kw_only=True):
    """A message is complete."""

    type: str = "message_stop"


class PingEvent(EventPayload, frozen=True, kw_only=True):
    """A sign of life of the API."""

    type: str = "ping"


class ErrorEvent(EventPayload, frozen=True, kw_only=True):
    """The API broke off."""

    type: str = "error"
    error: ErrorDetail | None = None


class BlockingError(Piece, frozen=True, kw_only=True):
    """What a hook objected to."""

    blockingError: str | None = None
    command: str | None = None


class QueuedUsage(Piece, frozen=True, kw_only=True):
    """What the notified task used."""

    totalTokens: int | None = None
    toolUses: int | None = None
    durationMs: Number | None = None


class Dimensions(Piece, frozen=True, kw_only=True):
    """The size of an image."""

    originalWidth: int | None = None
    originalHeight: int | None = None
    displayWidth: int | None = None
    displayHeight: int | None = None


class ReadFile(Piece, frozen=True, kw_only=True):
    """A file as it was read."""

    filePath: str | None = None
    content: str | None = None
    numLines: int | None = None
    startLine: int | None = None
    totalLines: int | None = None
    truncatedByTokenCap: bool | None = None
    base64: str | None = None
    type: str | None = None
    originalSize: int | None = None
    dimensions: Dimensions | None = None
    cells: list[Any] | None = None
    count: int | None = None
    outputDir: str | None = None


class FileContent(Piece, frozen=True, kw_only=True):
    """What reading a file gave."""

    type: str | None = None
    file: ReadFile | None = None


class Framing(Piece, frozen=True, kw_only=True):
    """How a saved copy is wrapped."""

    enveloped: bool | None = None


class Instruction(Piece, frozen=True, kw_only=True):
    """A memory file in force."""

    path: str | None = None
    type: str | None = None
    content: str | None = None


class Environment(Piece, frozen=True, kw_only=True):
    """Machine, shell and folders."""

    workingDirectory: str | None = None
    additionalWorkingDirectories: list[str] | None = None
    isGitRepo: bool | None = None
    isWorktree: bool | None = None
    platform: str | None = None
    shell: str | None = None
    osVersion: str | None = None


class EnvironmentChange(Piece, frozen=True, kw_only=True):
    """A fact of the environment that changed."""

    from_: Any = field(default=None, name="from")
    to: Any = None
    field: str | None = None


class ModelIdentity(Piece, frozen=True, kw_only=True):
    """A model's name and knowledge."""

    modelId: str | None = None
    marketingName: str | None = None
    knowledgeCutoff: str | None = None


class HookAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What every hook's note has."""

    hookName: str | None = None
    hookEvent: str | None = None
    toolUseID: str | None = None


class HookSuccessAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that went well."""

    type: str = "hook_success"
    content: str | list[str] | None = None
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
    command: str | None = None
    durationMs: Number | None = None


class HookAdditionalContextAttachment(HookAttachment, frozen=True, kw_only=True):
    """Context that a hook added."""

    type: str = "hook_additional_context"
    content: str | list[str] | None = None


class HookSystemMessageAttachment(HookAttachment, frozen=True, kw_only=True):
    """A notice that a hook gave."""

    type: str = "hook_system_message"
    content: str | list[str] | None = None


class HookBlockingErrorAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that stopped a call."""

    type: str = "hook_blocking_error"
    blockingError: BlockingError | None = None


class HookNonBlockingErrorAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that failed without consequence."""

    type: str = "hook_non_blocking_error"
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None
    command: str | None = None
    durationMs: Number | None = None


class HookStoppedContinuationAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that ended the turn."""

    type: str = "hook_stopped_continuation"
    message: str | None = None


class HookCancelledAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that was cancelled."""

    type: str = "hook_cancelled"


class HookDeferredToolAttachment(HookAttachment, frozen=True, kw_only=True):
    """A call that a hook put off."""

    type: str = "hook_deferred_tool"


class HookErrorDuringExecutionAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that broke."""

    type: str = "hook_error_during_execution"


class HookPermissionDecisionAttachment(HookAttachment, frozen=True, kw_only=True):
    """A hook that allowed or refused a call."""

    type: str = "hook_permission_decision"


class AsyncHookResponseAttachment(HookAttachment, frozen=True, kw_only=True):
    """What a hook in the background answered."""

    type: str = "async_hook_response"
    processId: str | None = None
    response: Any = None
    stdout: str | None = None
    stderr: str | None = None
    exitCode: int | None = None


class QueuedCommandAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What was typed, or notified, while a turn ran."""

    type: str = "queued_command"
    prompt: Content = None
    commandMode: str | None = None
    timestamp: str | Number | None = None
    origin: Origin | None = None
    source_uuid: str | None = None
    delivery_id: str | None = None
    imagePasteIds: list[int] | None = None
    isMeta: bool | None = None
    humanTurn: bool | None = None
    runId: str | None = None
    usage: QueuedUsage | None = None


class TotalTokensReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """How much context is left."""

    type: str = "total_tokens_reminder"
    text: str | None = None


class SilentTurnReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A nudge to say something."""

    type: str = "silent_turn_reminder"
    text: str | None = None


class TaskReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The open tasks."""

    type: str = "task_reminder"
    content: Any = None
    itemCount: int | None = None


class TodoReminderAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The open to-dos."""

    type: str = "todo_reminder"
    content: Any = None
    itemCount: int | None = None


class DeferredToolsDeltaAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Tools that can be searched for, as a change."""

    type: str = "deferred_tools_delta"
    addedNames: list[str] | None = None
    addedLines: list[str] | None = None
    removedNames: list[str] | None = None
    readdedNames: list[str] | None = None
    wireHiddenNames: list[str] | None = None
    pendingMcpServers: list[Any] | None = None
    needsAuthMcpServers: list[Any] | None = None
    failedMcpServers: list[Any] | None = None


class DeferredToolsRecordAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Tools that were loaded."""

    type: str = "deferred_tools_record"
    entries: list[ToolDefinition] | None = None


class SkillListingAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The skills there are."""

    type: str = "skill_listing"
    content: str | None = None
    skillCount: int | None = None
    isInitial: bool | None = None
    names: list[str] | None = None
    digests: list[str] | None = None


class InvokedSkillsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The skills that were used."""

    type: str = "invoked_skills"
    skills: list[Any] | None = None


class AgentListingDeltaAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The agent types there are, as a change."""

    type: str = "agent_listing_delta"
    addedTypes: list[str] | None = None
    addedLines: list[str] | None = None
    removedTypes: list[str] | None = None
    builtInTypes: list[str] | None = None
    builtInPluginTypes: list[str] | None = None
    isInitial: bool | None = None
    showConcurrencyNote: bool | None = None


class McpInstructionsDeltaAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What MCP servers say of themselves, as a change."""

    type: str = "mcp_instructions_delta"
    addedNames: list[str] | None = None
    addedBlocks: list[str] | None = None
    removedNames: list[str] | None = None


class StructuredOutputAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """An answer in a given shape."""

    type: str = "structured_output"
    data: Any = None
    toolUseID: str | None = None


class AutoModeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """How auto mode is set."""

    type: str = "auto_mode"
    autoModeConsentFlow: bool | None = None
    bashFirst: bool | None = None
    bashFirstSteer: str | None = None
    steerOnly: bool | None = None
    bypass: bool | None = None
    finishExposedWork: bool | None = None


class PlanModeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Plan mode is on."""

    type: str = "plan_mode"
    reminderType: str | None = None
    isSubAgent: bool | None = None
    planFilePath: str | None = None
    planExists: bool | None = None


class PlanModeExitAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Plan mode is off."""

    type: str = "plan_mode_exit"
    planFilePath: str | None = None
    planExists: bool | None = None


class UltraEffortEnterAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Greatest effort is on."""

    type: str = "ultra_effort_enter"
    reminderType: str | None = None


class CommandPermissionsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What a command may use."""

    type: str = "command_permissions"
    allowedTools: list[str] | None = None


class UnknownCommandFallbackAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A slash command that does not exist."""

    type: str = "unknown_command_fallback"
    commandName: str | None = None
    availableCommandCount: int | None = None
    availableCommandNames: list[str] | None = None


class FileAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file that was mentioned."""

    type: str = "file"
    filename: str | None = None
    displayPath: str | None = None
    content: FileContent | None = None
    savedCopyFraming: Framing | None = None


class DirectoryAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A folder that was mentioned."""

    type: str = "directory"
    path: str | None = None
    displayPath: str | None = None
    content: str | None = None


class CompactFileReferenceAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file too large to bring back after a compaction."""

    type: str = "compact_file_reference"
    filename: str | None = None
    displayPath: str | None = None


class EditedTextFileAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file that changed on disk."""

    type: str = "edited_text_file"
    filename: str | None = None
    snippet: str | None = None


class NestedMemoryAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A memory file of a subfolder."""

    type: str = "nested_memory"
    path: str | None = None
    displayPath: str | None = None
    content: Any = None


class InstructionsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The memory files in force."""

    type: str = "instructions"
    files: list[Instruction] | None = None


class OpenedFileInIdeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The file open in the editor."""

    type: str = "opened_file_in_ide"
    filename: str | None = None


class SelectedLinesInIdeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What is selected in the editor."""

    type: str = "selected_lines_in_ide"
    ideName: str | None = None
    lineStart: int | None = None
    lineEnd: int | None = None
    filename: str | None = None
    content: str | None = None
    displayPath: str | None = None


class DiagnosticsAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What the editor's checkers say."""

    type: str = "diagnostics"
    files: list[Any] | None = None
    isNew: bool | None = None


class ReadTruncationNoticeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A file that was read in part."""

    type: str = "read_truncation_notice"
    banner: str | None = None
    toolUseID: str | None = None


class MaxTurnsReachedAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The turn limit."""

    type: str = "max_turns_reached"
    maxTurns: int | None = None
    turnCount: int | None = None
    exitCommitted: bool | None = None


class BudgetUsdAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The budget."""

    type: str = "budget_usd"
    used: Number | None = None
    total: Number | None = None
    remaining: Number | None = None


class DateAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Today."""

    type: str = "date"
    date: str | None = None


class DateChangeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """A new day."""

    type: str = "date_change"
    newDate: str | None = None


class EnvironmentAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """Where the session runs."""

    type: str = "environment"
    snapshot: Environment | None = None
    changes: list[EnvironmentChange] | None = None


class ModelAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The model that is asked."""

    type: str = "model"
    identity: ModelIdentity | None = None
    text: str | None = None


class PromptSnapshotAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """The system prompt and the tools."""

    type: str = "prompt_snapshot"
    systemPrompt: str | list[str] | None = None
    tools: list[ToolDefinition] | None = None
    cliPrefix: str | None = None
    contextRendering: str | None = None
    echoWireToolInputs: bool | None = None
    inlineTools: bool | None = None
    keptReminders: bool | None = None
    reminderFold: bool | None = None
    systemTurns: bool | None = None
    toolChangeHeader: bool | None = None


class SessionContextAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """What is known of the project."""

    type: str = "session_context"
    context: dict[str, Any] | None = None


class RemoteSessionChangeAttachment(AttachmentPayload, frozen=True, kw_only=True):
    """How to sign commits and pull requests."""

    type: str = "remote_session_change"
    commit: str | None = None
    pr: str | None = None
    url: str | None = None
    managedCommit: bool | None = None
    managedPr: bool | None = None
    sendUserFileHint: bool | None = None


class BashProgress(ProgressPayload, frozen=True, kw_only=True):
    """What a command has printed so far."""

    type: str = "bash_progress"
    output: str | None = None
    fullOutput: str | None = None
    elapsedTimeSeconds: Number | None = None
    totalLines: int | None = None
    totalBytes: int | None = None
    timeoutMs: Number | None = None
    taskId: str | None = None


class HookProgress(ProgressPayload, frozen=True, kw_only=True):
    """A hook that runs."""

    type: str = "hook_progress"
    hookEvent: str | None = None
    hookName: str | None = None
    command: str | None = None


class AgentProgress(ProgressPayload, frozen=True, kw_only=True):
    """A message of a running agent."""

    type: str = "agent_progress"
    message: NestedEntry = None
    normalizedMessages: NestedEntry = None
    prompt: str | None = None
    agentId: str | None = None

    @property
    def entry(self) -> Entry:
        """The agent's own record."""
        return to_entry(self.message)


class McpProgress(ProgressPayload, frozen=True, kw_only=True):
    """How an MCP call gets on."""

    type: str = "mcp_progress"
    status: str | None = None
    serverName: str | None = None
    toolName: str | None = None
    elapsedTimeMs: Number | None = None


class QueryUpdateProgress(ProgressPayload, frozen=True, kw_only=True):
    """What is searched for."""

    type: str = "query_update"
    query: str | None = None


class SearchResultsReceivedProgress(ProgressPayload, frozen=True, kw_only=True):
    """How much a search found."""

    type: str = "search_results_received"
    resultCount: int | None = None
    query: str | None = None


class WaitingForTaskProgress(ProgressPayload, frozen=True, kw_only=True):
    """What is waited for."""

    type: str = "waiting_for_task"
    taskDescription: str | None = None
    taskType: str | None = None


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

BARE_SYSTEMS = (
    "agents_killed",
    "attribution_snapshot",
    "memory_saved",
    "permission_retry",
    "post_turn_summary",
    "thinking",
    "vcs_state_changed",
)
"""System subtypes known by name only."""

BARE_ATTACHMENTS = (
    "agent_mention",
    "already_read_file",
    "async_hook_response_batch",
    "auto_mode_exit",
    "bash_output_audience_note",
    "batching_reminder",
    "batching_reminder_sent",
    "companion_intro",
    "cowork_memory_context",
    "dir_sync_notice",
    "fork_briefing",
    "goal_status",
    "language",
    "output_style",
    "output_style_instructions",
    "peer_mention",
    "plan_mode_reentry",
    "poll_events",
    "relevant_memories",
    "sandbox_instructions",
    "secondary_reminder",
    "task_status",
    "team_context",
    "teammate_mailbox",
    "thinking_drop",
    "thinking_stripped",
    "tool_host_result_lines",
    "tool_search_usage_reminder",
    "ultra_effort_exit",
    "ultrathink_effort",
    "workflow_size_guideline_change",
)
"""Attachment types known by name only."""

RECORDS: dict[str, type[Entry]] = {
    **dict.fromkeys(BARE_STATES, State),
    **{kind().type: kind for kind in (User, Assistant, System, Attachment, Progress)},
    **{kind().type: kind for kind in (*State.__subclasses__(), *Frame.__subclasses__())},
}
"""Every record type."""

SYSTEMS: dict[str, type[System]] = {
    **dict.fromkeys(BARE_SYSTEMS, System),
    **{str(kind().subtype): kind for kind in System.__subclasses__()},
}
"""Every subtype of system records."""

ATTACHMENTS: dict[str, type[AttachmentPayload]] = {
    **dict.fromkeys(BARE_ATTACHMENTS, AttachmentPayload),
    **{kind().type: kind for kind in AttachmentPayload.__subclasses__() if kind is not HookAttachment},
    **{kind().type: kind for kind in HookAttachment.__subclasses__()},
}
"""Every type of attachment."""

PROGRESS: dict[str, type[ProgressPayload]] = {kind().type: kind for kind in ProgressPayload.__subclasses__()}
"""Every type of progress."""

EVENTS: dict[str, type[EventPayload]] = {kind().type: kind for kind in EventPayload.__subclasses__()}
"""Every type of stream event."""

PAYLOADS: dict[type[Entry], tuple[str, Mapping[str, type[Struct]]]] = {
    Attachment: ("attachment", ATTACHMENTS),
    Progress: ("data", PROGRESS),
    StreamEvent: ("event", EVENTS),
}
"""Where a record carries a payload, and the types it may have."""

FAMILIES: dict[str, Mapping[str, type[Struct]]] = {
    "attachment": ATTACHMENTS,
    "block": BLOCKS,
    "event": EVENTS,
    "progress": PROGRESS,
}
"""What a field may hold besides records, by the name that `holds` and the paths of unknown fields use."""


def to_entry(value: Any) -> Entry:
    """A record in the native tongue, typed; never an error, whatever stands there."""
    if not isinstance(value, dict):
        return Malformed(reason="not a JSON object", value=value)
    record = cast(dict[str, Any], value)
    struct = _struct_of(record)
    if struct is None:
        return Unknown(type=_text(record, "type"), value=record)
    if struct in PAYLOADS:
        name, table = PAYLOADS[struct]
        record = {**record, name: _to_payload(record.get(name), table)}
    return fit(record, struct)


def _struct_of(record: dict[str, Any]) -> type[Entry] | None:
    kind = _text(record, "type")
    return SYSTEMS.get(_text(record, "subtype"), System) if kind == "system" else RECORDS.get(kind)


def _to_payload(value: Any, table: Mapping[str, type[Struct]]) -> Any:
    if not isinstance(value, dict):
        return value
    payload = cast(dict[str, Any], value)
    kind = _text(payload, "type")
    return fit(payload, table[kind]) if kind in table else Unknown(type=kind, value=payload)


def _blocks_of(message: Any) -> list[Block]:
    """The blocks of a message, also of one that is not the object it should be."""
    return to_blocks(message.content if isinstance(message, Prompt | Response) else message)


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


class _Each(NamedTuple):
    """A map whose keys are data and whose values have a shape."""

    value: _Shape


_Shape: TypeAlias = type[Struct] | str | _Each
"""What is known of the objects in a field: a struct, the name of a family, or a map of either."""


def unknown_fields(value: Any) -> list[str]:
    """The dotted paths of what a native record holds that no type knows, such as `user.newField`."""
    found: dict[str, None] = {}
    todo: list[tuple[Any, _Shape, str]] = [(value, "entry", "")]
    while todo:
        part, shape, path = todo.pop()
        if isinstance(part, list):
            todo += [(item, shape, path) for item in reversed(cast(list[Any], part))]
        elif isinstance(part, dict):
            todo += reversed(_look_into(cast(dict[str, Any], part), shape, path, found))
    return list(found)


def _look_into(
    part: dict[str, Any], shape: _Shape, path: str, found: dict[str, None]
) -> list[tuple[Any, _Shape, str]]:
    if isinstance(shape, _Each):
        return [(item, shape.value, path) for item in part.values()]
    if isinstance(shape, str):
        struct, path = _recognise(part, shape)
        if struct is None:
            found[path] = None
            return []
        shape = struct
    shapes = _shapes(shape)
    found.update((f"{path}.{name}", None) for name in part if name not in shapes)
    inner = ((item, shapes.get(name), f"{path}.{name}") for name, item in part.items())
    return [(item, known, where) for item, known, where in inner if known is not None]


def _recognise(part: dict[str, Any], family: str) -> tuple[type[Struct] | None, str]:
    """The struct of a member of a family, and how its paths begin."""
    kind, subtype = _text(part, "type"), _text(part, "subtype")
    if family != "entry":
        return FAMILIES[family].get(kind), f"{family}/{kind}"
    if kind == "system":
        return (SYSTEMS.get(subtype), f"system/{subtype}") if subtype else (System, "system")
    return (RECORDS[kind], kind) if kind in RECORDS else (None, f"type/{kind}")


@cache
def _shapes(struct: type[Struct]) -> dict[str, _Shape | None]:
    """Every field of a struct, by its name in the file."""
    return {f.encode_name: _shape(f.type) for f in fields_of(struct)}


def _shape(hint: Any) -> _Shape | None:
    for option in options(hint):
        origin, args = get_origin(option), get_args(option)
        if origin is Annotated:
            return cast(str, args[1].extra["holds"])
        if origin is list:
            return _shape(args[0])
        if origin is dict and (inner := _shape(args[1])) is not None:
            return _Each(inner)
        if isinstance(option, type) and issubclass(option, Struct):
            return option
    return None


def json_schema() -> dict[str, Any]:
    """A JSON Schema of the native tongue, made from the types."""
    tables = {"AnyAttachment": ATTACHMENTS, "AnyBlock": BLOCKS, "AnyEvent": EVENTS, "AnyProgress": PROGRESS}
    entries = [*dict.fromkeys([*RECORDS.values(), *SYSTEMS.values()])]
    members = {name: [*dict.fromkeys(table.values())] for name, table in tables.items()}
    structs = [*entries, *(struct for family in members.values() for struct in family)]
    _, definitions = msgspec.json.schema_components(structs, ref_template="#/$defs/{name}")
    for table in (RECORDS, *tables.values()):
        for kind, struct in table.items():
            _pin(definitions[struct.__name__], "type", kind)
    for kind, struct in SYSTEMS.items():
        if struct is not System:
            _pin(definitions[struct.__name__], "type", "system")
            _pin(definitions[struct.__name__], "subtype", kind)
    for name, family in members.items():
        definitions[name] = {"anyOf": _references(family)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of a Claude Code session",
        "anyOf": _references(entries),
        "$defs": dict(sorted(definitions.items())),
    }


def _pin(definition: dict[str, Any], name: str, value: str) -> None:
    """Say that a field must be there and be this, or one of those already said."""
    allowed = definition["properties"][name].get("enum", [])
    definition["properties"][name] = {"enum": [*allowed, value]}
    definition["required"] = [*dict.fromkeys([*definition.get("required", []), name])]


def _references(structs: Sequence[type[Struct]]) -> list[dict[str, str]]:
    return [{"$ref": f"#/$defs/{struct.__name__}"} for struct in structs]
