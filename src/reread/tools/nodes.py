"""The node types that tools build and views draw."""

from __future__ import annotations

from typing import Any

from reread.base.structs import FrozenStruct
from reread.base.text import as_text


class Node(FrozenStruct, tag_field="node"):
    """The base of all nodes."""


class Prose(Node, tag="prose"):
    """Markdown."""

    text: str


class Code(Node, tag="code"):
    """Source code, or other text to read line by line."""

    text: str
    language: str | None = None
    """A name that highlighters know; None for plain text."""
    path: str | None = None
    start: int | None = None
    """The number of the first line; None if lines have no numbers."""
    marks: list[str] = []
    """Texts to highlight wherever they occur: the matches of a search."""


class Hunk(FrozenStruct):
    """A run of changed lines; each begins with a space, `-` or `+`."""

    old_start: int
    new_start: int
    lines: list[str]


class Diff(Node, tag="diff"):
    """A change to a file."""

    path: str | None = None
    hunks: list[Hunk] = []


class Terminal(Node, tag="terminal"):
    """A command, or what a program printed, with its colour codes."""

    text: str
    stream: str = "out"
    """in, out or err."""


class FileEntry(FrozenStruct):
    """A file in a list."""

    path: str
    note: str | None = None
    """A count, a size, a state."""


class Files(Node, tag="files"):
    """A list of files; a view draws several as a tree."""

    entries: list[FileEntry]


class ChecklistItem(FrozenStruct):
    """One item of a checklist."""

    text: str
    state: str = "pending"
    """pending, active, done, or cancelled."""
    changed: bool = False
    """True if this call changed the item."""
    note: str | None = None


class Checklist(Node, tag="checklist"):
    """Things to do, each with its state."""

    items: list[ChecklistItem]


class Option(FrozenStruct):
    """A possible answer to a question."""

    label: str
    description: str | None = None
    chosen: bool = False
    preview: str | None = None


class Choice(Node, tag="choice"):
    """A question with its options and the user's choice."""

    question: str
    header: str | None = None
    options: list[Option] = []
    multiple: bool = False
    """True if several options can be chosen: check boxes instead of radio buttons."""
    answer: str | None = None
    """The answer, if it is none of the options."""


class Table(Node, tag="table"):
    """Rows and columns."""

    columns: list[str]
    rows: list[list[str]]


class Picture(Node, tag="picture"):
    """An image or another file that a view may show."""

    media_type: str
    size: int | None = None
    """In bytes."""
    width: int | None = None
    height: int | None = None
    name: str | None = None
    data: str | None = None
    """The content in base64."""
    url: str | None = None


class Fact(FrozenStruct):
    """A name and a value."""

    name: str
    value: str


class Facts(Node, tag="facts"):
    """Short values by name."""

    items: list[Fact]


class Target(FrozenStruct):
    """The target of a link."""

    url: str
    title: str | None = None


class Links(Node, tag="links"):
    """Links; a view never follows one by itself."""

    targets: list[Target]


class Note(Node, tag="note"):
    """A short remark: a badge, a warning, an error message."""

    text: str
    level: str = "info"
    """info, warning or error."""


class Data(Node, tag="data"):
    """A JSON value, drawn as a readable tree."""

    value: Any


class Section(Node, tag="section"):
    """Nodes under a heading; a view may show it closed."""

    title: str
    nodes: list[Node]
    open: bool = True


def facts(**items: object) -> list[Node]:
    """Return a node of named values as text, without the empty ones; underscores in names become spaces."""
    known = [Fact(name=name.replace("_", " "), value=text) for name, value in items.items() if (text := as_text(value))]
    return [Facts(items=known)] if known else []
