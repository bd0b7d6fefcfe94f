"""The content blocks of a record of any type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec import Raw

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list
from reread.model.hooks import hook_words
from reread.model.prompt_text import prompt_kind
from reread.records import blocks as b
from reread.records.envelope import BlockEnvelope

SYSTEM_TEXT = ("content", "summary", "output", "message", "text")
"""The fields of a system record that may hold its text, best first."""
ATTACHMENT_TEXT = ("prompt", "content", "blockingError", "message", "stdout", "response", "stderr")
"""The fields of an attachment that may hold its text, best first."""


def content_blocks(native: dict[str, Any]) -> list[b.Block]:
    """Return the content blocks of a record in the native format."""
    kind = native.get("type")
    if kind == "attachment":
        payload = as_dict(native.get("attachment"))
        text = hook_words(payload) or next((payload[name] for name in ATTACHMENT_TEXT if payload.get(name)), None)
        inner = as_dict(text).get("blockingError")
        return b.to_blocks(_as_content(inner or text))
    if kind == "system":
        return b.to_blocks(system_text(native))
    if kind == "progress":
        return content_blocks(as_dict(as_dict(native.get("data")).get("message")))
    message = native.get("message")
    return b.to_blocks(cast(dict[str, Any], message).get("content") if isinstance(message, dict) else message)


def system_text(native: dict[str, Any]) -> Any:
    """Return the text of a system record, or a text that describes it."""
    said = hook_words(native) if native.get("subtype") == "hook_response" else None
    text = said or next((native[name] for name in SYSTEM_TEXT if native.get(name)), None)
    if text is not None:
        return _as_content(text)
    describe = _DESCRIBE.get(_as_text(native.get("subtype")))
    return describe(native) if describe else None


def _api_error(native: dict[str, Any]) -> str:
    error = native.get("error")
    inner = as_dict(error)
    nested = as_dict(as_dict(inner.get("error")).get("error"))
    reason = _as_text(inner.get("formatted") or nested.get("message") or inner.get("message") or error or "no response")
    status = _as_text(inner.get("status") or native.get("error_status") or "")
    said = f"API error: {f'{status} ' if status and status not in reason else ''}{reason}"
    attempt = native.get("retryAttempt") or native.get("attempt")
    most = native.get("maxRetries") or native.get("max_retries")
    wait = native.get("retryInMs") or native.get("retry_delay_ms")
    if attempt is None:
        return said
    soon = f" in {wait / 1000:.1f} s" if isinstance(wait, int | float) and abs(wait) < 1e12 else ""
    return f"{said} (attempt {_as_text(attempt)} of {_as_text(most)}{soon})"


def _stop_hooks(native: dict[str, Any]) -> str:
    commands = [_as_text(as_dict(info).get("command", "")) for info in as_list(native.get("hookInfos"))]
    errors = [_as_text(error).strip() for error in as_list(native.get("hookErrors"))]
    return "\n".join([f"Stop hooks: {', '.join(commands)}", *errors])


_DESCRIBE: dict[str, Callable[[dict[str, Any]], str]] = {
    "api_error": _api_error,
    "api_retry": _api_error,
    "stop_hook_summary": _stop_hooks,
}


def _as_content(value: Any) -> Any:
    """Convert a payload to content: strings and lists of blocks as they are, the rest as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, dict) and "type" in item for item in cast(list[Any], value)):
        return cast(list[Any], value)
    if isinstance(value, list):
        return "\n".join(map(_as_text, as_list(value)))
    return _as_text(value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.dumps(value).decode()


def first_text(content: Any) -> str:
    """Return the first text of a user's content that is not the client's addition; else the first at all."""
    if isinstance(content, str):
        return content
    texts = [text for text in map(_block_text, as_list(content)) if text]
    return next((text for text in texts if prompt_kind(text) != "meta"), texts[0] if texts else "")


def _block_text(block: Any) -> str:
    raw = block.text if isinstance(block, BlockEnvelope) else as_dict(block).get("text")
    text = raw_value(raw) if isinstance(raw, Raw) else raw
    return text if isinstance(text, str) else ""


def raw_value(raw: Raw) -> Any:
    """Decode JSON that was left raw; None if there is none."""
    return jsontext.loads_clean(bytes(raw)) if raw else None
