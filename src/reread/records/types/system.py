"""System records in transcripts, which streams may have too, by subtype.

The last are those that the client keeps or prints for its own screen, hosts and plug-ins.
"""

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


class SystemCompactBoundary(System):
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


MissingAttachment = _part("MissingAttachment", "A file of a prompt that did not arrive.", "file_uuid reason")
ToolHost = _part("ToolHost", "The computer on which a tool ran.", "name working_dir")
_system("cloud_session_status", "The fate of a session in the cloud.", "content url level", entry=Any)
_system(
    "model_consent_fallback",
    "Another model, because the person did not agree to the terms of the first.",
    "content level choice originalModel originalModelName fallbackModel original_model "
    "original_model_name fallback_model",
    persistedAsDefault=bool,
    persisted_as_default=bool,
)
_system("voice_call_talk", "The words of a voice call.", "content level", blocks=list[Any], msgV=int)
_system(
    "file_attachments_missing",
    "Files of a prompt that did not arrive.",
    "message_uuid",
    sent_count=int,
    missing=list[MissingAttachment],
)
_system(
    "feedback_draft_queued",
    "Feedback that waits for the person to send it.",
    "draft_id draft_type title details_preview",
)
_system(
    "instruction_size_warning",
    "Instruction files that are too large.",
    total_chars=Number,
    total_limit_chars=Number,
    limit_chars=Number,
    file_count=int,
    files_over_limit=Any,
)
_system(
    "peer_message_hold",
    "A message of another session that waits or was dropped.",
    "state message_uuid lane from_name",
    cause=Any,
    outcome=Any,
)
_system(
    "tool_host_result",
    "The report of another computer about a call that ran on it.",
    "tool_use_id disposition label",
    host=ToolHost,
    unverified=bool,
    lines=list[str],
)
_system("permission_check_status", "Whether a permission is being checked.", "tool_use_id agent_id status")
_system("rewind_stand_in", "Stands for a record that a rewind took out.", "source_uuid content level")
_system("session_title_changed", "The session has another title.", "title")
_system("session_metadata", "A session as a host shows it.", metadata=dict[str, Any])
_system("task_summary", "The session's current work, in a few words.", "detail")
_system("turn_starting", "A turn begins.", "mode task_id")
_system(
    "turn_preempted",
    "A turn that a prompt after it ended.",
    "reason preempted_by_uuid",
    preempted_message_uuids=list[str],
)
_system(
    "turn_handoff_available",
    "Another process may take over the turn.",
    v=int,
    tools=list[Any],
    worker_epoch=Any,
    staged_files=Any,
    no_query_first=Any,
    shared_message_id=Any,
    requires_rewind_request_id=bool,
    relay_marker=bool,
    home_files=Any,
)


class SystemUiText(System):
    """A text that a plug-in shows on the client's screen."""

    subtype: str | None = "ui_toast"
    plugin: str | None = None
    text: str | None = None
    timeout_ms: Number | None = None


class SystemScreen(System):
    """Something about the client's screen, its host or its own work, that says nothing of the conversation."""

    subtype: str | None = "ui_notify"


SCREEN_SUBTYPES = (
    "bridge_state",
    "checkpoint_done",
    "cloud_session_delta",
    "dev_intent",
    "inherited_asks_settled",
    "per_turn_effort_changed",
    "placed",
    "start_folder",
    "turn_began_before_init",
    "ui_focus",
    "ui_invalidate",
    "ui_notify",
    "ui_notify_cancel",
    "ui_panes",
    "ui_placed",
    "ui_scroll",
)
"""Subtypes known by name only."""
UI_TEXTS = ("ui_log", "ui_status", "ui_toast")

SYSTEMS.update(dict.fromkeys(SCREEN_SUBTYPES, SystemScreen))
SYSTEMS.update(dict.fromkeys(UI_TEXTS, SystemUiText))
