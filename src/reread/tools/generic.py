"""Draw calls of unknown tools, and how any call ended."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reread.base.choices import DENIED, FAILED, INTERRUPTED, RUNNING
from reread.base.text import as_text, one_line
from reread.records import blocks as b
from reread.tools.nodes import Code, Data, Links, Node, Note, Picture, Section, Target
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall

TITLE_ARGUMENTS = (
    "description",
    "command",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "subject",
    "name",
    "title",
    "prompt",
    "message",
    "id",
)
"""The arguments that describe a call best, best first."""

STATE_NOTES = {
    RUNNING: ("still running", "info"),
    FAILED: ("failed", "error"),
    DENIED: ("denied", "warning"),
    INTERRUPTED: ("interrupted", "warning"),
}
"""The text and the level of the note for each state but done."""


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


def media_node(block: b.Image | b.Document) -> Node:
    """Return the node of an image or a document."""
    source = block.picture if isinstance(block, b.Image) else block.source
    media_type, data, url = (getattr(source, name, None) for name in ("media_type", "data", "url"))
    if isinstance(url, str):
        return Links(targets=[Target(url=url)])
    return Picture(
        media_type=media_type if isinstance(media_type, str) else "application/octet-stream",
        size=len(data) * 3 // 4 if isinstance(data, str) else None,
        data=data if isinstance(data, str) else None,
    )


TOOL = Tool((), title, draw)
