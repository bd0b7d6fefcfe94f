"""The kind of message that each type of record becomes: one row a type.

A type that has a struct and no row here still works: below `Node` it is shown as a notice in the tree, and any
other is session state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reread.base.coerce import as_dict
from reread.base.times import timestamp_ms
from reread.records.envelope import MessageEnvelope, RecordEnvelope
from reread.records.type_names import OTHER_TYPES
from reread.records.type_names import TREE_TYPES as TREE_TYPES

TURN_STARTERS = frozenset({"prompt", "command"})
"""The kinds of message with which a person starts a turn."""

BOOKKEEPING = frozenset({"command", "output", "meta"})
"""The kinds of user message that do not tell where a session continues; only a command sent to the model does."""

STATE_TYPES = OTHER_TYPES - {"stream_event"}
"""Types that describe the session and are no message."""

STATE = None
NOTICE = "notice"
SYSTEM_KINDS: dict[str, str | None] = {
    "api_error": "error",
    "api_retry": "error",
    "attribution_snapshot": STATE,
    "background_tasks_changed": STATE,
    "bridge_state": STATE,
    "checkpoint_done": STATE,
    "cloud_session_delta": STATE,
    "codex_state": STATE,
    "commands_changed": STATE,
    "compact_boundary": "compaction",
    "control_request_progress": STATE,
    "dev_intent": STATE,
    "elicitation_complete": STATE,
    "file_snapshot": STATE,
    "files_persisted": STATE,
    "hook_progress": STATE,
    "hook_response": "hook",
    "hook_started": STATE,
    "inherited_asks_settled": STATE,
    "init": STATE,
    "local_command": "output",
    "local_command_output": "output",
    "microcompact_boundary": "compaction",
    "mirror_error": STATE,
    "peer_message_hold": STATE,
    "per_turn_effort_changed": STATE,
    "permission_check_status": STATE,
    "placed": STATE,
    "plugin_install": STATE,
    "rewind_stand_in": STATE,
    "scheduled_task_fire": "notification",
    "session_metadata": STATE,
    "session_state_changed": STATE,
    "session_title_changed": STATE,
    "session_writes_lost": STATE,
    "start_folder": STATE,
    "status": STATE,
    "stop_hook_summary": "hook",
    "task_notification": "notification",
    "task_progress": STATE,
    "task_started": STATE,
    "task_summary": STATE,
    "task_updated": STATE,
    "thinking_tokens": STATE,
    "tool_host_result": STATE,
    "turn_began_before_init": STATE,
    "turn_duration": STATE,
    "turn_handoff_available": STATE,
    "turn_preempted": STATE,
    "turn_starting": STATE,
    "ui_focus": STATE,
    "ui_invalidate": STATE,
    "ui_log": STATE,
    "ui_notify": STATE,
    "ui_notify_cancel": STATE,
    "ui_panes": STATE,
    "ui_placed": STATE,
    "ui_scroll": STATE,
    "ui_status": STATE,
    "ui_toast": STATE,
    "vcs_state_changed": STATE,
    "worker_shutting_down": STATE,
}
"""The kind of message that a subtype of system record becomes; STATE if it is none. Any other is a notice."""

HOOK_ATTACHMENTS = ("hook_", "async_hook_response")
"""How the types of attachments begin that hooks leave."""
FILE_BACKUPS = frozenset({"file-history-snapshot", "file-history-delta"})
"""The types of record that name copies of files."""
FILE_ATTACHMENTS = frozenset({"file", "edited_text_file", "hook_additional_context"})
"""The types of attachment that show the text of a file, or may say that a hook changed it."""
CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
"""The types of block that make a call."""
SYNTHETIC = "<synthetic>"
"""The model of what the client says in the model's name."""


def response_kind(envelope: RecordEnvelope, message: MessageEnvelope) -> str:
    """Return the kind of message that an assistant record becomes."""
    if envelope.isApiErrorMessage:
        return "error"
    return NOTICE if message.model == SYNTHETIC else "response"


STAMP = "timestamp"
ENVELOPE = frozenset(
    {
        "agentId",
        "cwd",
        "entrypoint",
        "gitBranch",
        "isMeta",
        "isSidechain",
        "logicalParentUuid",
        "parentUuid",
        "sessionId",
        "slug",
        STAMP,
        "type",
        "userType",
        "uuid",
        "version",
    }
)
"""The fields that every record has; they are not part of what it says."""


def own_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says besides the fields that every record has; a time that is none is something it says."""
    own = {name: value for name, value in record.items() if name not in ENVELOPE}
    stamp = record.get(STAMP)
    if stamp and (not isinstance(stamp, str) or timestamp_ms(stamp) is None):
        own[STAMP] = stamp
    return own


def payload_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an attached record says: its attachment or data, and its other fields."""
    own = own_fields(record)
    for name in ("attachment", "data"):
        inner = as_dict(own.pop(name, None) if isinstance(own.get(name), dict) else None)
        own = {**inner, **own} if inner else own
    return own
