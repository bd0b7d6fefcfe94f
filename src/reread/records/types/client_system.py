"""System records that the client keeps or prints for its own screen, hosts and plug-ins, by subtype."""

from __future__ import annotations

from typing import Any

from reread.records.blocks import BlockPart, Number
from reread.records.types.base import System
from reread.records.types.registry import SYSTEMS


class MissingAttachment(BlockPart, frozen=True, kw_only=True):
    """A file of a prompt that did not arrive."""

    file_uuid: str | None = None
    reason: str | None = None


class ToolHost(BlockPart, frozen=True, kw_only=True):
    """The computer on which a tool ran."""

    name: str | None = None
    working_dir: str | None = None


class SystemCloudSessionStatus(System, frozen=True, kw_only=True):
    """The fate of a session in the cloud."""

    subtype: str | None = "cloud_session_status"
    content: str | None = None
    entry: Any = None
    url: str | None = None
    level: str | None = None


class SystemModelConsentFallback(System, frozen=True, kw_only=True):
    """Another model, because the person did not agree to the terms of the first."""

    subtype: str | None = "model_consent_fallback"
    content: str | None = None
    level: str | None = None
    choice: str | None = None
    originalModel: str | None = None
    originalModelName: str | None = None
    fallbackModel: str | None = None
    persistedAsDefault: bool | None = None
    original_model: str | None = None
    original_model_name: str | None = None
    fallback_model: str | None = None
    persisted_as_default: bool | None = None


class SystemVoiceCallTalk(System, frozen=True, kw_only=True):
    """The words of a voice call."""

    subtype: str | None = "voice_call_talk"
    content: str | None = None
    blocks: list[Any] | None = None
    level: str | None = None
    msgV: int | None = None


class SystemFileAttachmentsMissing(System, frozen=True, kw_only=True):
    """Files of a prompt that did not arrive."""

    subtype: str | None = "file_attachments_missing"
    message_uuid: str | None = None
    sent_count: int | None = None
    missing: list[MissingAttachment] | None = None


class SystemFeedbackDraftQueued(System, frozen=True, kw_only=True):
    """Feedback that waits for the person to send it."""

    subtype: str | None = "feedback_draft_queued"
    draft_id: str | None = None
    draft_type: str | None = None
    title: str | None = None
    details_preview: str | None = None


class SystemInstructionSizeWarning(System, frozen=True, kw_only=True):
    """Instruction files that are too large."""

    subtype: str | None = "instruction_size_warning"
    total_chars: Number | None = None
    total_limit_chars: Number | None = None
    limit_chars: Number | None = None
    file_count: int | None = None
    files_over_limit: Any = None


class SystemPeerMessageHold(System, frozen=True, kw_only=True):
    """A message of another session that waits or was dropped."""

    subtype: str | None = "peer_message_hold"
    state: str | None = None
    message_uuid: str | None = None
    lane: str | None = None
    from_name: str | None = None
    cause: Any = None
    outcome: Any = None


class SystemToolHostResult(System, frozen=True, kw_only=True):
    """The report of another computer about a call that ran on it."""

    subtype: str | None = "tool_host_result"
    tool_use_id: str | None = None
    host: ToolHost | None = None
    disposition: str | None = None
    label: str | None = None
    unverified: bool | None = None
    lines: list[str] | None = None


class SystemPermissionCheckStatus(System, frozen=True, kw_only=True):
    """Whether a permission is being checked."""

    subtype: str | None = "permission_check_status"
    tool_use_id: str | None = None
    agent_id: str | None = None
    status: str | None = None


class SystemRewindStandIn(System, frozen=True, kw_only=True):
    """Stands for a record that a rewind took out."""

    subtype: str | None = "rewind_stand_in"
    source_uuid: str | None = None
    content: str | None = None
    level: str | None = None


class SystemSessionTitleChanged(System, frozen=True, kw_only=True):
    """The session has another title."""

    subtype: str | None = "session_title_changed"
    title: str | None = None


class SystemSessionMetadata(System, frozen=True, kw_only=True):
    """A session as a host shows it."""

    subtype: str | None = "session_metadata"
    metadata: dict[str, Any] | None = None


class SystemTaskSummary(System, frozen=True, kw_only=True):
    """The session's current work, in a few words."""

    subtype: str | None = "task_summary"
    detail: str | None = None


class SystemTurnStarting(System, frozen=True, kw_only=True):
    """A turn begins."""

    subtype: str | None = "turn_starting"
    mode: str | None = None
    task_id: str | None = None


class SystemTurnPreempted(System, frozen=True, kw_only=True):
    """A turn that a prompt after it ended."""

    subtype: str | None = "turn_preempted"
    reason: str | None = None
    preempted_by_uuid: str | None = None
    preempted_message_uuids: list[str] | None = None


class SystemTurnHandoffAvailable(System, frozen=True, kw_only=True):
    """Another process may take over the turn."""

    subtype: str | None = "turn_handoff_available"
    v: int | None = None
    tools: list[Any] | None = None
    worker_epoch: Any = None
    staged_files: Any = None
    no_query_first: Any = None
    shared_message_id: Any = None
    requires_rewind_request_id: bool | None = None
    relay_marker: bool | None = None
    home_files: Any = None


class SystemUiText(System, frozen=True, kw_only=True):
    """A text that a plug-in shows on the client's screen."""

    subtype: str | None = "ui_toast"
    plugin: str | None = None
    text: str | None = None
    timeout_ms: Number | None = None


class SystemScreen(System, frozen=True, kw_only=True):
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
