"""An answer of the API as the events of its stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str

Object = dict[str, Any]
DELTA = b"event: content_block_delta"
PIECE = 200
"""Characters of a text in one event."""


def stream_events(message: Object) -> Iterator[bytes]:
    """Yield the events of a message, as they come over the wire."""
    usage = as_dict(message.get("usage"))
    begun: Object = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    yield event("message_start", message={**begun, "usage": {**usage, "output_tokens": 1}})
    for index, block in enumerate(map(as_dict, as_list(message.get("content")))):
        start, deltas = _opened(block)
        yield event("content_block_start", index=index, content_block=start)
        if not index:
            yield event("ping")
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ended = {name: message.get(name) for name in ("stop_reason", "stop_sequence", "stop_details") if name in message}
    yield event("message_delta", delta=ended, usage=usage)
    yield event("message_stop")


def cut_events(message: Object) -> list[bytes]:
    """Return the events of a message that was interrupted within its last block."""
    events = list(stream_events(message))
    return events[: -3 if message.get("content") else 1]


def event(type: str, **fields: Any) -> bytes:
    """Return one event."""
    return b"event: " + type.encode() + b"\ndata: " + jsontext.dumps({"type": type, **fields}) + b"\n\n"


def _opened(block: Object) -> tuple[Object, list[Object]]:
    """Return a block as it begins, and what follows of it."""
    match block.get("type"):
        case "text":
            start = {**block, "text": ""}
            start.pop("citations", None)
            cited = [{"type": "citations_delta", "citation": one} for one in as_list(block.get("citations"))]
            return start, [*({"type": "text_delta", "text": piece} for piece in _pieces(block.get("text"))), *cited]
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block.get("thinking"))]
            signed = {"type": "signature_delta", "signature": as_str(block.get("signature")) or ""}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            text = jsontext.dumps(block.get("input", {})).decode("utf-8", "replace")
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(text)]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": ""}, *pieces]
        case _:
            return block, []


def _pieces(text: object) -> list[str]:
    whole = text if isinstance(text, str) else ""
    return [whole[at : at + PIECE] for at in range(0, len(whole), PIECE)]
