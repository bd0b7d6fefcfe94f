"""Results that are too large for the transcript: the client writes them to a file beside it and records its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from reread.base.coerce import as_dict
from reread.base.late_pattern import late_pattern
from reread.records import blocks as b
from reread.tools.nodes import Node, Note

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"
_NUMBER = late_pattern(r" *(\d{1,9})(?:→|\t)")
FRAME, FRAME_END = "<persisted-output>\n", "\n</persisted-output>"
_PREVIEW_LINE = late_pattern(r"\n\nPreview \([^)\n]{0,200}\):\n")


class ResultText(NamedTuple):
    """The text of a result without the client's additions."""

    text: str
    full_output: str
    """The client's note on where the full output is; empty unless the text is a preview."""

    def warning(self) -> Iterator[Node]:
        """Yield a warning if the text is only a preview."""
        if self.full_output:
            yield Note(text=self.full_output, level="warning")


class NumberedLines(NamedTuple):
    """Lines that had numbers in front of them, and the text around them."""

    start: int
    text: str
    before: str
    after: str


def unwrap(text: str) -> ResultText:
    """Remove reminders at the end of a text, and the frame around a preview."""
    end = _end(text, len(text))
    while (cut := _last_reminder(text, end)) is not None:
        end = _end(text, cut)
    if end < len(text) and text[end:].strip():
        text = text[:end]
    return _unframed(text) or ResultText(text, "")


def _end(text: str, end: int) -> int:
    """Return where a text ends without the white space before `end`."""
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _last_reminder(text: str, end: int) -> int | None:
    """Return where the reminder that ends at `end` begins; one inside a numbered line belongs to the file."""
    if not text.endswith(CLOSE, 0, end):
        return None
    at = text.rfind(OPEN, 0, end)
    return at if at == 0 or (at > 0 and text[at - 1] == "\n") else None


def _unframed(text: str) -> ResultText | None:
    """Return what the frame of a preview contains; None if there is no frame."""
    framed = text.rstrip()
    if not framed.startswith(FRAME) or not framed.endswith(FRAME_END):
        return None
    inside = framed[len(FRAME) : -len(FRAME_END)].removesuffix("\n...")
    if found := _PREVIEW_LINE.search(inside):
        return ResultText(inside[found.end() :], inside[: found.start()])
    return ResultText("", inside)


def parse_numbered_lines(text: str) -> NumberedLines | None:
    """Return the first run of numbered lines, without the numbers; None if there is none."""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if _NUMBER.match(line)), None)
    if first is None:
        return None
    bare: list[str] = []
    start = 0
    for line in lines[first:]:
        found = _NUMBER.match(line)
        if found is None or (bare and int(found[1]) != start + len(bare)):
            break
        start = start if bare else int(found[1])
        bare.append(line[found.end() :])
    after = "\n".join(lines[first + len(bare) :])
    return NumberedLines(start, "\n".join(bare), "\n".join(lines[:first]), after)


FIELDS = ("persistedOutputPath", "rawOutputPath")
"""The fields of a structured result that name the file."""
SAVED = "saved to"
BEFORE = 4096
"""How far before the name of a file the client says that it saved something there."""
MOST_FILES = 8
_NAME = late_pattern(r"\btool-results[/\\]([\w.()+@-]+[\w)])")

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
