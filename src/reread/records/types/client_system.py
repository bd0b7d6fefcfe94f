"""System records that the client keeps or prints for its own screen, hosts and plug-ins, by subtype."""

from __future__ import annotations

from functools import partial
from typing import Any

from reread.records.blocks import Number
from reread.records.types.base import System, declare, part
from reread.records.types.registry import SYSTEMS

_part = partial(part, __name__)
MissingAttachment = _part("MissingAttachment", "A file of a prompt that did not arrive.", "file_uuid reason")
ToolHost = _part("ToolHost", "The computer on which a tool ran.", "name working_dir")
_system = partial(declare, System, __name__)
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
