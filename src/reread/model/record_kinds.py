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
    **dict.fromkeys(
        """
        attribution_snapshot background_tasks_changed bridge_state checkpoint_done cloud_session_delta codex_state
        commands_changed control_request_progress dev_intent elicitation_complete file_snapshot files_persisted
        hook_progress hook_started inherited_asks_settled init mirror_error peer_message_hold per_turn_effort_changed
        permission_check_status placed plugin_install rewind_stand_in session_metadata session_state_changed
        session_title_changed session_writes_lost start_folder status task_progress task_started task_summary
        task_updated thinking_tokens tool_host_result turn_began_before_init turn_duration turn_handoff_available
        turn_preempted turn_starting ui_focus ui_invalidate ui_log ui_notify ui_notify_cancel ui_panes ui_placed
        ui_scroll ui_status ui_toast vcs_state_changed worker_shutting_down
        """.split(),
        STATE,
    ),
    "api_error": "error",
    "api_retry": "error",
    "compact_boundary": "compaction",
    "hook_response": "hook",
    "local_command": "output",
    "local_command_output": "output",
    "microcompact_boundary": "compaction",
    "scheduled_task_fire": "notification",
    "stop_hook_summary": "hook",
    "task_notification": "notification",
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
    """
    agentId cwd entrypoint gitBranch isMeta isSidechain logicalParentUuid parentUuid sessionId slug timestamp type
    userType uuid version
    """.split()
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
