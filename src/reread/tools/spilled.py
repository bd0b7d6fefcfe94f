"""Results that are too large for the transcript: the client writes them to a file beside it and records its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from reread.base.coerce import as_dict
from reread.records import blocks as b
from reread.tools._result_text import FRAME

FIELDS = ("persistedOutputPath", "rawOutputPath")
"""The fields of a structured result that name the file."""
SAVED = "saved to"
BEFORE = 4096
"""How far before the name of a file the client says that it saved something there."""
MOST_FILES = 8
_NAME = re.compile(r"\btool-results[/\\]([\w.()+@-]+[\w)])")

ReadSpilled = Callable[[str], str | None]
"""Returns the text of a file by its name; None if it is not there, or is no text."""


def spilled_names(content: Any, data: Any) -> list[str]:
    """Return the names of the files that a result was written to; the folders before a name mean nothing elsewhere."""
    fields = as_dict(data)
    written = [path for name in FIELDS if isinstance(path := fields.get(name), str)]
    found = [_NAME.search(path) for path in written]
    names = [match[1] for match in found if match is not None]
    for text in (*_texts(content), *([data] if isinstance(data, str) else [])):
        names += _named(text)
    return list(dict.fromkeys(names))[:MOST_FILES]


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        yield from (block.text for block in b.to_blocks(content) if isinstance(block, b.Text) and block.text)


def _named(text: str) -> Iterator[str]:
    """Yield the names of files to which a text says that something was saved."""
    if SAVED not in text or "tool-results" not in text:
        return
    for count, found in enumerate(_NAME.finditer(text)):
        start = text.rfind("\n", max(0, found.start() - BEFORE), found.start()) + 1
        if SAVED in text[max(start, found.start() - BEFORE) : found.start()]:
            yield found[1]
        if count >= MOST_FILES:
            return


def with_spilled(result: b.Block | None, data: Any, read: ReadSpilled) -> tuple[b.Block | None, Any]:
    """Return a result with the whole text in place of its preview, if it was written to a file that can be read."""
    content = getattr(result, "content", None)
    texts = [text for name in spilled_names(content, data) if (text := read(name)) is not None]
    if not texts or result is None:
        return result, data
    whole = "\n".join(texts)
    fields = as_dict(data)
    if "stdout" in fields and any(fields.get(name) for name in FIELDS):
        fields = {**fields, **dict.fromkeys(FIELDS), "stdout": whole}
        return msgspec.structs.replace(result, content=_content(content, whole)), fields
    return msgspec.structs.replace(result, content=_content(content, whole)), data


def _content(content: Any, whole: str) -> Any:
    if isinstance(content, str):
        return whole if content.startswith(FRAME) else f"{content}\n\n{whole}"
    blocks = b.to_blocks(content)
    kept = [block for block in blocks if not (isinstance(block, b.Text) and str(block.text).startswith(FRAME))]
    return [*kept, b.Text(text=whole)]
