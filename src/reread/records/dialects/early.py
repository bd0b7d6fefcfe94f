"""early: the format of the first public descriptions, with `human`, top-level results and epoch timestamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

NAME = "early"

RENAMED = {
    "human": "user",
    "tool_result": "user",
    "tool": "user",
    "tool_use": "assistant",
    "compact_prelude": "system",
    "compact_recap": "user",
}
MESSAGE_TYPES = ("user", "assistant", "system", *RENAMED)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def looks_like(value: dict[str, Any]) -> bool:
    """True if the type or the timestamp is one that only the early format has."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in RENAMED or (kind == "message" and _role(value) is not None):
        return True
    return kind in MESSAGE_TYPES and is_number(value.get("timestamp"))


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """Return the record in the native format."""
    kind = str(value["type"])
    native = dict(value)
    native["type"] = RENAMED.get(kind, kind) if kind != "message" else _role(value)
    if is_number(value.get("timestamp")):
        native["timestamp"] = native_time(value["timestamp"])
    if "session_id" in native:
        native.setdefault("sessionId", native["session_id"])
    if kind in _RESHAPE:
        _RESHAPE[kind](native)
    if native["type"] != "system" and "message" not in native and "content" in native:
        native["message"] = _message(native)
    return native


def _reshape_result(native: dict[str, Any]) -> None:
    message = _message(native)
    content = message.get("content")
    if not _has_block(content, "tool_result"):
        block = {"type": "tool_result", "tool_use_id": native.get("tool_use_id"), "content": content}
        for name in ("is_error", "tool_use_id"):
            if message.get(name, native.get(name)) is not None:
                block[name] = message.get(name, native.get(name))
        message["content"] = [block]
    native["message"] = message


def _reshape_use(native: dict[str, Any]) -> None:
    message = _message(native)
    if not _has_block(message.get("content"), "tool_use"):
        block = {"type": "tool_use", **{k: native[k] for k in ("id", "name", "input") if k in native}}
        message["content"] = [block]
    native["message"] = message


def _reshape_prelude(native: dict[str, Any]) -> None:
    native["subtype"] = "compact_boundary"
    native["content"] = _message(native).get("content")


def _reshape_recap(native: dict[str, Any]) -> None:
    native["isCompactSummary"] = True


_RESHAPE = {
    "tool_result": _reshape_result,
    "tool": _reshape_result,
    "tool_use": _reshape_use,
    "compact_prelude": _reshape_prelude,
    "compact_recap": _reshape_recap,
}


def _message(native: dict[str, Any]) -> dict[str, Any]:
    message = native.get("message")
    if isinstance(message, dict):
        return dict(cast(dict[str, Any], message))
    return {"content": native.get("content", native.get("output")) if message is None else message}


def _has_block(content: Any, kind: str) -> bool:
    blocks = cast(list[Any], content) if isinstance(content, list) else []
    return any(isinstance(block, dict) and cast(dict[str, Any], block).get("type") == kind for block in blocks)


def _role(value: dict[str, Any]) -> str | None:
    message = value.get("message")
    role = cast(dict[str, Any], message).get("role") if isinstance(message, dict) else value.get("role")
    return role if role in ("user", "assistant") else None


def is_number(value: Any) -> bool:
    """True if a timestamp is a number, as the early format and the history have it."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def native_time(number: float) -> Any:
    """Return epoch milliseconds, or seconds if the number is too small for that, as a native timestamp."""
    try:
        seconds = number / 1000 if abs(number) >= 1e11 else number
        timestamp = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError):
        return number
    return timestamp.replace("+00:00", "Z")
