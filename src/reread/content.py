"""Content: the blocks that a record of any type holds."""

from __future__ import annotations

from typing import Any, cast

from reread import blocks as b
from reread import jsontext


def content_blocks(native: dict[str, Any]) -> list[b.Block]:
    """The content blocks that a record in the native tongue holds."""
    kind = native.get("type")
    if kind == "attachment":
        payload = _dict(native.get("attachment"))
        for name in ("prompt", "content", "blockingError", "message", "stdout", "response"):
            if payload.get(name):
                return b.to_blocks(_spoken(payload[name]))
        return []
    if kind == "system":
        return b.to_blocks(_spoken(native.get("content") or native.get("summary") or native.get("output")))
    if kind == "progress":
        return content_blocks(_dict(_dict(native.get("data")).get("message")))
    message = native.get("message")
    return b.to_blocks(cast(dict[str, Any], message).get("content") if isinstance(message, dict) else message)


def _spoken(value: Any) -> Any:
    """A payload as content: strings and lists of blocks as they are, the rest as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(item, dict) and "type" in item for item in cast(list[Any], value)
    ):
        return cast(list[Any], value)
    if isinstance(value, list):
        return "\n".join(str(item) for item in cast(list[Any], value))
    return jsontext.dumps(value).decode()


def _dict(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
