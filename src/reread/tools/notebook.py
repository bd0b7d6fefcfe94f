"""NotebookEdit: a cell of a notebook replaced, inserted or deleted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.coerce import as_dict, as_list
from reread.tools import _diff, _draw, generic
from reread.tools._values import first, line, parsed, words
from reread.tools.nodes import Code, Hunk, Node, Note, Prose, facts
from reread.tools.read import joined
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

REPLACE, INSERT, DELETE = "replace", "insert", "delete"


class Input(Struct, kw_only=True):
    """What is to stand in which cell."""

    notebook_path: str = ""
    cell_id: str | None = None
    cell_number: int | None = None
    new_source: str = ""
    cell_type: str | None = None
    edit_mode: str | None = None


class Output(Struct, kw_only=True):
    """What was changed, and the notebook before and after."""

    notebook_path: str | None = None
    cell_id: str | None = None
    cell_number: int | None = None
    new_source: str | None = None
    old_source: str | None = None
    cell_type: str | None = None
    language: str | None = None
    edit_mode: str | None = None
    error: str | None = None
    original_file: str | None = None
    updated_file: str | None = None


def title(call: ToolCall) -> str:
    """The notebook, what was done to which cell, and how many lines came and went."""
    given, output = _both(call)
    path = first(output.notebook_path, given.notebook_path)
    cell = line(_cell(given, output) or _after(given, output), 40)
    parts = (call.name, line(path), _mode(given, output), cell, _diff.tally(_hunks(given, output)))
    return " ".join(part for part in parts if part)


def draw(call: ToolCall) -> Iterator[Node]:
    """The change to the cell, or the cell as it is now."""
    given, output = _both(call)
    yield from generic.ending(call)
    yield from _draw.note(output.error, "error")
    yield from facts(
        cell=_cell(given, output),
        place=_after(given, output),
        type=first(output.cell_type, given.cell_type),
        language=words(output.language),
    )
    shown = list(_source(given, output))
    yield from shown
    if not shown and call.ending.state == DONE:
        yield from _draw.note(call.text)


def _both(call: ToolCall) -> tuple[Input, Output]:
    return call.input(Input), call.output(Output) or Output()


def _mode(given: Input, output: Output) -> str:
    return line(first(output.edit_mode, given.edit_mode), 20) or REPLACE


def _cell(given: Input, output: Output) -> str:
    """The cell, where it is known: that of an insertion only the result tells."""
    told = first(output.cell_id, output.cell_number)
    return told if _mode(given, output) == INSERT else told or first(given.cell_id, given.cell_number)


def _after(given: Input, output: Output) -> str:
    """Where a cell was inserted."""
    before = first(given.cell_id, given.cell_number)
    return f"after {before}" if before and _mode(given, output) == INSERT else ""


def _source(given: Input, output: Output) -> Iterator[Node]:
    hunks, new = _hunks(given, output), first(output.new_source, given.new_source)
    kind = first(output.cell_type, given.cell_type)
    if hunks:
        yield from _diff.changed(first(output.notebook_path, given.notebook_path), hunks)
    elif new and kind == "markdown":
        yield Prose(text=new)
    elif new:
        yield Code(text=new, language=first(output.language) or "python")
    elif _mode(given, output) == REPLACE:
        yield Note(text="an empty cell")


def _hunks(given: Input, output: Output) -> list[Hunk]:
    """The change to a cell whose old text is known."""
    if _mode(given, output) == INSERT:
        return []
    old = first(output.old_source) or _before(output, _cell(given, output))
    return _diff.between(old, first(output.new_source, given.new_source)) if old else []


def _before(output: Output, name: str) -> str:
    """What a cell held in the notebook before."""
    cells = map(as_dict, as_list(as_dict(parsed(words(output.original_file))).get("cells")))
    named = (cell for place, cell in enumerate(cells) if name in (cell.get("id"), f"cell-{place}", str(place)))
    return joined(as_dict(next(named, None)).get("source"))


TOOLS = [Tool(("NotebookEdit", "NotebookEditCell"), title, draw, category="edit")]
