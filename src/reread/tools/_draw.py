"""Replies: what a tool answered in words, and how a call ended in the result's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from reread.records import blocks as b
from reread.tools import generic
from reread.tools._images import picture
from reread.tools._result_text import unwrap
from reread.tools._values import first, words
from reread.tools.nodes import Code, FileEntry, Files, Links, Node, Note, Picture, Prose, Section, Target
from reread.tools.tool_call import DONE, FAILED, ToolCall

_MARKDOWN = re.compile(r"^(?:#{1,6} |```|\|.*\|[ \t]*$)|\*\*\S|\]\(\w", re.MULTILINE)


def prose(value: object) -> Iterator[Node]:
    """A text as Markdown; nothing where it is blank."""
    text = words(value)
    if text.strip():
        yield Prose(text=text)


def text(value: object) -> Iterator[Node]:
    """A text that may be Markdown, or may be read line by line."""
    said = unwrap(words(value))
    if said.text.strip():
        yield Prose(text=said.text) if _MARKDOWN.search(said.text) else Code(text=said.text)
    yield from said.warning()


def note(value: object, level: str = "info") -> Iterator[Node]:
    """A short remark; nothing where it is blank."""
    said = words(value)
    if said.strip():
        yield Note(text=said, level=level)


def section(title: str, nodes: Iterable[Node], *, open: bool = False) -> Iterator[Node]:
    """Nodes under a heading, closed unless told; nothing where there are none."""
    held = list(nodes)
    if held:
        yield Section(title=title, nodes=held, open=open)


def links(*targets: tuple[object, object]) -> Iterator[Node]:
    """Addresses with their titles; nothing where there are none."""
    known = [Target(url=first(url), title=first(title) or None) for url, title in targets if first(url)]
    if known:
        yield Links(targets=known)


def files(*entries: tuple[object, object]) -> Iterator[Node]:
    """Files with what is to be said of each; nothing where there are none."""
    known = [FileEntry(path=first(path), note=first(said) or None) for path, said in entries if first(path)]
    if known:
        yield Files(entries=known)


def content(value: Any) -> Iterator[Node]:
    """Content blocks: texts as Markdown, pictures as such."""
    for block in b.to_blocks(value):
        yield from drawn(block)


def drawn(block: b.Block) -> Iterator[Node]:
    """One content block."""
    if isinstance(block, b.Text):
        said = unwrap(words(block.text))
        yield from prose(said.text)
        yield from said.warning()
        return
    node = generic.block_node(block)
    known = isinstance(node, Picture) and node.data
    yield picture(known, node.media_type) if isinstance(node, Picture) and known else node


def ending(call: ToolCall, message: object = "") -> Iterator[Node]:
    """How a call ended: in the result's own words where it has some, else as any call's ending."""
    said = words(message).strip()
    if said and call.ending.state in (DONE, FAILED):
        yield Note(text=said, level="error" if call.ending.state == FAILED else "info")
    else:
        yield from generic.ending(call)


def refusal(call: ToolCall) -> Iterator[Node]:
    """How a call ended that was never carried through; others say so in their own way."""
    if call.ending.state not in (DONE, FAILED):
        yield from generic.ending(call)


def reply(call: ToolCall) -> Iterator[Node]:
    """How a call ended and what it answered in words."""
    yield from generic.ending(call)
    if call.ending.state == DONE:
        yield from content(getattr(call.block, "content", None))
