"""Transcripts in which every text attacks whatever prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[8mconcealed\x1b[0m\x1b[30;40mblack\x1b[0m\x9b31m\x1bc\x00\x08\x7f"
BIDI = "\u202eoverride\u2066isolate\u200f\u200b\U000e0041"
BREAKS = "one\r\ntwo\rthree\x0bfour\x85five\u2028six\n"
MARKUP = "\n```\n~~~\n</details></summary></script><x-evil onload=alert(1)>[x](javascript:1)![y](https://e.example/z)\n"
POISON = f"{ESCAPES}{BIDI}{BREAKS}{MARKUP}"

STRUCTURE = frozenset(
    """type subtype role kind uuid parentUuid logicalParentUuid leafUuid sessionId session_id id tool_use_id
    parent_tool_use_id sourceToolUseID sourceToolAssistantUUID toolUseID toolUseId agentId messageId promptId requestId
    timestamp data media_type signature version""".split()
)
"""Fields that say which record this is and where it belongs: a poisoned one would only make it another record."""
SHORT = ("name", "model", "cwd", "gitBranch", "trigger", "language", "status", "stop_reason", "subagent_type")
"""Fields that views print within a line."""


def poisoned(value: Any, key: str = "") -> Any:
    """The value with poison in every text but those of its structure."""
    if isinstance(value, dict):
        return {name: poisoned(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [poisoned(inner, key) for inner in value]
    if not isinstance(value, str) or key in STRUCTURE:
        return value
    return f"{value}{ESCAPES}{BIDI}" if key in SHORT else f"{POISON}{value}{POISON}"


def poisoned_lines(path: Path) -> bytes:
    """The lines of a transcript, with every text poisoned; every other line has its characters as they are."""
    lines = filter(bytes.strip, path.read_bytes().split(b"\n"))
    texts = (json.dumps(poisoned(json.loads(line)), ensure_ascii=at % 2 == 0) for at, line in enumerate(lines))
    return b"".join(text.encode("utf-8", "replace") + b"\n" for text in texts)
