"""Edit and MultiEdit, which replace text in a file, and Write, which replaces all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from reread.base.choices import DONE
from reread.base.coerce import as_dict
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, path_line, plural
from reread.tools import _diff, generic
from reread.tools._diff import Edit, Patch
from reread.tools._values import as_type, first_nonblank, join_parts, list_of
from reread.tools.nodes import Hunk, Node, Note
from reread.tools.spilled import parse_numbered_lines
from reread.tools.tool import Tool, ToolCall, replaces_all

MULTI = "MultiEdit"


class EditInput(FrozenStruct):
    """The input of Edit."""

    file_path: str = ""
    old_string: str = ""
    new_string: str = ""
    replace_all: bool | None = None


class MultiEditInput(FrozenStruct):
    """The input of MultiEdit: replacements in sequence."""

    file_path: str = ""
    edits: list[Edit] | None = None


class EditResult(FrozenStruct):
    """The result of both: what was replaced, and the file before."""

    filePath: str | None = None
    oldString: str | None = None
    newString: str | None = None
    edits: list[Edit] | None = None
    originalFile: str | None = None
    originalFileContents: str | None = None
    structuredPatch: list[Patch] | None = None
    userModified: bool | None = None
    replaceAll: bool | None = None
    staleRecovered: bool | None = None
    memdirStamped: bool | None = None
    contentNotInModelContext: bool | None = None
    gitDiff: Any = None


class EditChange(NamedTuple):
    """A change made by either tool."""

    path: str
    edits: list[Edit]
    hunks: list[Hunk]
    output: EditResult


def title(call: ToolCall) -> str:
    """Return the file and the number of changed lines."""
    change = _change(call)
    edits = plural(change.edits, "edit") if call.name == MULTI else ""
    return join_parts(call.name, path_line(change.path), edits, _diff.change_counts(change.hunks))


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the change, or the one that was attempted."""
    change = _change(call)
    output = change.output
    yield from generic.outcome_note(call)
    if output.userModified is True:
        yield Note(text="edited by the user before it was applied", level="warning")
    if output.staleRecovered is True:
        yield Note(text="the file had changed since it was read; the edit still applied", level="warning")
    if replaces_all(call.arguments) or replaces_all(as_dict(call.data)):
        yield Note(text="replaces every occurrence")
    yield from _diff.diff_nodes(change.path, change.hunks)
    yield from _diff.patch_notes(output.structuredPatch)


def _change(call: ToolCall) -> EditChange:
    output = call.output(EditResult) or EditResult()
    path = first_nonblank(output.filePath, call.input(EditInput).file_path)
    original = first_nonblank(output.originalFile, output.originalFileContents)
    edits = _edits(call, output)
    hunks = _diff.patch_hunks(output.structuredPatch) or _computed(call, edits, original)
    return EditChange(path, edits, hunks, output)


def _edits(call: ToolCall, output: EditResult) -> list[Edit]:
    """Return the replacements as made, or as requested if the result does not say."""
    made, asked = list_of(output.edits, Edit), list_of(call.input(MultiEditInput).edits, Edit)
    if len(made) == len(asked):  # the result may leave out `replace_all`
        made = [
            replace(edit, replace_all=edit.replace_all or ask.replace_all)
            for edit, ask in zip(made, asked, strict=True)
        ]
    if made or asked:
        return made or asked
    args = call.input(EditInput)
    is_made = output.newString is not None
    old = output.oldString if is_made else args.old_string
    new = output.newString if is_made else args.new_string
    replace_all = output.replaceAll is True or args.replace_all is True
    return [Edit(old_string=as_text(old), new_string=as_text(new), replace_all=replace_all)]


def _computed(call: ToolCall, edits: list[Edit], original: str) -> list[Hunk]:
    """Compute the change if the client recorded no patch: in the whole file if that is known, else in the texts."""
    after = _diff.apply_edits(original, edits) if original else None
    if after is not None:
        return _diff.compute_hunks(original, after)
    hunks: list[Hunk] = []
    for edit in edits:
        new = as_text(edit.new_string)
        hunks += _diff.compute_hunks(as_text(edit.old_string), new, start=_line_of(call, new))
    return hunks


def _line_of(call: ToolCall, new: str) -> int:
    """Return the line number of a new text if the result shows the lines around it, else 1."""
    shown = parse_numbered_lines(call.text) if call.outcome.state == DONE and new else None
    at = shown.text.find(new) if shown else -1
    return shown.start + shown.text.count("\n", 0, at) if shown and at >= 0 else 1


class WriteInput(FrozenStruct):
    """The file and its new content."""

    file_path: str = ""
    content: str = ""


class WriteFile(FrozenStruct):
    """The written file, in the shape of Read's result, which has more fields."""

    filePath: str | None = None
    content: str | None = None
    numLines: int | None = None
    startLine: int | None = None
    totalLines: int | None = None


class WriteResult(FrozenStruct):
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


def write_title(call: ToolCall) -> str:
    """Return the file, and the number of lines written or changed."""
    output = call.output(WriteResult) or WriteResult()
    hunks = _hunks(output)
    content = _content(call, output)
    lines = plural(content.count("\n") + (not content.endswith("\n")), "line") if content else "empty"
    return " ".join(
        part for part in (call.name, path_line(_path(call, output)), _diff.change_counts(hunks) or lines) if part
    )


def write_draw(call: ToolCall) -> Iterator[Node]:
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


TOOLS = [
    Tool(("Edit",), title, draw, category="edit", input=EditInput, result=EditResult),
    Tool((MULTI,), title, draw, category="edit", input=MultiEditInput, result=EditResult),
    Tool(("Write", "Replace"), write_title, write_draw, category="edit", input=WriteInput, result=WriteResult),
]
