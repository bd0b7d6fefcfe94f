"""Build the nodes that many tools share, from untrusted values; a blank value builds no node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from reread.base.choices import DONE, FAILED
from reread.base.text import as_text
from reread.records import blocks as b
from reread.tools import generic
from reread.tools._values import first_nonblank
from reread.tools.nodes import Code, FileEntry, Files, Links, Node, Note, Prose, Section, Target, Terminal
from reread.tools.spilled import unwrap
from reread.tools.tool import ToolCall

_MARKDOWN = re.compile(r"^(?:#{1,6} |```|\|.*\|[ \t]*$)|\*\*\S|\]\(\w", re.MULTILINE)


def prose(value: object) -> Iterator[Node]:
    """Yield a text as Markdown."""
    text = as_text(value)
    if text.strip():
        yield Prose(text=text)


def prose_or_code(value: object) -> Iterator[Node]:
    """Yield a text as Markdown if it looks like Markdown, else as plain lines."""
    result = unwrap(as_text(value))
    if result.text.strip():
        yield Prose(text=result.text) if _MARKDOWN.search(result.text) else Code(text=result.text)
    yield from result.warning()


def note(value: object, level: str = "info") -> Iterator[Node]:
    """Yield a short remark."""
    text = as_text(value)
    if text.strip():
        yield Note(text=text, level=level)


def terminal(value: object, stream: str = "out") -> Iterator[Node]:
    """Yield a command (`in`) or what a program printed (`out`, `err`)."""
    text = as_text(value)
    if text.strip():
        yield Terminal(text=text, stream=stream)


def section(title: str, nodes: Iterable[Node], *, open: bool = False) -> Iterator[Node]:
    """Yield nodes under a heading, if there are any."""
    children = list(nodes)
    if children:
        yield Section(title=title, nodes=children, open=open)


def links(*targets: tuple[object, object]) -> Iterator[Node]:
    """Yield links, each a URL and a title."""
    known = [
        Target(url=first_nonblank(url), title=first_nonblank(title) or None)
        for url, title in targets
        if first_nonblank(url)
    ]
    if known:
        yield Links(targets=known)


def file_list(*entries: tuple[object, object]) -> Iterator[Node]:
    """Yield a list of files, each a path and a note."""
    named = [(first_nonblank(path), first_nonblank(note) or None) for path, note in entries]
    known = [FileEntry(path=path, note=note) for path, note in named if path]
    if known:
        yield Files(entries=known)


def draw_content(value: Any) -> Iterator[Node]:
    """Yield the nodes of message content: a text, or a list of content blocks."""
    for block in b.to_blocks(value):
        yield from content_block(block)


def content_block(block: b.Block) -> Iterator[Node]:
    """Yield the nodes of one content block; a text is Markdown."""
    if isinstance(block, b.Text):
        result = unwrap(as_text(block.text))
        yield from prose(result.text)
        yield from result.warning()
    else:
        yield generic.block_node(block)


def outcome_message(call: ToolCall, message: object = "") -> Iterator[Node]:
    """Yield how a call ended: in the words of `message` if the tool ran to its end, else as `generic` does."""
    text = as_text(message).strip()
    if text and call.outcome.state in (DONE, FAILED):
        yield Note(text=text, level="error" if call.outcome.state == FAILED else "info")
    else:
        yield from generic.outcome_note(call)


def unfinished_note(call: ToolCall) -> Iterator[Node]:
    """Yield how a call ended if it did not run to its end: it is still running, denied or interrupted."""
    if call.outcome.state not in (DONE, FAILED):
        yield from generic.outcome_note(call)


def plain_result(call: ToolCall, message: object = "") -> Iterator[Node]:
    """Yield how a call ended: in the words of `message` if there are any, else with the content of its result."""
    yield from outcome_message(call, message)
    if call.outcome.state == DONE and not as_text(message).strip():
        for block in call.blocks:
            yield from content_block(block)
