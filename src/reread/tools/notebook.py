"""NotebookEdit: replace, insert or delete a cell of a notebook."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.text import as_text, one_line, path_line
from reread.tools import _diff, _draw, generic
from reread.tools._values import first_nonblank, join_parts, parse_json
from reread.tools.nodes import Code, Hunk, Node, Note, Prose, facts
from reread.tools.read import source_text
from reread.tools.tool import Tool, ToolCall

REPLACE, INSERT, DELETE = "replace", "insert", "delete"


class NotebookEditInput(Struct, frozen=True, kw_only=True):
    """The cell and its new source."""

    notebook_path: str = ""
    cell_id: str | None = None
    cell_number: int | None = None
    new_source: str = ""
    cell_type: str | None = None
    edit_mode: str | None = None


class NotebookEditResult(Struct, frozen=True, kw_only=True):
    """The changed cell, and the notebook before and after."""

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
    """Return the notebook, the mode, the cell and the number of changed lines."""
    args, output = _input_output(call)
    path = first_nonblank(output.notebook_path, args.notebook_path)
    cell = one_line(_cell(args, output) or _after(args, output), 40)
    return join_parts(call.name, path_line(path), _mode(args, output), cell, _diff.change_counts(_hunks(args, output)))


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the change to the cell, or its new source."""
    args, output = _input_output(call)
    yield from generic.outcome_note(call)
    yield from _draw.note(output.error, "error")
    yield from facts(
        cell=_cell(args, output),
        position=_after(args, output),
        type=first_nonblank(output.cell_type, args.cell_type),
        language=output.language,
    )
    shown = list(_source(args, output))
    yield from shown
    if not shown and call.outcome.state == DONE:
        yield from _draw.note(call.text)


def _input_output(call: ToolCall) -> tuple[NotebookEditInput, NotebookEditResult]:
    return call.input(NotebookEditInput), call.output(NotebookEditResult) or NotebookEditResult()


def _mode(args: NotebookEditInput, output: NotebookEditResult) -> str:
    return one_line(first_nonblank(output.edit_mode, args.edit_mode), 20) or REPLACE


def _cell(args: NotebookEditInput, output: NotebookEditResult) -> str:
    """Return the id or number of the cell; for an insertion, only the result has it."""
    changed = first_nonblank(output.cell_id, output.cell_number)
    return changed if _mode(args, output) == INSERT else changed or first_nonblank(args.cell_id, args.cell_number)


def _after(args: NotebookEditInput, output: NotebookEditResult) -> str:
    """Return where a cell was inserted."""
    before = first_nonblank(args.cell_id, args.cell_number)
    return f"after {before}" if before and _mode(args, output) == INSERT else ""


def _source(args: NotebookEditInput, output: NotebookEditResult) -> Iterator[Node]:
    hunks, new = _hunks(args, output), first_nonblank(output.new_source, args.new_source)
    kind = first_nonblank(output.cell_type, args.cell_type)
    if hunks:
        yield from _diff.diff_nodes(first_nonblank(output.notebook_path, args.notebook_path), hunks)
    elif new and kind == "markdown":
        yield Prose(text=new)
    elif new:
        yield Code(text=new, language=first_nonblank(output.language) or "python")
    elif _mode(args, output) == REPLACE:
        yield Note(text="empty cell")


def _hunks(args: NotebookEditInput, output: NotebookEditResult) -> list[Hunk]:
    """Return the change to a cell if its old source is known."""
    if _mode(args, output) == INSERT:
        return []
    old = first_nonblank(output.old_source) or _old_source(output, _cell(args, output))
    return _diff.compute_hunks(old, first_nonblank(output.new_source, args.new_source)) if old else []


def _old_source(output: NotebookEditResult, name: str) -> str:
    """Return the source of a cell in the original notebook."""
    cells = map(as_dict, as_list(as_dict(parse_json(as_text(output.original_file))).get("cells")))
    named = (cell for index, cell in enumerate(cells) if name in (cell.get("id"), f"cell-{index}", str(index)))
    return source_text(as_dict(next(named, None)).get("source"))


TOOLS = [
    Tool(
        ("NotebookEdit", "NotebookEditCell"),
        title,
        draw,
        category="edit",
        input=NotebookEditInput,
        result=NotebookEditResult,
    )
]
