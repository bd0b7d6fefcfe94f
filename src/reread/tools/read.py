"""Read: a file or a part of it, as text, image, notebook or PDF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.format import as_number, number_text, size_text
from reread.base.late_pattern import late_pattern
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, one_line, path_line, plural
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import _diff, _draw, generic
from reread.tools._diff import code_node, line_number
from reread.tools._values import as_type, first_nonblank, join_parts, list_of, parse_json
from reread.tools.edit import WriteFile
from reread.tools.generic import image_node
from reread.tools.nodes import Code, Hunk, Node, Note, Picture, Prose, Section, Terminal, facts
from reread.tools.spilled import parse_numbered_lines, unwrap
from reread.tools.tool import Tool, ToolCall

_CELL = late_pattern(
    r'<cell id="([^"]*)">(?:<cell_type>([^<]*)</cell_type>)?(?:<language>([^<]*)</language>)?|</cell id="([^"]*)">'
)
CELLS = '<cell id="'
"""How the text of a result begins if it is a notebook."""


class ReadInput(FrozenStruct):
    """The file and the range of lines or pages."""

    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None
    offset: int | None = None
    limit: int | None = None
    pages: str | None = None
    allow_large: bool | None = None


class ImageSize(FrozenStruct):
    """The dimensions of an image, and those that the model saw."""

    originalWidth: int | None = None
    originalHeight: int | None = None
    displayWidth: int | None = None
    displayHeight: int | None = None


class CellImage(FrozenStruct):
    """An image in the output of a cell."""

    image_data: str = ""
    media_type: str = "image/png"


class CellOutput(FrozenStruct):
    """One output of a cell."""

    output_type: str | None = None
    text: Any = None
    image: CellImage | None = None


class NotebookCell(FrozenStruct):
    """A cell of a notebook."""

    cell_id: str | None = None
    cell: int | None = None
    """The number of the cell, in version 1.0."""
    cellType: str | None = None
    source: Any = None
    language: str | None = None
    execution_count: int | None = None
    outputs: list[CellOutput] | None = None


class ReadContent(WriteFile):
    """The content that was read, for every kind of file."""

    truncatedByTokenCap: bool | None = None
    base64: str | None = None
    type: str | None = None
    originalSize: int | None = None
    dimensions: ImageSize | None = None
    cells: list[NotebookCell] | None = None
    count: int | None = None
    outputDir: str | None = None


class ReadResult(FrozenStruct):
    """The kind of file, and the file."""

    type: str | None = None
    file: ReadContent | None = None
    firstPage: Any = None
    pages: Any = None
    artifactRead: Any = None


class LineRange(NamedTuple):
    """The lines that were read."""

    start: int
    length: int | None
    total: int | None

    @property
    def is_truncated(self) -> bool:
        """True if the file has more lines after these."""
        return bool(self.length) and self.total is not None and self.start + (self.length or 0) <= self.total

    def __str__(self) -> str:
        end = "" if not self.length or self.length == 1 else f"–{self.start + self.length - 1}"
        of = "" if self.total is None else f" of {self.total}"
        return f"{'' if self.length else 'from '}{self.start}{end}{of}"


class FileRead(NamedTuple):
    """A call with its input and its result, parsed once."""

    call: ToolCall
    args: ReadInput
    output: ReadResult
    file: ReadContent
    kind: str
    """The kind of result, by its type or its fields; empty if unknown."""
    path: str


def _parse(call: ToolCall) -> FileRead:
    args, output = call.input(ReadInput), call.output(ReadResult) or ReadResult()
    file = as_type(output.file, ReadContent) or ReadContent()
    if as_list(call.data):  # version 1.0 recorded the cells of a notebook without a file around them
        file = to_struct({"cells": as_list(call.data)}, ReadContent)
    fields = {"text": isinstance(file.content, str), "notebook": bool(file.cells), "image": bool(file.base64)}
    recorded = as_text(output.type)
    kind = recorded if recorded in KINDS else next((kind for kind, present in fields.items() if present), "")
    path = first_nonblank(file.filePath, args.file_path, args.notebook_path, args.path)
    return FileRead(call, args, output, file, kind, path)


def title(call: ToolCall) -> str:
    """Return the file and the part that was read."""
    read = _parse(call)
    return join_parts(call.name, path_line(read.path), PARTS.get(read.kind, _range_text)(read))


def draw(call: ToolCall) -> Iterator[Node]:
    """Draw the file, or what the result says instead."""
    yield from generic.outcome_note(call)
    read = _parse(call)
    nodes = list(KINDS[read.kind](read)) if read.kind else []
    yield from nodes
    if nodes:
        yield from unwrap(call.text).warning()
    elif call.outcome.state == DONE:
        yield from _plain(read)


def _range_text(read: FileRead) -> str:
    """Return the lines that were read, unless all were: `41–80 of 300`."""
    lines = _line_range(read)
    requested = line_number(read.args.offset) or line_number(read.args.limit)
    whole = lines.total is not None and lines.start <= 1 and not lines.is_truncated
    return str(lines) if (requested or lines.is_truncated) and not whole else ""


def _line_range(read: FileRead) -> LineRange:
    """Return the lines that were read, or the requested ones if the result does not say."""
    file, args = read.file, read.args
    if isinstance(file.content, str):
        count = line_number(file.numLines)
        count = file.content.count("\n") + 1 if count is None else count
        return LineRange(line_number(file.startLine) or 1, count, line_number(file.totalLines))
    numbered = parse_numbered_lines(unwrap(read.call.text).text) if read.call.outcome.state == DONE else None
    if numbered:
        return LineRange(numbered.start, numbered.text.count("\n") + 1, None)
    return LineRange(line_number(args.offset) or 1, line_number(args.limit), None)


def _text(read: FileRead) -> Iterator[Node]:
    file = read.file
    if not isinstance(file.content, str):
        return
    lines = _line_range(read)
    if file.truncatedByTokenCap is True:
        yield Note(text=f"truncated at the token limit: lines {lines}", level="warning")
    elif lines.is_truncated and not line_number(read.args.limit):
        yield Note(text=f"truncated: lines {lines}", level="warning")
    if file.content:
        yield code_node(file.content, read.path, start=lines.start)
    elif lines.total and lines.total > 1:
        yield Note(text=f"no lines in this range; the file has {lines.total:,} lines")
    else:
        yield Note(text="the file is empty")


def _image(read: FileRead) -> Iterator[Node]:
    file = read.file
    dimensions = as_type(file.dimensions, ImageSize) or ImageSize()
    if first_nonblank(file.base64):
        yield image_node(
            first_nonblank(file.base64),
            first_nonblank(file.type) or "image/png",
            name=read.path or None,
            size=line_number(file.originalSize),
            width=line_number(dimensions.originalWidth),
            height=line_number(dimensions.originalHeight),
        )
    shown = _width_by_height(dimensions.displayWidth, dimensions.displayHeight)
    if shown != _width_by_height(dimensions.originalWidth, dimensions.originalHeight):
        yield from facts(shown_to_the_model=shown)


def _width_by_height(width: object, height: object) -> str:
    known = (line_number(width), line_number(height))
    return f"{known[0]}×{known[1]}" if None not in known else ""


def _dimensions_text(read: FileRead) -> str:
    image = next((node for node in _image(read) if isinstance(node, Picture)), None)
    return _width_by_height(image.width, image.height) if image else ""


def _pdf(read: FileRead) -> Iterator[Node]:
    file = read.file
    if first_nonblank(file.base64):
        size = line_number(file.originalSize)
        yield image_node(first_nonblank(file.base64), "application/pdf", name=read.path or None, size=size)


def _pages_text(read: FileRead) -> str:
    requested = one_line(read.args.pages, 40)
    return f"pages {requested}" if requested else plural(read.file.count, "page")


def _parts(read: FileRead) -> Iterator[Node]:
    file, output = read.file, read.output
    yield from facts(
        pages=plural(file.count, "page"),
        size=size_text(file.originalSize),
        first_page=as_number(output.firstPage),
        folder=file.outputDir,
    )
    for page in map(as_dict, [output.firstPage, *as_list(output.pages)]):
        data = first_nonblank(page.get("base64"), page.get("data"))
        if data:
            yield image_node(data, first_nonblank(page.get("type"), page.get("media_type")) or "image/jpeg")


def _unchanged(read: FileRead) -> Iterator[Node]:
    yield Note(text="unchanged since it was last read")


def _notebook(read: FileRead) -> Iterator[Node]:
    for index, cell in enumerate(list_of(read.file.cells, NotebookCell)):
        name = first_nonblank(cell.cell_id, cell.cell, index)
        kind, source, outputs = as_text(cell.cellType), source_text(cell.source), _cell_outputs(cell)
        yield _cell_section(name, kind, cell.language, source, outputs, cell.execution_count)


def _cell_section(
    name: str, kind: str, language: object, source: str, outputs: Iterable[Node], execution_count: object = None
) -> Section:
    """Return a cell and its outputs under a heading."""
    is_code = kind != "markdown"
    node = Code(text=source, language=first_nonblank(language) or None) if is_code else Prose(text=source)
    heading = name if name.startswith("cell") else f"cell {name}"
    remarks = ("" if kind == "code" else kind, as_text(language) if is_code else "", number_text(execution_count))
    return Section(title=join_parts(heading, *remarks, separator=" · "), nodes=[node, *outputs])


def _cell_outputs(cell: NotebookCell) -> Iterator[Node]:
    for output in list_of(cell.outputs, CellOutput):
        if source_text(output.text):
            yield Terminal(text=source_text(output.text), stream="err" if output.output_type == "error" else "out")
        image = as_type(output.image, CellImage)
        if image and first_nonblank(image.image_data):
            yield image_node(first_nonblank(image.image_data), first_nonblank(image.media_type) or "image/png")


def source_text(value: object) -> str:
    """Return a text, or the joined list of its lines, as notebooks store them."""
    return "".join(map(as_text, as_list(value))) or (as_text(value) if not isinstance(value, list) else "")


def _plain(read: FileRead) -> Iterator[Node]:
    """Draw a result that has only text or images."""
    for block in read.call.blocks:
        if isinstance(block, b.Image | b.Document):
            yield generic.media_node(block, read.path or None)
    result = unwrap(read.call.text)
    yield from _tagged_cells(result.text) if result.text.startswith(CELLS) else _numbered(result.text, read.path)
    yield from result.warning()


def _tagged_cells(text: str) -> Iterator[Node]:
    """Draw a notebook written as tags."""
    for name, kind, language, source, output in _cells(text):
        nodes = [Terminal(text=output.strip("\n"))] if output.strip() else []
        yield _cell_section(name, kind or "code", language or ("" if kind else "python"), source, nodes)


def _cells(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the name, kind, language, source and output of each cell; a cell without an end has none."""
    opened: re.Match[str] | None = None
    for tag in _CELL.finditer(text):
        if tag[4] is None:
            opened = opened or tag
        elif opened is not None and tag[4] == opened[1]:
            output = text[tag.end() : text.find("<", tag.end()) % (len(text) + 1)]
            yield opened[1], opened[2] or "", opened[3] or "", text[opened.end() : tag.start()], output
            opened = None


