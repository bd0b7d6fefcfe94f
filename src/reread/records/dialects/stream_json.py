"""stream-json: what `claude -p --output-format stream-json` prints: lines, an array or a single result."""

from __future__ import annotations

from typing import Any, cast

NAME = "stream-json"

TYPES = frozenset(
    """
    active_goal auth_status control_cancel_request control_request control_response conversation_reset keep_alive
    prompt_suggestion rate_limit_event result stream_event tool_progress tool_use_summary
    """.split()
)
"""Types that only a stream has."""

RENAMED = {
    "session_id": "sessionId",
    "parent_tool_use_id": "parentToolUseID",
    "tool_use_result": "toolUseResult",
    "isSynthetic": "isMeta",
    "compact_metadata": "compactMetadata",
    "logical_parent_uuid": "logicalParentUuid",
}
RENAMED_IN: dict[str, dict[str, str]] = {
    "assistant": {"request_id": "requestId", "agent_id": "agentId"},
    "user": {"agent_id": "agentId"},
    "system": {"claude_code_version": "version"},
}
MESSAGE_TYPES = ("user", "assistant")
MAX_DEPTH = 4
"""Nesting of the metadata of a compaction."""
PRINTED_SUBTYPES = frozenset({"compact_boundary", "informational", "model_fallback", "local_command_output"})
"""Subtypes of system records on disk that a stream has too."""
COMMON_FIELDS = frozenset({"subtype", "content", "level", "message", "uuid", "timestamp"})
"""Fields with the same name on disk and in a stream."""
DISK_ONLY = ("sessionId", "parentUuid", "uuid", "timestamp")


def looks_like(value: dict[str, Any]) -> bool:
    """True if this record was printed, not written to disk."""
    kind = value.get("type")
    if "sessionId" in value or not isinstance(kind, str):
        return False
    if kind in TYPES or "session_id" in value or "parent_tool_use_id" in value:
        return True
    return kind in MESSAGE_TYPES and "message" in value and not any(key in value for key in DISK_ONLY)


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """Return the record with the field names used on disk."""
    names = RENAMED | RENAMED_IN.get(str(value.get("type")), {})
    native = {names.get(key, key): item for key, item in value.items()}
    if "compactMetadata" in native:
        native["compactMetadata"] = _camel_keys(native["compactMetadata"])
    return native


def _camel_keys(value: Any, depth: int = MAX_DEPTH) -> Any:
    if not isinstance(value, dict) or depth == 0:
        return cast(Any, value)
    return {_camel(key): _camel_keys(item, depth - 1) for key, item in cast(dict[str, Any], value).items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


PRINTED_TYPES = ("user", "assistant", "system")
"""Native types that a stream has too."""


def from_native(native: dict[str, Any]) -> dict[str, Any] | None:
    """Return a native record as the client would print it; None if it prints no such record."""
    kind = native.get("type")
    if kind not in PRINTED_TYPES or (kind == "system" and native.get("subtype") not in PRINTED_SUBTYPES):
        return None
    names = {new: old for old, new in (RENAMED | RENAMED_IN.get(kind, {})).items()}
    fields = {names.get(key, key): item for key, item in native.items() if key in names or key in COMMON_FIELDS}
    return {"type": kind, **fields}
