"""Write: create or overwrite a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.text import as_text, path_line, plural
from reread.tools import _diff, generic
from reread.tools._values import as_type, first_nonblank
from reread.tools.nodes import Hunk, Node, Note
from reread.tools.tool import Tool, ToolCall


class WriteInput(Struct, frozen=True, kw_only=True):
    """The file and its new content."""

    file_path: str = ""
    content: str = ""


class WriteFile(Struct, frozen=True, kw_only=True):
    """The written file, in the shape of Read's result."""

    filePath: str | None = None
    content: str | None = None
    numLines: int | None = None
    startLine: int | None = None
    totalLines: int | None = None


class WriteResult(Struct, frozen=True, kw_only=True):
    """The written file, and the file before."""

    type: str | None = None
    """create, update, or text if there is a `file`."""
    filePath: str | None = None
    content: str | None = None
    structuredPatch: list[_diff.Patch] | None = None
    originalFile: str | None = None
    userModified: bool | None = None
    gitDiff: Any = None
    staged: bool | None = None
    memdirStamped: bool | None = None
    file: WriteFile | None = None


def title(call: ToolCall) -> str:
    """Return the file, and the number of lines written or changed."""
    output = call.output(WriteResult) or WriteResult()
    hunks = _hunks(output)
    content = _content(call, output)
    lines = plural(content.count("\n") + (not content.endswith("\n")), "line") if content else "empty"
    return " ".join(
        part for part in (call.name, path_line(_path(call, output)), _diff.change_counts(hunks) or lines) if part
    )


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the change to an existing file, or the content of a new one."""
    output = call.output(WriteResult) or WriteResult()
    path, content, hunks = _path(call, output), _content(call, output), _hunks(output)
    yield from generic.outcome_note(call)
    if output.userModified is True:
        yield Note(text="edited by the user before it was written", level="warning")
    yield from _diff.diff_nodes(path, hunks)
    yield from _diff.patch_notes(output.structuredPatch)
    if content and not hunks:
        yield _diff.code_node(content, path, start=_start(output))
    elif not content:
        yield Note(text="empty file")


def _path(call: ToolCall, output: WriteResult) -> str:
    file = as_type(output.file, WriteFile) or WriteFile()
    return first_nonblank(output.filePath, file.filePath, call.input(WriteInput).file_path)


def _content(call: ToolCall, output: WriteResult) -> str:
    file = as_type(output.file, WriteFile) or WriteFile()
    contents = (output.content, file.content, call.input(WriteInput).content)
    return next((as_text(content) for content in contents if content is not None), "")


def _start(output: WriteResult) -> int:
    file = as_type(output.file, WriteFile) or WriteFile()
    return _diff.line_number(file.startLine) or 1


def _hunks(output: WriteResult) -> list[Hunk]:
    """Return the change to an existing file."""
    hunks = _diff.patch_hunks(output.structuredPatch)
    if hunks or not isinstance(output.originalFile, str) or not isinstance(output.content, str):
        return hunks
    return _diff.compute_hunks(output.originalFile, output.content)


TOOLS = [Tool(("Write", "Replace"), title, draw, category="edit", input=WriteInput, result=WriteResult)]
