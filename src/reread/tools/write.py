"""Write: a file made or written anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.tools import _diff, generic
from reread.tools._values import count, first, held, line, words
from reread.tools.nodes import Hunk, Node, Note
from reread.tools.tool import Tool
from reread.tools.tool_call import ToolCall


class Input(Struct, kw_only=True):
    """What is to stand in which file."""

    file_path: str = ""
    content: str = ""


class File(Struct, kw_only=True):
    """What was written, in the same shape that Read gives."""

    filePath: str | None = None
    content: str | None = None
    numLines: int | None = None
    startLine: int | None = None
    totalLines: int | None = None


class Output(Struct, kw_only=True):
    """What was written, and what stood there before."""

    type: str | None = None
    """create, update, or text where there is a `file`."""
    filePath: str | None = None
    content: str | None = None
    structuredPatch: list[_diff.Patch] | None = None
    originalFile: str | None = None
    userModified: bool | None = None
    gitDiff: Any = None
    staged: bool | None = None
    memdirStamped: bool | None = None
    file: File | None = None


def title(call: ToolCall) -> str:
    """The file, and how much of it is new."""
    output = call.output(Output) or Output()
    hunks = _hunks(output)
    content = _content(call, output)
    lines = count(content.count("\n") + (not content.endswith("\n")), "line") if content else "empty"
    return " ".join(part for part in (call.name, line(_path(call, output)), _diff.tally(hunks) or lines) if part)


def draw(call: ToolCall) -> Iterator[Node]:
    """What changed where the file was there before, else what was written."""
    output = call.output(Output) or Output()
    path, content, hunks = _path(call, output), _content(call, output), _hunks(output)
    yield from generic.ending(call)
    if output.userModified is True:
        yield Note(text="changed by the user before it was written", level="warning")
    yield from _diff.changed(path, hunks)
    yield from _diff.remarks(output.structuredPatch)
    if content and not hunks:
        yield _diff.source(content, path, start=_start(output))
    elif not content:
        yield Note(text="an empty file")


def _path(call: ToolCall, output: Output) -> str:
    file = held(output.file, File) or File()
    return first(output.filePath, file.filePath, call.input(Input).file_path)


def _content(call: ToolCall, output: Output) -> str:
    file = held(output.file, File) or File()
    told = (output.content, file.content, call.input(Input).content)
    return next((words(content) for content in told if content is not None), "")


def _start(output: Output) -> int:
    file = held(output.file, File) or File()
    return _diff.line_number(file.startLine) or 1


def _hunks(output: Output) -> list[Hunk]:
    """The change to a file that was there before."""
    hunks = _diff.patched(output.structuredPatch)
    if hunks or not isinstance(output.originalFile, str) or not isinstance(output.content, str):
        return hunks
    return _diff.between(output.originalFile, output.content)


TOOLS = [Tool(("Write", "Replace"), title, draw, category="edit")]
