"""Edit and MultiEdit: one text in a file replaced by another, or several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from reread.tools import _diff, generic
from reread.tools._diff import Edit, Patch
from reread.tools._result_text import numbered
from reread.tools._values import count, each, first, line, words
from reread.tools.nodes import Hunk, Node, Note
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

MULTI = "MultiEdit"


class EditInput(Struct, kw_only=True):
    """What is to replace what in which file."""

    file_path: str = ""
    old_string: str = ""
    new_string: str = ""
    replace_all: bool | None = None


class MultiEditInput(Struct, kw_only=True):
    """Several replacements, one after the other."""

    file_path: str = ""
    edits: list[Edit] | None = None


class Output(Struct, kw_only=True):
    """What was replaced, and the file as it was."""

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


class Change(NamedTuple):
    """A change as both tools make it."""

    path: str
    edits: list[Edit]
    hunks: list[Hunk]
    output: Output


def title(call: ToolCall) -> str:
    """The file, and how many lines came and went."""
    change = _change(call)
    many = count(len(change.edits), "edit") if call.name == MULTI else ""
    parts = (call.name, line(change.path), many, _diff.tally(change.hunks))
    return " ".join(part for part in parts if part)


def draw(call: ToolCall) -> Iterator[Node]:
    """The change, or the one that was tried."""
    change = _change(call)
    output = change.output
    yield from generic.ending(call)
    if output.userModified is True:
        yield Note(text="changed by the user before it was made", level="warning")
    if output.staleRecovered is True:
        yield Note(text="the file had changed since it was read; the edit still fitted", level="warning")
    if any(edit.replace_all is True for edit in change.edits):
        yield Note(text="every occurrence")
    yield from _diff.changed(change.path, change.hunks)
    yield from _diff.remarks(output.structuredPatch)


def _change(call: ToolCall) -> Change:
    output = call.output(Output) or Output()
    path = first(output.filePath, call.input(EditInput).file_path)
    original = first(output.originalFile, output.originalFileContents)
    edits = _edits(call, output)
    hunks = _diff.patched(output.structuredPatch) or _computed(call, edits, original)
    return Change(path, edits, hunks, output)


def _edits(call: ToolCall, output: Output) -> list[Edit]:
    """The replacements: as made where that is told, else as asked for."""
    several = each(output.edits, Edit) or each(call.input(MultiEditInput).edits, Edit)
    if several:
        return several
    given = call.input(EditInput)
    made = output.newString is not None
    old = output.oldString if made else given.old_string
    new = output.newString if made else given.new_string
    every = output.replaceAll is True or given.replace_all is True
    return [Edit(old_string=words(old), new_string=words(new), replace_all=every)]


def _computed(call: ToolCall, edits: list[Edit], original: str) -> list[Hunk]:
    """The change where the client wrote no patch: in the file if that is known, else in the texts alone."""
    after = _diff.applied(original, edits) if original else None
    if after is not None:
        return _diff.between(original, after)
    hunks: list[Hunk] = []
    for edit in edits:
        new = words(edit.new_string)
        hunks += _diff.between(words(edit.old_string), new, start=_place(call, new))
    return hunks


def _place(call: ToolCall, new: str) -> int:
    """The line of a new text, where the result shows it in its surroundings."""
    shown = numbered(call.text) if call.ending.state == DONE and new else None
    at = shown.text.find(new) if shown else -1
    return shown.start + shown.text.count("\n", 0, at) if shown and at >= 0 else 1


TOOLS = [Tool(("Edit",), title, draw, category="edit"), Tool((MULTI,), title, draw, category="edit")]
