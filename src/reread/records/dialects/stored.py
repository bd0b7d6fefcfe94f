"""stored: a line of a captured conversation, with the original message inside."""

from __future__ import annotations

import json
from typing import Any, cast

from reread.base.claude_argv import prompt_in_command
from reread.records.dialects.early import is_number, native_time

NAME = "stored"
STAND_IN = b'{"type":"system","subtype":"no_message","session_id":""}'
"""What a stored line that has `raw` or `run` holds as its message: readers of the layout expect one on every line.

Lines of older versions have null there.
"""
_STAND_IN: Any = json.loads(STAND_IN)


def looks_like(value: dict[str, Any]) -> bool:
    """True if this is a line of a captured conversation."""
    return "claudeMessage" in value and "type" not in value


def is_run_marker(value: dict[str, Any]) -> bool:
    """True if this marks the start or the end of a captured run."""
    return looks_like(value) and not _has_message(value) and isinstance(value.get("run"), dict)


def _has_message(value: dict[str, Any]) -> bool:
    message = value["claudeMessage"]
    return isinstance(message, dict) and not (message == _STAND_IN and ("raw" in value or "run" in value))


def run_prompt(value: dict[str, Any]) -> str | None:
    """Return the prompt in the command of a captured run, if this marks its start; None if there is none."""
    argv: Any = value["run"].get("argv") if is_run_marker(value) else None
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in cast(list[Any], argv)):
        return None
    return prompt_in_command(cast(list[str], argv))


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """Return the message, with the time at which it was stored if it states none."""
    return with_timestamp(message_in(value), value.get("timestamp"))


def message_in(value: dict[str, Any]) -> dict[str, Any]:
    """Return the message; a line that is not a JSON object, or was printed to stderr, becomes an `output` record."""
    message = value["claudeMessage"]
    has_message = _has_message(value)
    if has_message and value.get("stream") != "err":
        return cast(dict[str, Any], message)
    is_empty = message is None or (isinstance(message, dict) and not has_message)
    fields = {key: item for key, item in value.items() if key != "claudeMessage" or not is_empty}
    run = value.get("run")
    return _run(fields, cast(dict[str, Any], run)) if isinstance(run, dict) else {"type": "output", **fields}


def with_timestamp(message: dict[str, Any], timestamp: Any) -> dict[str, Any]:
    """Return a message with a time, if it states none.

    A number would make it a record of the early format: it becomes a native time, or is left out if no day is meant.
    """
    if message.get("timestamp") is not None:
        return message
    time = native_time(timestamp) if is_number(timestamp) else timestamp
    return message if is_number(time) else {**message, "timestamp": time}


def _run(fields: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Return the marker of a run with its folder and title under their native names."""
    named = {"cwd": run.get("cwd"), "customTitle": run.get("title")}
    return {"type": "run", **fields, **{name: item for name, item in named.items() if isinstance(item, str)}}
