"""Draw calls of unknown tools, how any call ended, and the images and documents in any result."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator

import msgspec

from reread.base.choices import DENIED, FAILED, INTERRUPTED, RUNNING
from reread.base.text import as_text, one_line
from reread.records import blocks as b
from reread.tools.nodes import Code, Data, Links, Node, Note, Picture, Section, Target
from reread.tools.tool import Tool, ToolCall

TITLE_ARGUMENTS = tuple(
    """
    description command file_path path pattern query url subject name title prompt message id
    """.split()
)
"""The arguments that describe a call best, best first."""

STATE_NOTES = {
    RUNNING: ("still running", "info"),
    FAILED: ("failed", "error"),
    DENIED: ("denied", "warning"),
    INTERRUPTED: ("interrupted", "warning"),
}
"""The text and the level of the note for each state but done."""
HEAD = 1 << 16
"""Characters of base64 that are decoded: a JPEG may have much data before its frame."""
FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The JPEG markers that begin a frame."""


def title(call: ToolCall) -> str:
    """Return the name and the most telling argument."""
    arguments = call.arguments
    known = (arguments.get(name) for name in TITLE_ARGUMENTS)
    best = next((value for value in known if isinstance(value, str) and value.strip()), "")
    return f"{call.name} {one_line(best)}".strip()


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the input as JSON, and the result as text, images or JSON."""
    if call.raw_input not in (None, {}, ""):
        yield Section(title="input", nodes=[Data(value=call.raw_input)])
    yield from outcome_note(call)
    for block in call.blocks:
        if not (isinstance(block, b.Text) and isinstance(block.text, str)):
            yield block_node(block)
        elif block.text.strip() and call.outcome.state not in STATE_NOTES:  # else the note has the text
            yield Code(text=block.text)


def outcome_note(call: ToolCall) -> Iterator[Node]:
    """Yield how a call ended, unless it succeeded."""
    outcome = call.outcome
    if outcome.state in STATE_NOTES:
        text, level = STATE_NOTES[outcome.state]
        code = f" with exit code {outcome.exit_code}" if outcome.exit_code is not None else ""
        message = f": {outcome.message}" if outcome.message else ""
        yield Note(text=f"{text}{code}{message}", level=level)


def block_node(block: b.Block) -> Node:
    """Return the node of a content block that is not text."""
    if isinstance(block, b.Document):
        return document_node(block)
    if isinstance(block, b.Image):
        return media_node(block)
    fields = msgspec.structs.asdict(block)
    return Data(value={name: value for name, value in fields.items() if value is not None})


def document_node(block: b.Document) -> Node:
    """Return the node of a document: its text with title and context, or its bytes."""
    source = block.source
    content = getattr(source, "content", None)
    if getattr(source, "type", None) == "text":
        nodes: list[Node] = [Code(text=as_text(getattr(source, "data", None)))]
    elif isinstance(content, str):
        nodes = [Code(text=content)]
    elif content:
        nodes = [Data(value=content)]
    else:
        nodes = [media_node(block)]
    nodes = [*([Code(text=block.context)] if isinstance(block.context, str) and block.context else []), *nodes]
    title = one_line(block.title) if isinstance(block.title, str) else ""
    return Section(title=title or "document", nodes=nodes) if title or len(nodes) > 1 else nodes[0]


def media_node(block: b.Image | b.Document, name: str | None = None) -> Node:
    """Return the node of an image or a document."""
    source = block.picture if isinstance(block, b.Image) else block.source
    media_type, data, url = (getattr(source, name, None) for name in ("media_type", "data", "url"))
    if isinstance(url, str):
        return Links(targets=[Target(url=url)])
    media_type = media_type if isinstance(media_type, str) else "application/octet-stream"
    return image_node(data, media_type, name=name) if isinstance(data, str) else Picture(media_type=media_type)


def image_node(
    data: str,
    media_type: str,
    *,
    name: str | None = None,
    size: int | None = None,
    width: int | None = None,
    height: int | None = None,
) -> Picture:
    """Return an image node; size and dimensions that are not given are read from the data."""
    if width is None or height is None:
        width, height = dimensions(data) or (width, height)
    return Picture(
        media_type=media_type,
        data=data,
        name=name,
        size=len(data) * 3 // 4 - data[-2:].count("=") if size is None else size,
        width=width,
        height=height,
    )


def dimensions(data: str) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG in base64; None if unknown."""
    try:
        head = b64decode(data[:HEAD])
    except (binascii.Error, ValueError):
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return _jpeg_dimensions(head) if head.startswith(b"\xff\xd8") else None


def _jpeg_dimensions(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in FRAMES:
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        at += 2 + int.from_bytes(head[at + 2 : at + 4])
    return None


TOOL = Tool((), title, draw)
