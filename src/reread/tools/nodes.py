"""Nodes: the few kinds of thing that a view can draw. A tool makes them; a view draws them."""

from __future__ import annotations

from typing import Any

import msgspec


class Node(msgspec.Struct, frozen=True, kw_only=True, tag_field="node"):
    """Something to draw."""


class Prose(Node, frozen=True, kw_only=True, tag="prose"):
    """Markdown."""

    text: str


class Code(Node, frozen=True, kw_only=True, tag="code"):
    """Source or other text that is read line by line."""

    text: str
    language: str | None = None
    """A name that highlighters know; None where nothing is to be highlighted."""
    path: str | None = None
    start: int | None = None
    """The number of its first line; None where lines have no numbers."""
    marks: list[str] = []
    """Texts to highlight wherever they stand: what a search looked for."""


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """A run of changed lines; each begins with a blank, `-` or `+`."""

    old_start: int
    new_start: int
    lines: list[str]


class Diff(Node, frozen=True, kw_only=True, tag="diff"):
    """A change to a file."""

    path: str | None = None
    hunks: list[Hunk] = []


class Terminal(Node, frozen=True, kw_only=True, tag="terminal"):
    """What a program was told or printed; colour codes and all."""

    text: str
    stream: str = "out"
    """in, out or err."""


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a list."""

    path: str
    note: str | None = None
    """A count, a size, a state."""


class Files(Node, frozen=True, kw_only=True, tag="files"):
    """A list of files; a view may draw a long one as a tree."""

    entries: list[FileEntry]


class ChecklistItem(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do."""

    text: str
    state: str = "pending"
    """pending, active, done, or cancelled."""
    changed: bool = False
    """Whether this call changed it."""
    note: str | None = None


class Checklist(Node, frozen=True, kw_only=True, tag="checklist"):
    """Things to do and how far they are."""

    items: list[ChecklistItem]


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One of several answers."""

    label: str
    description: str | None = None
    chosen: bool = False
    preview: str | None = None


class Choice(Node, frozen=True, kw_only=True, tag="choice"):
    """A question with its possible answers, the chosen ones marked."""

    question: str
    header: str | None = None
    options: list[Option] = []
    multiple: bool = False
    """Whether several could be chosen: check boxes, not radio buttons."""
    answer: str | None = None
    """What was answered, where that is none of the options."""


class Table(Node, frozen=True, kw_only=True, tag="table"):
    """Rows and columns."""

    columns: list[str]
    rows: list[list[str]]


class Picture(Node, frozen=True, kw_only=True, tag="picture"):
    """An image or another file that a view may show; its bytes are base64."""

    media_type: str
    size: int | None = None
    """Bytes."""
    width: int | None = None
    height: int | None = None
    name: str | None = None
    data: str | None = None
    url: str | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A name and what it is."""

    name: str
    value: str


class Facts(Node, frozen=True, kw_only=True, tag="facts"):
    """Short things known, by name."""

    items: list[Fact]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Somewhere a link leads."""

    url: str
    title: str | None = None


class Links(Node, frozen=True, kw_only=True, tag="links"):
    """Addresses; a view never follows one by itself."""

    targets: list[Target]


class Note(Node, frozen=True, kw_only=True, tag="note"):
    """A short remark: a badge, a warning, an error in words."""

    text: str
    level: str = "info"
    """info, warning or error."""


class Data(Node, frozen=True, kw_only=True, tag="data"):
    """A JSON value, drawn as a readable tree."""

    value: Any


class Section(Node, frozen=True, kw_only=True, tag="section"):
    """Nodes under a heading; a view may keep it closed until asked."""

    title: str
    nodes: list[Node]
    open: bool = True


def facts(**items: object) -> list[Node]:
    """Facts from keywords, those without a value left out; underscores read as blanks."""
    known = {name.replace("_", " "): value for name, value in items.items() if value not in (None, "")}
    return [Facts(items=[Fact(name=name, value=str(value)) for name, value in known.items()])] if known else []