def _numbered(text: str, path: str) -> Iterator[Node]:
    """Draw numbered lines as a file, and any other text as it is."""
    lines = parse_numbered_lines(text)
    if lines is None:
        yield from _lines_or_note(text)
        return
    yield from _lines_or_note(lines.before)
    yield code_node(lines.text, path, start=lines.start)
    yield from _lines_or_note(lines.after)


def _lines_or_note(text: str) -> Iterator[Node]:
    if text.strip():
        yield Code(text=text) if "\n" in text.strip() else Note(text=text.strip())


KINDS: dict[str, Callable[[FileRead], Iterator[Node]]] = {
    "text": _text,
    "image": _image,
    "notebook": _notebook,
    "pdf": _pdf,
    "parts": _parts,
    "file_unchanged": _unchanged,
}
"""Draws each kind of file."""

PARTS: dict[str, Callable[[FileRead], str]] = {
    "image": _dimensions_text,
    "notebook": lambda read: plural(list_of(read.file.cells, NotebookCell), "cell"),
    "pdf": _pages_text,
    "parts": _pages_text,
    "file_unchanged": lambda _: "unchanged",
}
"""The part that was read, as a title says it, for each kind that is not text."""


REPLACE, INSERT, DELETE = "replace", "insert", "delete"


class NotebookEditInput(FrozenStruct):
    """The cell and its new source."""

    notebook_path: str = ""
    cell_id: str | None = None
    cell_number: int | None = None
    new_source: str = ""
    cell_type: str | None = None
    edit_mode: str | None = None


class NotebookEditResult(FrozenStruct):
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


def notebook_title(call: ToolCall) -> str:
    """Return the notebook, the mode, the cell and the number of changed lines."""
    args, output = _input_output(call)
    path = first_nonblank(output.notebook_path, args.notebook_path)
    cell = one_line(_cell(args, output) or _after(args, output), 40)
    return join_parts(call.name, path_line(path), _mode(args, output), cell, _diff.change_counts(_hunks(args, output)))


def notebook_draw(call: ToolCall) -> Iterator[Node]:
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
        ("Read", "View", "NotebookRead", "ReadNotebook"),
        title,
        draw,
        category="read",
        input=ReadInput,
        result=ReadResult | list[NotebookCell],
    ),
    Tool(
        ("NotebookEdit", "NotebookEditCell"),
        notebook_title,
        notebook_draw,
        category="edit",
        input=NotebookEditInput,
        result=NotebookEditResult,
    ),
]
