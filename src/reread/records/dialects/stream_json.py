"""stream-json: what `claude -p --output-format stream-json` prints: lines, an array or one result."""

from __future__ import annotations

from typing import Any, cast

NAME = "stream-json"

TYPES = frozenset(
    {
        "active_goal",
        "auth_status",
        "control_cancel_request",
        "control_request",
        "control_response",
        "conversation_reset",
        "keep_alive",
        "prompt_suggestion",
        "rate_limit_event",
        "result",
        "stream_event",
        "tool_progress",
        "tool_use_summary",
    }
)
"""The types that only a stream has."""

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
SPOKEN = ("user", "assistant")
DEEP = 4
"""How deep the figures of a compaction are nested at the most."""
SYSTEMS = frozenset({"compact_boundary", "informational", "model_fallback", "local_command_output"})
"""The notices on disk that a stream has too."""
KEPT = frozenset({"subtype", "content", "level", "message", "uuid", "timestamp"})
"""What a printed record has of what is on disk, besides what it spells otherwise."""
DISK_ONLY = ("sessionId", "parentUuid", "uuid", "timestamp")


def looks_like(value: dict[str, Any]) -> bool:
    """Whether this line was printed rather than written to disk."""
    kind = value.get("type")
    if "sessionId" in value or not isinstance(kind, str):
        return False
    if kind in TYPES or "session_id" in value or "parent_tool_use_id" in value:
        return True
    return kind in SPOKEN and "message" in value and not any(key in value for key in DISK_ONLY)


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """The same record with the spellings of the disk."""
    names = RENAMED | RENAMED_IN.get(str(value.get("type")), {})
    native = {names.get(key, key): item for key, item in value.items()}
    if "compactMetadata" in native:
        native["compactMetadata"] = _camel_keys(native["compactMetadata"])
    return native


def _camel_keys(value: Any, depth: int = DEEP) -> Any:
    if not isinstance(value, dict) or depth == 0:
        return cast(Any, value)
    return {_camel(key): _camel_keys(item, depth - 1) for key, item in cast(dict[str, Any], value).items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


PRINTED = ("user", "assistant", "system")
"""The native types that a stream has too."""


def printed(native: dict[str, Any]) -> dict[str, Any] | None:
    """A record on disk as the client would have printed it; None where it prints none such."""
    kind = native.get("type")
    if kind not in PRINTED or (kind == "system" and native.get("subtype") not in SYSTEMS):
        return None
    back = {new: old for old, new in (RENAMED | RENAMED_IN.get(kind, {})).items()}
    kept = {back.get(key, key): item for key, item in native.items() if key in back or key in KEPT}
    return {"type": kind, **kept}
