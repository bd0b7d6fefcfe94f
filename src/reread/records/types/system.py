"""System records in transcripts, which streams may have too, by subtype."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Number
from reread.records.types.api import ErrorBody, Prompt
from reread.records.types.base import System
from reread.records.types.messages import CommandRun
from reread.records.types.registry import SYSTEMS
from reread.records.types.usage import ContextUsage


class CodexState(System, frozen=True, kw_only=True):
    """A line of a Codex CLI rollout that is no message, or repeats one."""

    subtype: str | None = "codex_state"


class CodexNotice(System, frozen=True, kw_only=True):
    """A message of the Codex CLI itself: an error, a warning, an interruption."""

    subtype: str | None = "codex_notice"


class MicrocompactMetadata(BlockPart, frozen=True, kw_only=True):
    """The content that a microcompaction removed."""

    trigger: str | None = None
    preTokens: int | None = None
    tokensSaved: int | None = None
    compactedToolIds: list[str] | None = None
    clearedAttachmentUUIDs: list[str] | None = None


class ErrorCause(BlockPart, frozen=True, kw_only=True):
    """The network error behind an API error."""

    code: str | None = None
    path: str | None = None
    errno: int | None = None


class ErrorInfo(BlockPart, frozen=True, kw_only=True):
    """An API error as serialized by the client; its headers are private."""

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


class HookInfo(BlockPart, frozen=True, kw_only=True):
    """A hook that ran."""

    command: str | None = None
    durationMs: Number | None = None


class PromptEnding(BlockPart, frozen=True, kw_only=True):
    """How a submitted prompt ended."""

    kind: str | None = None
    reason: str | None = None


class PromptSubmitEnding(BlockPart, frozen=True, kw_only=True):
    """How a submitted prompt ended, and whether it was kept."""

    ending: PromptEnding | None = None
    promptKept: bool | None = None


class PromptOutcome(BlockPart, frozen=True, kw_only=True):
    """How a submitted prompt ended, in a stream."""

    kind: str | None = None
    reason: str | None = None
    prompt_kept: bool | None = None


class SystemStopHookSummary(System, frozen=True, kw_only=True):
    """The outcome of the Stop hooks."""

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
    """A compaction of the context."""

    subtype: str | None = "compact_boundary"

    # Only in streams.
    logical_parent_uuid: str | None = None

    # Only in the early format.
    message: Prompt | None = None


class SystemMicrocompactBoundary(System, frozen=True, kw_only=True):
    """The removal of old tool results from the context."""

    subtype: str | None = "microcompact_boundary"
    microcompactMetadata: MicrocompactMetadata | None = None


class SystemApiError(System, frozen=True, kw_only=True):
    """A failed API request that is retried."""

    subtype: str | None = "api_error"
    error: ErrorInfo | None = None
    cause: ErrorCause | None = None
    retryInMs: Number | None = None
    retryAttempt: int | None = None
    maxRetries: int | None = None
    source: str | None = None


class SystemAwaySummary(System, frozen=True, kw_only=True):
    """A summary of the time while the user was away."""

    subtype: str | None = "away_summary"


class SystemLocalCommand(System, frozen=True, kw_only=True):
    """A slash command that the client ran itself, and its output."""

    subtype: str | None = "local_command"
    commandRun: CommandRun | None = None
    contextUsage: ContextUsage | None = None


class SystemInformational(System, frozen=True, kw_only=True):
    """A message to the user."""

    subtype: str | None = "informational"
    preventContinuation: bool | None = None
    promptSubmitEnding: PromptSubmitEnding | None = None

    # Only in streams.
    tool_use_id: str | None = None
    tag: str | None = None
    prevent_continuation: bool | None = None
    prompt_submit_outcome: PromptOutcome | None = None


class SystemScheduledTaskFire(System, frozen=True, kw_only=True):
    """A scheduled prompt that came due."""

    subtype: str | None = "scheduled_task_fire"


class SystemBridgeStatus(System, frozen=True, kw_only=True):
    """A Remote Control connection."""

    subtype: str | None = "bridge_status"
    url: str | None = None


class SystemModelFallback(System, frozen=True, kw_only=True):
    """Another model took over."""

    subtype: str | None = "model_fallback"
    originalModel: str | None = None
    fallbackModel: str | None = None
    trigger: str | None = None

    # Only in streams.
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

    # Only in streams.
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

    # Only in streams.
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
    """A commit or pull request that was published."""

    subtype: str | None = "code_change_published"
    provider: str | None = None
    repo: str | None = None
    branch: str | None = None
    identifier: str | None = None
    url: str | None = None
    action: str | None = None


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

SYSTEMS.update(dict.fromkeys(BARE_SYSTEMS, System))
