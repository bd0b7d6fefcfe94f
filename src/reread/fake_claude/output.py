"""The output of the client: messages of its own, text and JSON output, exit codes."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence

from reread.base import jsontext
from reread.base.claude_argv import STREAM_JSON, Invocation
from reread.fake_claude.control_protocol import Message
from reread.fake_claude.script import Frame, RecordedTurn

FAILED = 1
"""The real program's exit code for every failure."""
OUTPUT_FORMATS = ("text", "json", STREAM_JSON)
"""Each can be derived from the next."""
ERROR_TEXTS = {
    "error_during_execution": ("Execution error", ""),
    "error_max_turns": ("Error: Reached max turns ({})", "--max-turns"),
    "error_max_budget_usd": ("Error: Exceeded USD budget ({})", "--max-budget-usd"),
    "error_max_structured_output_retries": (
        "Error: Failed to provide valid structured output after maximum retries",
        "",
    ),
}
"""The text printed instead of an answer, by the result's subtype, with the option whose value it contains."""
_LIMIT = re.compile(r"\(\$?([\d.]+)\)")


def message_line(message: Message) -> bytes:
    """Encode a message as a line."""
    return jsontext.dumps(message) + b"\n"


def error_result(session: str | None, error: str) -> Message:
    """Return the result message of a run that failed outside the model."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": True,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session or str(uuid.uuid4()),
        "total_cost_usd": 0,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
        "modelUsage": {},
        "permission_denials": [],
        "uuid": str(uuid.uuid4()),
        "errors": [error],
    }


def error_notice(session: str | None, text: str) -> Message:
    """Return an error as a message that is not a result, so that a caller who waits for one learns there is none."""
    return {
        "type": "system",
        "subtype": "informational",
        "content": text,
        "level": "error",
        "uuid": str(uuid.uuid4()),
        "session_id": session or str(uuid.uuid4()),
    }


def replayed_prompt(message: Message, session: str | None) -> Message:
    """Return a prompt as `--replay-user-messages` prints it."""
    return {
        "type": "user",
        "message": message["message"],
        "session_id": session,
        "parent_tool_use_id": None,
        "uuid": message.get("uuid") or str(uuid.uuid4()),
        "isReplay": True,
    }


def interruption(session: str | None, text: str) -> Message:
    """Return the user message that the client prints when a turn is interrupted."""
    return {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        "parent_tool_use_id": None,
        "session_id": session,
        "uuid": str(uuid.uuid4()),
    }


def turn_exit_code(turn: RecordedTurn) -> int:
    """Return the recorded exit code of a turn, or the one that its result implies."""
    if turn.exit_code is not None:
        return turn.exit_code
    return FAILED if turn.result is None or turn.result.value.get("is_error") else 0


def _as_text(invocation: Invocation, frames: Sequence[Frame]) -> bytes:
    """Return a turn as text output."""
    if not any(frame.kind for frame in frames):
        return b"".join(frame.raw for frame in frames)
    result = next((frame.value for frame in reversed(frames) if frame.kind == "result"), Message())
    if isinstance(result.get("result"), str):
        return result["result"].removesuffix("\n").encode("utf-8", "replace") + b"\n"
    text, option = ERROR_TEXTS.get(str(result.get("subtype")), ("", ""))
    recorded = _LIMIT.search(str(result.get("errors")))
    return text.format(invocation.options.get(option) or (recorded[1] if recorded else "?")).encode()


def _as_json(invocation: Invocation, frames: Sequence[Frame]) -> bytes:
    """Return the last result, or with `--verbose` every line in one array."""
    if invocation.has("--verbose"):
        return b"[" + b",".join(frame.raw.rstrip(b"\r\n") for frame in frames) + b"]\n"
    return next((frame.raw for frame in reversed(frames) if frame.kind == "result"), b"")


FORMATTERS: dict[str, Callable[[Invocation, Sequence[Frame]], bytes]] = {
    "text": _as_text,
    "json": _as_json,
    STREAM_JSON: lambda invocation, frames: b"",
}
"""The output at the end of a turn; a stream has been printed by then."""
