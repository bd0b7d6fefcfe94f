"""Records of user messages and model responses."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from reread.base.structs import FrozenStruct
from reread.records.blocks import Block, BlockPart, Content, Name, Needed, Number, to_blocks
from reread.records.types.api import Prompt, Response
from reread.records.types.base import TreeRecord
from reread.records.types.usage import ContextUsage, UsageInfo


class Origin(BlockPart):
    """Where a message came from: a person, a task, a peer …"""

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


class ThinkingMetadata(BlockPart):
    """The thinking requested by a prompt."""

    level: str | None = None
    disabled: bool | None = None
    triggers: list[Any] | None = None
    maxThinkingTokens: int | None = None


class Todo(BlockPart):
    """One item of a to-do list."""

    id: Any = None
    content: str | None = None
    status: str | None = None
    activeForm: str | None = None
    priority: str | None = None


class PermissionDecision(BlockPart):
    """Who allowed or denied a call, and why."""

    decision: str | None = None
    source: str | None = None
    reasonType: str | None = None
    reasonCode: str | None = None
    grantScope: str | None = None
    reason_type: str | None = None
    reason_code: str | None = None
    grant_scope: str | None = None


class TurnPosition(BlockPart):
    """The position of a prompt in the session."""

    promptIndex: int | None = None
    turnIndex: int | None = None


class ToolResultMeta(BlockPart):
    """Metadata of a tool result in a stream."""

    id: str | None = None
    non_execution_kind: str | None = None
    permission_decision: PermissionDecision | None = None


class ToolUseMeta(BlockPart):
    """How a host should display a call."""

    id: str | None = None
    tool_name: str | None = None
    display_name: str | None = None
    server_display_name: str | None = None
    icon_url: str | None = None


class CommandRun(BlockPart):
    """A local command and its arguments."""

    command: str | None = None
    args: str | None = None


class User(TreeRecord):
    """A prompt, a tool result, or a message added in the user's name."""

    type: str = "user"
    message: Needed[Prompt] | None = None
    toolUseResult: Any = None
    """The tool's structured result, in any shape: an object, a list, a string or null."""
    sourceToolAssistantUUID: str | None = None
    """The uuid of the record with the call that this result answers."""
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
    """`[Image #N]` in the text refers to the image block at the index of N in this list."""
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
    toolDenialBeforeRun: bool | None = None
    keptInSandboxByCheck: Any = None
    storedAnewFor: Any = None
    """This and the next: a prompt that was stored again under a new uuid."""
    sentAsUuid: str | None = None
    toolEndsTurn: bool | None = None
    interruptedMessageId: str | None = None
    interruptedByShutdown: bool | None = None
    refusedMessageId: str | None = None

    # Only in streams.
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

    # Only in the early format.
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Content = None
    output: Content = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return _blocks_of(self.message)


class Assistant(TreeRecord):
    """One or more blocks of a model response."""

    type: str = "assistant"
    message: Needed[Response] | None = None
    requestId: str | None = None
    requestSessionId: str | None = None
    """The session that made the API request, in a copy of its record."""
    requestRef: str | None = None
    requestedModel: str | None = None
    model: str | None = None
    costUSD: Number | None = None
    """Only in versions 0.2 and early 1.0."""
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

    # Only in streams.
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
    usage_report: UsageInfo | None = None
    tool_use_meta: list[ToolUseMeta] | None = None
    local_command_run: CommandRun | None = None
    local_command_source: str | None = None

    # Only in the early format.
    id: str | None = None
    name: str | None = None
    input: Any = None
    content: Content = None
    role: str | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return _blocks_of(self.message)


def _blocks_of(message: Any) -> list[Block]:
    """Return the blocks of a message, even if it is not the object that it should be."""
    return to_blocks(message.content if isinstance(message, Prompt | Response) else message)


class EarlyRecord(FrozenStruct):
    """A message of the early format; other fields are not specified."""

    uuid: Name | None = None
    parentUuid: Annotated[str, Meta(extra={"needed": "key"})] | None = None
    sessionId: Name | None = None
    type: Name | None = None
    timestamp: Needed[Number] | None = None
    """Milliseconds since 1970."""
    version: str | None = None
    message: Needed[Response] | None = None
    isSidechain: bool | None = None
    userType: str | None = None
    isMeta: bool | None = None
    isError: bool | None = None
    isDeleted: bool | None = None
    isAborted: bool | None = None
    compactMetadata: dict[str, Any] | None = None
    subtype: str | None = None
    is_active: bool | None = None
