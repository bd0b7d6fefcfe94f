"""System records in transcripts, which streams may have too, by subtype."""

from __future__ import annotations

from functools import partial
from typing import Any

from reread.records.blocks import Number
from reread.records.types.api import ErrorBody, Prompt
from reread.records.types.base import System, declare, part
from reread.records.types.messages import CommandRun
from reread.records.types.registry import SYSTEMS
from reread.records.types.usage import ContextUsage

_system = partial(declare, System, __name__)
_system("codex_state", "A line of a Codex CLI rollout that is no message, or repeats one.")
_system("codex_notice", "A message of the Codex CLI itself: an error, a warning, an interruption.")


_part = partial(part, __name__)
MicrocompactMetadata = _part(
    "MicrocompactMetadata",
    "The content that a microcompaction removed.",
    "trigger",
    preTokens=int,
    tokensSaved=int,
    compactedToolIds=list[str],
    clearedAttachmentUUIDs=list[str],
)
ErrorCause = _part("ErrorCause", "The network error behind an API error.", "code path", errno=int)
ErrorInfo = _part(
    "ErrorInfo",
    "An API error as serialized by the client; its headers are private.",
    "type message formatted requestID requestId",
    status=int,
    headers=dict[str, Any],
    error=ErrorBody,
    cause=ErrorCause,
    isNetworkDown=bool,
    connection=Any,
    noResponse=Any,
    rateLimits=Any,
)
HookInfo = _part("HookInfo", "A hook that ran.", "command", durationMs=Number)
PromptEnding = _part("PromptEnding", "How a submitted prompt ended.", "kind reason")
PromptSubmitEnding = _part(
    "PromptSubmitEnding", "How a submitted prompt ended, and whether it was kept.", ending=PromptEnding, promptKept=bool
)
PromptOutcome = _part("PromptOutcome", "How a submitted prompt ended, in a stream.", "kind reason", prompt_kept=bool)


_system(
    "stop_hook_summary",
    "The outcome of the Stop hooks.",
    "stopReason",
    hookCount=int,
    hookInfos=list[HookInfo],
    hookErrors=list[Any],
    failedHookErrorIndexes=list[int],
    hookAdditionalContext=list[Any],
    preventedContinuation=bool,
    hasOutput=bool,
)
_system("turn_duration", "How long a turn took.", durationMs=Number, messageCount=int, pendingBackgroundAgentCount=int)


class SystemCompactBoundary(System, frozen=True, kw_only=True):
    """A compaction of the context."""

    subtype: str | None = "compact_boundary"

    # Only in streams.
    logical_parent_uuid: str | None = None

    # Only in the early format.
    message: Prompt | None = None


_system(
    "microcompact_boundary",
    "The removal of old tool results from the context.",
    microcompactMetadata=MicrocompactMetadata,
)
_system(
    "api_error",
    "A failed API request that is retried.",
    "source",
    error=ErrorInfo,
    cause=ErrorCause,
    retryInMs=Number,
    retryAttempt=int,
    maxRetries=int,
)
_system("away_summary", "A summary of the time while the user was away.")
_system(
    "local_command",
    "A slash command that the client ran itself, and its output.",
    commandRun=CommandRun,
    contextUsage=ContextUsage,
)
_system(
    "informational",
    "A message to the user.",
    "tool_use_id tag",
    preventContinuation=bool,
    promptSubmitEnding=PromptSubmitEnding,
    prevent_continuation=bool,
    prompt_submit_outcome=PromptOutcome,
)
_system("scheduled_task_fire", "A scheduled prompt that came due.")
_system("bridge_status", "A Remote Control connection.", "url")
_system(
    "model_fallback", "Another model took over.", "originalModel fallbackModel trigger original_model fallback_model"
)
_system(
    "model_refusal_fallback",
    "A refused prompt that another model answered.",
    "originalModel fallbackModel requestId apiRefusalCategory apiRefusalExplanation "
    "refusedUserMessageUuid trigger direction scope original_model fallback_model request_id "
    "api_refusal_category api_refusal_explanation refused_user_message_uuid",
    retractedMessageUuids=list[str],
    neutralizedByFork=bool,
    retracted_message_uuids=list[str],
)
_system(
    "model_refusal_no_fallback",
    "A refused prompt that no model answered.",
    "originalModel requestId apiRefusalCategory apiRefusalExplanation refusedUserMessageUuid "
    "original_model request_id api_refusal_category api_refusal_explanation "
    "refused_user_message_uuid",
    neutralizedByFork=bool,
)
_system("file_snapshot", "The files as they were.", snapshotFiles=Any)
_system(
    "code_change_published",
    "A commit or pull request that was published.",
    "provider repo branch identifier url action",
)


BARE_SYSTEMS = (
    "agents_killed",
    "attribution_snapshot",
    "late_allow_not_run",
    "memory_saved",
    "permission_retry",
    "post_turn_summary",
    "shell_cwd",
    "thinking",
    "vcs_state_changed",
)
"""System subtypes known by name only."""

SYSTEMS.update(dict.fromkeys(BARE_SYSTEMS, System))
