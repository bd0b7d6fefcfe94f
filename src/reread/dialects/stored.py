"""stored: a captured conversation's line, the original message embedded byte for byte."""

from __future__ import annotations

from typing import Any

NAME = "stored"


def looks_like(value: dict[str, Any]) -> bool:
    """Whether this is a kept message."""
    return "claudeMessage" in value and "type" not in value


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """The message that was kept; a line that was no JSON object becomes an `output` record."""
    message = value["claudeMessage"]
    if not isinstance(message, dict):
        kept = {key: item for key, item in value.items() if key != "claudeMessage"}
        return {"type": "output", **kept}
    translated: dict[str, Any] = dict(message)  # pyright: ignore[reportUnknownArgumentType]
    if translated.get("timestamp") is None:
        translated["timestamp"] = value.get("timestamp")
    return translated
