"""What the real program refuses, in its words."""

from __future__ import annotations

import re
from collections.abc import Callable

from reread.base.claude_argv import Invocation
from reread.errors import Misuse

FORMATS = {"--output-format": ("text", "json", "stream-json"), "--input-format": ("text", "stream-json")}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class UsageRefused(Misuse):
    """What the real program refuses; the message has its words."""


def check_usage(call: Invocation) -> None:
    """Refuse what the real program refuses, in its words."""
    for option, allowed in FORMATS.items():
        chosen = call.options.get(option, allowed[0])
        if chosen not in allowed:
            raise UsageRefused(
                f"error: option '{option} <format>' argument '{chosen}' is invalid. "
                f"Allowed choices are {', '.join(allowed)}."
            )
    for broken, words in _RULES:
        if broken(call):
            raise UsageRefused(words)


def is_session_id(text: str) -> bool:
    """Whether this has the form of a session's id."""
    return _UUID.fullmatch(text) is not None


_RULES: tuple[tuple[Callable[[Invocation], bool], str], ...] = (
    (
        lambda call: call.converses and call.output != "stream-json",
        "Error: --input-format=stream-json requires output-format=stream-json.",
    ),
    (
        lambda call: call.has("--replay-user-messages") and not (call.converses and call.output == "stream-json"),
        "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.",
    ),
    (
        lambda call: call.has("--include-partial-messages") and call.output != "stream-json",
        "Error: --include-partial-messages requires --print and --output-format=stream-json.",
    ),
    (
        lambda call: call.output == "stream-json" and not call.has("--verbose"),
        "Error: When using --print, --output-format=stream-json requires --verbose",
    ),
    (
        lambda call: call.has("--session-id") and not is_session_id(call.options["--session-id"]),
        "Error: Invalid session ID. Must be a valid UUID.",
    ),
    (
        lambda call: call.has("--resume") and not call.resumes,
        "Error: --resume requires a valid session ID or session title when used with --print. "
        "Usage: claude -p --resume <session-id|title>",
    ),
)
"""What the real program refuses, with what it says."""
