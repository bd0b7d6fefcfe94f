"""history: prompts as the client remembers them for the arrow keys, with the session and project they were typed in."""

from __future__ import annotations

import re
from typing import Any

from reread.base.coerce import as_dict
from reread.base.late_pattern import late_pattern
from reread.records.dialects.early import is_number, native_time

NAME = "history"
PASTED = "pastedContents"
MOST_FILES = 8
"""Pasted texts of one prompt that are read from files."""
SHOWN = frozenset({"id", "type", "content", "mediaType"})
"""The fields of something pasted that its block has."""
_COMMAND = late_pattern(r"(/[A-Za-z][\w:-]*)(?:\s+(\S.*))?", re.DOTALL)
_HASH = late_pattern(r"[\w-]{1,128}", re.ASCII)


def looks_like(value: dict[str, Any]) -> bool:
    """True if a record is a typed prompt with its time, and has no type."""
    return "type" not in value and isinstance(value.get("display"), str) and is_number(value.get("timestamp"))


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """Return the prompt as a record of the native format, with what was pasted into it."""
    native = {name: item for name, item in value.items() if name not in ("display", PASTED)}
    native["type"] = "user"
    native["timestamp"] = native_time(value["timestamp"])
    blocks: list[dict[str, Any]] = [{"type": "text", "text": _typed(value["display"])}]
    pasted = as_dict(value.get(PASTED))
    left = {} if isinstance(value.get(PASTED), dict) else {PASTED: value[PASTED]} if PASTED in value else {}
    for number, item in pasted.items():
        block = _block(as_dict(item))
        blocks += [block] if block is not None else []
        rest = (
            {name: field for name, field in as_dict(item).items() if name not in SHOWN} if block is not None else item
        )
        left |= {number: rest} if rest else {}
    native |= {PASTED: left} if left else {}
    native["message"] = {"role": "user", "content": blocks}
    if isinstance(value.get("project"), str):
        native["cwd"] = native.pop("project")
    return native


def paste_files(native: dict[str, Any]) -> list[str]:
    """Return the names of the files with longer texts that were pasted into a translated prompt."""
    if PASTED not in native:
        return []
    hashes = [as_dict(item).get("contentHash") for item in as_dict(native.get(PASTED)).values()]
    return [f"{name}.txt" for name in hashes if isinstance(name, str) and _HASH.fullmatch(name)][:MOST_FILES]


def pasted_text(text: str) -> str:
    """Return a pasted text as the client marks one."""
    return f"<pasted_content>\n{text}\n</pasted_content>"


def _typed(text: str) -> str:
    """Return what was typed; a command as transcripts have one."""
    command = _COMMAND.fullmatch(text.rstrip())
    if command is None:
        return text
    name, arguments = command[1], command[2] or ""
    return f"<command-name>{name}</command-name>\n<command-args>{arguments}</command-args>"


def _block(item: dict[str, Any]) -> dict[str, Any] | None:
    content = item.get("content")
    if not isinstance(content, str) or not content:
        return None
    if item.get("type") == "image":
        source = {"type": "base64", "media_type": item.get("mediaType") or "image/png", "data": content}
        return {"type": "image", "source": source}
    return {"type": "text", "text": pasted_text(content)}
