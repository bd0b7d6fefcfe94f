"""Read: a file or a part of it, as text, picture, notebook or PDF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from reread.base.coerce import as_dict, as_list
from reread.records import blocks as b
from reread.records.blocks import to_struct
from reread.tools import generic
from reread.tools._diff import line_number, source
from reread.tools._images import measured, picture
from reread.tools._result_text import numbered, unwrap
from reread.tools._values import count, each, first, held, line, number, size, words
from reread.tools.nodes import Code, Node, Note, Picture, Prose, Section, Terminal, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

_CELL = re.compile(
    r'<cell id="([^"]*)">(?:<cell_type>([^<]*)</cell_type>)?(?:<language>([^<]*)</language>)?'
    r'(.*?)</cell id="\1">([^<]*)',
    re.DOTALL,
)
CELLS = '<cell id="'
"""How a notebook begins in the text of a result."""


class Input(Struct, kw_only=True):
    """Which lines or pages of which file."""

    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None
    offset: int | None = None
    limit: int | None = None
    pages: str | None = None
    allow_large: bool | None = None


class Dimensions(Struct, kw_only=True):
    """How large an image is, and how large the model saw it."""

    originalWidth: int | None = None
    originalHeight: int | None = None
    displayWidth: int | None = None
    displayHeight: int | None = None


class CellImage(Struct, kw_only=True):
    """A picture that a cell gave."""

    image_data: str = ""
    media_type: str = "image/png"


class CellOutput(Struct, kw_only=True):
    """Something that a cell gave."""

    output_type: str | None = None
    text: Any = None
    image: CellImage | None = None


class Cell(Struct, kw_only=True):
    """A cell of a notebook."""

    cell_id: str | None = None
    cell: int | None = None
    """Its number, in 1.0."""
    cellType: str | None = None
    source: Any = None
    language: str | None = None
    execution_count: int | None = None
    outputs: list[CellOutput] | None = None


class File(Struct, kw_only=True):
    """What was read, whichever kind of file it is."""

    filePath: str | None = None
    content: str | None = None
    numLines: int | None = None
    startLine: int | None = None
    totalLines: int | None = None
    truncatedByTokenCap: bool | None = None
    base64: str | None = None
    type: str | None = None
    originalSize: int | None = None
    dimensions: Dimensions | None = None
    cells: list[Cell] | None = None
    count: int | None = None
    outputDir: str | None = None


class Output(Struct, kw_only=True):
    """What kind of file it is, and the file."""

    type: str | None = None
    file: File | None = None
    firstPage: Any = None
    pages: Any = None
    artifactRead: Any = None


class Extent(NamedTuple):
    """Which lines were read."""

    start: int
    lines: int | None
    total: int | None

    @property
    def cut(self) -> bool:
        """Whether the file goes on after them."""
        return bool(self.lines) and self.total is not None and self.start + (self.lines or 0) <= self.total

    def __str__(self) -> str:
        end = "" if not self.lines or self.lines == 1 else f"–{self.start + self.lines - 1}"
        of = "" if self.total is None else f" of {self.total}"
        return f"{'' if self.lines else 'from '}{self.start}{end}{of}"


class Reading(NamedTuple):
    """A call with all that its drawing needs, read once."""

    call: ToolCall
    given: Input
    output: Output
    file: File
    kind: str
    """What kind of result it is: as it says, or as its fields say; empty where neither tells."""
    path: str


def _reading(call: ToolCall) -> Reading:
    given, output = call.input(Input), call.output(Output) or Output()
    file = held(output.file, File) or File()
    if as_list(call.data):  # 1.0 gave the cells of a notebook without a file around them
        file = to_struct({"cells": as_list(call.data)}, File)
    fields = {"text": isinstance(file.content, str), "notebook": bool(file.cells), "image": bool(file.base64)}
    said = words(output.type)
    kind = said if said in KINDS else next((kind for kind, holds in fields.items() if holds), "")
    path = first(file.filePath, given.file_path, given.notebook_path, given.path)
    return Reading(call, given, output, file, kind, path)


def title(call: ToolCall) -> str:
    """The file, and which part of it was read."""
    reading = _reading(call)
    said = EXTENTS.get(reading.kind, _range)(reading)
    return " ".join(part for part in (call.name, line(reading.path), said) if part)


def draw(call: ToolCall) -> Iterator[Node]:
    """The file as what it is, or what the result says in its place."""
    yield from generic.ending(call)
    reading = _reading(call)
    drawn = list(KINDS[reading.kind](reading)) if reading.kind else []
    yield from drawn
    if drawn:
        yield from unwrap(call.text).warning()
    elif call.ending.state == DONE:
        yield from _told(reading)


def _range(reading: Reading) -> str:
    """Which lines, where not all were read: `41–80 of 300`."""
    extent = _extent(reading)
    asked = line_number(reading.given.offset) or line_number(reading.given.limit)
    whole = extent.total is not None and extent.start <= 1 and not extent.cut
    return str(extent) if (asked or extent.cut) and not whole else ""


def _extent(reading: Reading) -> Extent:
    """Which lines were read, as the result tells; as they were asked for where it does not."""
    file, given = reading.file, reading.given
    if isinstance(file.content, str):
        lines = line_number(file.numLines)
        lines = file.content.count("\n") + 1 if lines is None else lines
        return Extent(line_number(file.startLine) or 1, lines, line_number(file.totalLines))
    told = numbered(unwrap(reading.call.text).text) if reading.call.ending.state == DONE else None
    if told:
        return Extent(told.start, told.text.count("\n") + 1, None)
    return Extent(line_number(given.offset) or 1, line_number(given.limit), None)


def _text(reading: Reading) -> Iterator[Node]:
    file = reading.file
    if not isinstance(file.content, str):
        return
    extent = _extent(reading)
    if file.truncatedByTokenCap is True:
        yield Note(text=f"cut at the token limit: lines {extent}", level="warning")
    elif extent.cut and not line_number(reading.given.limit):
        yield Note(text=f"cut: lines {extent}", level="warning")
    if file.content:
        yield source(file.content, reading.path, start=extent.start)
    elif extent.total and extent.total > 1:
        yield Note(text=f"nothing there: the file has {extent.total:,} lines")
    else:
        yield Note(text="the file is empty")


def _image(reading: Reading) -> Iterator[Node]:
    file = reading.file
    measure = held(file.dimensions, Dimensions) or Dimensions()
    if first(file.base64):
        yield picture(
            first(file.base64),
            first(file.type) or "image/png",
            name=reading.path or None,
            size=line_number(file.originalSize),
            width=line_number(measure.originalWidth),
            height=line_number(measure.originalHeight),
        )
    shown = _times(measure.displayWidth, measure.displayHeight)
    if shown != _times(measure.originalWidth, measure.originalHeight):
        yield from facts(shown_to_the_model=shown)


def _times(width: object, height: object) -> str:
    known = (line_number(width), line_number(height))
    return f"{known[0]}×{known[1]}" if None not in known else ""


def _measured(reading: Reading) -> str:
    shown = next((node for node in _image(reading) if isinstance(node, Picture)), None)
    return _times(shown.width, shown.height) if shown else ""


def _pdf(reading: Reading) -> Iterator[Node]:
    file = reading.file
    if first(file.base64):
        size_told = line_number(file.originalSize)
        yield picture(first(file.base64), "application/pdf", name=reading.path or None, size=size_told)


def _pages(reading: Reading) -> str:
    asked = line(reading.given.pages, 40)
    return f"pages {asked}" if asked else count(reading.file.count, "page")


def _parts(reading: Reading) -> Iterator[Node]:
    file, output = reading.file, reading.output
    yield from facts(
        pages=count(file.count, "page"),
        size=size(file.originalSize),
        first_page=words(number(output.firstPage)),
        folder=words(file.outputDir),
    )
    for page in map(as_dict, [output.firstPage, *as_list(output.pages)]):
        told = first(page.get("base64"), page.get("data"))
        if told:
            yield picture(told, first(page.get("type"), page.get("media_type")) or "image/jpeg")


def _unchanged(reading: Reading) -> Iterator[Node]:
    yield Note(text="unchanged since it was last read")


def _notebook(reading: Reading) -> Iterator[Node]:
    for place, cell in enumerate(each(reading.file.cells, Cell)):
        name = first(cell.cell_id, cell.cell, place)
        yield _cell(name, words(cell.cellType), cell.language, joined(cell.source), cell.execution_count, _gave(cell))


def _cell(name: str, kind: str, language: object, told: str, run: object, gave: Iterable[Node]) -> Section:
    """A cell under its name, with what it gave."""
    code = kind != "markdown"
    shown = Code(text=told, language=first(language) or None) if code else Prose(text=told)
    marks = ["" if kind == "code" else kind, words(language) if code else "", words(number(run))]
    called = name if name.startswith("cell") else f"cell {name}"
    return Section(title=" · ".join([called, *filter(None, marks)]), nodes=[shown, *gave])


def _gave(cell: Cell) -> Iterator[Node]:
    for output in each(cell.outputs, CellOutput):
        if joined(output.text):
            yield Terminal(text=joined(output.text), stream="err" if output.output_type == "error" else "out")
        image = held(output.image, CellImage)
        if image and first(image.image_data):
            yield picture(first(image.image_data), first(image.media_type) or "image/png")


def joined(value: object) -> str:
    """A text, or the list of its lines as notebooks write them."""
    return "".join(map(words, as_list(value))) or (words(value) if not isinstance(value, list) else "")


def _told(reading: Reading) -> Iterator[Node]:
    """A result that is only text, or pictures."""
    for block in reading.call.blocks:
        if isinstance(block, b.Image | b.Document):
            yield measured(generic.picture(block), reading.path)
    told = unwrap(reading.call.text)
    yield from _cells(told.text) if told.text.startswith(CELLS) else _numbered(told.text, reading.path)
    yield from told.warning()


def _cells(text: str) -> Iterator[Node]:
    """A notebook written as tags."""
    for name, kind, language, told, gave in _CELL.findall(text):
        nodes = [Terminal(text=gave.strip("\n"))] if gave.strip() else []
        yield _cell(name, kind or "code", language or ("" if kind else "python"), told, None, nodes)


def _numbered(text: str, path: str) -> Iterator[Node]:
    """Lines with their numbers before them; anything else as it stands."""
    lines = numbered(text)
    if lines is None:
        yield from _plain(text)
        return
    yield from _plain(lines.before)
    yield source(lines.text, path, start=lines.start)
    yield from _plain(lines.after)


def _plain(text: str) -> Iterator[Node]:
    if text.strip():
        yield Code(text=text) if "\n" in text.strip() else Note(text=text.strip())


KINDS: dict[str, Callable[[Reading], Iterator[Node]]] = {
    "text": _text,
    "image": _image,
    "notebook": _notebook,
    "pdf": _pdf,
    "parts": _parts,
    "file_unchanged": _unchanged,
}
"""How each kind of file is drawn."""

EXTENTS: dict[str, Callable[[Reading], str]] = {
    "image": _measured,
    "notebook": lambda reading: count(len(each(reading.file.cells, Cell)), "cell"),
    "pdf": _pages,
    "parts": _pages,
    "file_unchanged": lambda _: "unchanged",
}
"""What a title says of how much was read, where that is no range of lines."""

TOOLS = [Tool(("Read", "View", "NotebookRead", "ReadNotebook"), title, draw, category="read")]
