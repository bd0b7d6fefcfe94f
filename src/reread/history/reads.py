"""The text of a file that results and attachments show: all of it, or some of its lines."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_int, as_list, as_str
from reread.history.changes import given_paths, result_of, use_of
from reread.history.file_text import normalized_text
from reread.model.conversation import Call

READ = "Read"
_NUMBERED = re.compile(r" *(\d{1,9})(?:\t|\u2192)(.*)", re.DOTALL)
_HOOKED = re.compile(r"PostToolUse hook modified ([^\n]+) after your edit")
REMINDER = "\n<system-reminder>"
"""How a remark of the client begins, after the text of a file and an empty line."""
LIMIT = 2000
"""Lines longer than this may have been cut, and so may a text of so many lines."""


class FileExcerpt(NamedTuple):
    """The shown text of a file."""

    path: str
    text: str
    start: int = 1
    """The number of the first line."""
    whole: bool = True
    """True if it is the whole file."""


def read_of(call: Call) -> FileExcerpt | None:
    """Return what a call shows of a text file; None if it failed, or shows no text."""
    if call.is_error or call.denied:
        return None
    data = result_of(call)
    if not data and call.state != DONE:
        return None
    given = use_of(call)
    path = next(iter(given_paths(given)), "")
    if data:
        shown = _shown(path, data)
        if shown is not None or data.get("type") != "text":
            return shown
    ranged = any(given.get(name) is not None for name in ("offset", "limit", "pages"))
    return numbered_text(path, call.tool_call.text, ranged)


def attached_text(attachment: dict[str, Any]) -> FileExcerpt | None:
    """Return what an attachment shows of a text file."""
    path = as_str(attachment.get("filename"))
    if path is None:
        return None
    if attachment.get("type") == "edited_text_file":
        return numbered_text(path, as_str(attachment.get("snippet")) or "", ranged=True)
    shown = _shown(path, as_dict(attachment.get("content")))
    return None if shown is None else shown._replace(whole=shown.whole and attachment.get("truncated") is not True)


def hooked_paths(attachment: dict[str, Any]) -> list[str]:
    """Return the paths of files that a hook changed after a tool had, as the client says."""
    texts = (text for text in as_list(attachment.get("content")) if isinstance(text, str))
    found = (_HOOKED.match(text) for text in texts)
    return [match[1] for match in found if match is not None]


def _shown(path: str, data: dict[str, Any]) -> FileExcerpt | None:
    """Return the text of a structured result; None if it has none."""
    file = as_dict(data.get("file"))
    text = as_str(file.get("content"))
    start, count, total = (as_int(file.get(name)) for name in ("startLine", "numLines", "totalLines"))
    if data.get("type") != "text" or text is None or count is None or (not text and (total or 0) > 1):
        return None
    whole = start in (None, 0, 1) and count == total and file.get("truncatedByTokenCap") is not True
    lines = text.count("\n") + 1
    if lines not in (count, count + 1):
        return None
    return FileExcerpt(path, normalized_text(text), start or 1, whole and lines == count)


def numbered_text(path: str, text: str, ranged: bool) -> FileExcerpt | None:
    """Return the text of a result with line numbers; None if it has anything else but a remark at its end."""
    lines: list[str] = []
    first = 0
    for row in text.split("\n"):
        found = _NUMBERED.fullmatch(row)
        if found is None or (lines and int(found[1]) != first + len(lines)):
            break
        first = first if lines else int(found[1])
        lines.append(found[2])
    if not lines or any(len(line) >= LIMIT for line in lines):
        return None
    rest = text.split("\n", len(lines))[len(lines) :]
    complete = not rest or (rest[0].startswith(REMINDER) and rest[0].count(REMINDER.strip()) == 1)
    whole = not ranged and complete and first == 1 and len(lines) < LIMIT
    return FileExcerpt(path, normalized_text("\n".join(lines)), first, whole)
