"""Reject the arguments that the real `claude` rejects, with its messages."""

from __future__ import annotations

import re
from collections.abc import Callable

from reread.base.claude_argv import STREAM_JSON, Invocation
from reread.errors import Misuse

FORMATS = {"--output-format": ("text", "json", STREAM_JSON), "--input-format": ("text", STREAM_JSON)}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class ClaudeUsageError(Misuse):
    """Arguments or input that the real program rejects, with its message."""


def check_usage(invocation: Invocation) -> None:
    """Raise `ClaudeUsageError` for arguments that the real program rejects."""
    for option, allowed in FORMATS.items():
        chosen = invocation.options.get(option, allowed[0])
        if chosen not in allowed:
            raise ClaudeUsageError(
                f"error: option '{option} <format>' argument '{chosen}' is invalid. "
                f"Allowed choices are {', '.join(allowed)}."
            )
    for is_invalid, message in _RULES:
        if is_invalid(invocation):
            raise ClaudeUsageError(message)


def is_session_id(text: str) -> bool:
    """True if the text has the form of a session id."""
    return _UUID.fullmatch(text) is not None


_RULES: tuple[tuple[Callable[[Invocation], bool], str], ...] = (
    (
        lambda call: call.reads_messages and call.output_format != STREAM_JSON,
        "Error: --input-format=stream-json requires output-format=stream-json.",
    ),
    (
        lambda call: (
            call.has("--replay-user-messages") and not (call.reads_messages and call.output_format == STREAM_JSON)
        ),
        "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.",
    ),
    (
        lambda call: call.has("--include-partial-messages") and call.output_format != STREAM_JSON,
        "Error: --include-partial-messages requires --print and --output-format=stream-json.",
    ),
    (
        lambda call: call.output_format == STREAM_JSON and not call.has("--verbose"),
        "Error: When using --print, --output-format=stream-json requires --verbose",
    ),
    (
        lambda call: call.has("--session-id") and not is_session_id(call.options["--session-id"]),
        "Error: Invalid session ID. Must be a valid UUID.",
    ),
    (
        lambda call: call.has("--resume") and not call.resumed_session,
        "Error: --resume requires a valid session ID or session title when used with --print. "
        "Usage: claude -p --resume <session-id|title>",
    ),
)
"""Invalid combinations of arguments, each with the real program's message."""
