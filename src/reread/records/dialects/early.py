"""early: what the first public descriptions of the format show: `human`, top-level results, epoch times."""

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
SPOKEN = ("user", "assistant", "system", *RENAMED)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def looks_like(value: dict[str, Any]) -> bool:
    """Whether this record has a type or a time that only the early descriptions have."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in RENAMED or (kind == "message" and _role(value) is not None):
        return True
    return kind in SPOKEN and _is_number(value.get("timestamp"))


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """The same record in the native tongue."""
    kind = str(value["type"])
    native = dict(value)
    native["type"] = RENAMED.get(kind, kind) if kind != "message" else _role(value)
    if _is_number(value.get("timestamp")):
        native["timestamp"] = _iso(value["timestamp"])
    if "session_id" in native:
        native.setdefault("sessionId", native["session_id"])
    if kind in _RESHAPE:
        _RESHAPE[kind](native)
    if native["type"] != "system" and "message" not in native and "content" in native:
        native["message"] = _message(native)
    return native


def _result(native: dict[str, Any]) -> None:
    message = _message(native)
    content = message.get("content")
    if not _holds(content, "tool_result"):
        block = {"type": "tool_result", "tool_use_id": native.get("tool_use_id"), "content": content}
        for name in ("is_error", "tool_use_id"):
            if message.get(name, native.get(name)) is not None:
                block[name] = message.get(name, native.get(name))
        message["content"] = [block]
    native["message"] = message


def _use(native: dict[str, Any]) -> None:
    message = _message(native)
    if not _holds(message.get("content"), "tool_use"):
        block = {"type": "tool_use", **{k: native[k] for k in ("id", "name", "input") if k in native}}
        message["content"] = [block]
    native["message"] = message


def _prelude(native: dict[str, Any]) -> None:
    native["subtype"] = "compact_boundary"
    native["content"] = _message(native).get("content")


def _recap(native: dict[str, Any]) -> None:
    native["isCompactSummary"] = True


_RESHAPE = {
    "tool_result": _result,
    "tool": _result,
    "tool_use": _use,
    "compact_prelude": _prelude,
    "compact_recap": _recap,
}


def _message(native: dict[str, Any]) -> dict[str, Any]:
    message = native.get("message")
    if isinstance(message, dict):
        return dict(cast(dict[str, Any], message))
    return {"content": native.get("content", native.get("output")) if message is None else message}


def _holds(content: Any, kind: str) -> bool:
    blocks = cast(list[Any], content) if isinstance(content, list) else []
    return any(isinstance(block, dict) and cast(dict[str, Any], block).get("type") == kind for block in blocks)


def _role(value: dict[str, Any]) -> str | None:
    message = value.get("message")
    role = cast(dict[str, Any], message).get("role") if isinstance(message, dict) else value.get("role")
    return role if role in ("user", "assistant") else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _iso(moment: float) -> Any:
    """Epoch milliseconds (or seconds, where that is the only sensible reading) as the native timestamp."""
    try:
        seconds = moment / 1000 if abs(moment) >= 1e11 else moment
        stamp = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError):
        return moment
    return stamp.replace("+00:00", "Z")
