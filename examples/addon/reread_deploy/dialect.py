"""The records of the log, as Claude Code would write them."""

from typing import Any

NAME = "bot"


def looks_like(value: dict[str, Any]) -> bool:
    return "bot" in value and "type" not in value


def translate(value: dict[str, Any]) -> dict[str, Any]:
    role, block = "user", {"type": "text", "text": value.get("text")}
    if value["bot"] == "call":
        role = "assistant"
        block = {"type": "tool_use", "id": value.get("id"), "name": value.get("tool"), "input": value.get("input")}
    elif value["bot"] == "result":
        block = {"type": "tool_result", "tool_use_id": value.get("id"), "content": value.get("output")}
    return {
        "type": role,
        "sessionId": value.get("run"),
        "timestamp": value.get("time"),
        "message": {"role": role, "content": [block]},
    }
