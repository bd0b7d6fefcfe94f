"""stored: a captured conversation's line, the original message embedded byte for byte."""

from __future__ import annotations

from typing import Any, cast

from reread.base.claude_argv import prompt_in_command

NAME = "stored"


def looks_like(value: dict[str, Any]) -> bool:
    """Whether this is a kept message."""
    return "claudeMessage" in value and "type" not in value


def is_mark(value: dict[str, Any]) -> bool:
    """Whether this says that a captured run begins or ends."""
    return looks_like(value) and value["claudeMessage"] is None and isinstance(value.get("run"), dict)


def asked(value: dict[str, Any]) -> str | None:
    """What the command of a captured run asks, where this says that one begins."""
    argv: Any = value["run"].get("argv") if is_mark(value) else None
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in cast(list[Any], argv)):
        return None
    return prompt_in_command(cast(list[str], argv))


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """The message that was kept; what was no JSON object, or printed aside, becomes an `output` record."""
    message = value["claudeMessage"]
    if not isinstance(message, dict) or value.get("stream") == "err":
        kept = {key: item for key, item in value.items() if key != "claudeMessage" or item is not None}
        run = value.get("run")
        return _run(kept, cast(dict[str, Any], run)) if isinstance(run, dict) else {"type": "output", **kept}
    translated: dict[str, Any] = dict(message)  # pyright: ignore[reportUnknownArgumentType]
    if translated.get("timestamp") is None:
        translated["timestamp"] = value.get("timestamp")
    return translated


def _run(kept: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """What a capture says of itself: where it ran, and the title it was given."""
    said = {"cwd": run.get("cwd"), "customTitle": run.get("title")}
    return {"type": "run", **kept, **{name: item for name, item in said.items() if isinstance(item, str)}}
