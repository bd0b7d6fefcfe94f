"""The nodes of a call in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.ansi import AnsiDecoder
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from reread.base.text import plural
from reread.render.format import BOXES, picture_text
from reread.render.highlight import highlighted, rendered_markdown
from reread.render.sanitize import coloured_output, plain_text, safe
from reread.render.terminal_images import inline_picture
from reread.render.tree import data_lines, file_lines
from reread.tools import nodes

SHORT = 10
"""Lines of a result shown without `full`."""
LEVELS = {"info": "quiet", "warning": "odd", "error": "failed"}


class NodeView:
    """Draws nodes as `rich` renderables."""

    def __init__(self, *, full: bool = False, pictures: str | None = None) -> None:
        self._full = full
        self._pictures = pictures
        """The terminal's protocol for pictures; None if it has none."""

    def draw(self, node: nodes.Node) -> Iterator[RenderableType]:
        """One node."""
        yield from _NODES[type(node)](self, node)

    def indented(self, drawn: Iterable[nodes.Node]) -> Iterator[RenderableType]:
        """Nodes below the line of their call."""
        for node in drawn:
            for item in self.draw(node):
                yield Padding(item, (0, 0, 0, 4))

    def _first_lines(self, lines: Sequence[str]) -> tuple[Sequence[str], int]:
        """The lines to show, and how many are hidden."""
        if self._full or len(lines) <= SHORT + 2:
            return lines, 0
        return lines[:SHORT], len(lines) - SHORT

    def prose(self, node: nodes.Prose) -> Iterator[RenderableType]:
        """Markdown."""
        lines, hidden = self._first_lines(safe(node.text).strip().split("\n"))
        yield rendered_markdown("\n".join(lines))
        yield from hidden_lines(hidden)

    def code(self, node: nodes.Code) -> Iterator[RenderableType]:
        """Source code, with line numbers if they are known."""
        lines, hidden = self._first_lines(node.text.rstrip("\n").split("\n"))
        text = plain_text("\n".join(lines))
        if node.marks:
            marked = Text(text)
            for mark in node.marks:
                marked.highlight_words([mark], style="mark", case_sensitive=False)
            yield marked
        elif node.language or node.start is not None:
            yield highlighted(text, node.language, start=node.start)
        else:
            yield Text(text)
        yield from hidden_lines(hidden)

    def diff(self, node: nodes.Diff) -> Iterator[RenderableType]:
        """Changed lines with their numbers."""
        rows = [row for hunk in node.hunks for row in _diff_rows(hunk)]
        shown = rows if self._full or len(rows) <= 2 * SHORT + 2 else rows[: 2 * SHORT]
        width = max((len(str(number)) for number, _ in shown), default=1)
        for number, line in shown:
            style = {"+": "added", "-": "removed"}.get(line[:1], "")
            yield Text.assemble((f"{number or '':>{width}} ", "number"), (safe(line), style))
        yield from hidden_lines(len(rows) - len(shown))

    def terminal(self, node: nodes.Terminal) -> Iterator[RenderableType]:
        """A command, or its output in its own colours."""
        if node.stream == "in":
            yield Text("$ " + safe(node.text).replace("\n", "\n  "), style="bold")
            return
        lines, hidden = self._first_lines(node.text.rstrip("\n").split("\n"))
        for line in AnsiDecoder().decode(coloured_output("\n".join(lines), full=self._full)):
            if node.stream == "err":
                line.stylize_before("err")
            yield line
        yield from hidden_lines(hidden)

    def files(self, node: nodes.Files) -> Iterator[RenderableType]:
        """Files, as a tree if there are several; with `full`, each with its path."""
        lines, hidden = self._first_lines([safe(line) for line in file_lines(node.entries, full=self._full)])
        yield Text("\n".join(lines))
        yield from hidden_lines(hidden)

    def checklist(self, node: nodes.Checklist) -> Iterator[RenderableType]:
        """A to-do list, with the changed items in bold."""
        for item in node.items:
            style = "quiet" if item.state in ("done", "cancelled") else ""
            note = f"  ({item.note})" if item.note else ""
            state = f"  ({item.state})" if self._full else ""
            text = Text(safe(f"{BOXES.get(item.state, '☐')} {item.text}{note}{state}"), style=style)
            if item.changed:
                text.stylize("bold not dim")
            yield text

    def choice(self, node: nodes.Choice) -> Iterator[RenderableType]:
        """A question with its options, the chosen ones marked."""
        header = f"[{node.header}] " if node.header else ""
        yield Text(safe(f"{header}{node.question}"), style="bold")
        on, off = ("☑", "☐") if node.multiple else ("◉", "○")
        for option in node.options:
            text = f"{on if option.chosen else off} {option.label}"
            yield Text(safe(text), style="ok" if option.chosen else "")
            for detail in (option.description, option.preview):
                if detail:
                    yield Text(safe("    " + detail.replace("\n", "\n    ")), style="quiet")
        if node.answer:
            yield Text(safe(f"→ {node.answer}"), style="ok")

    def table(self, node: nodes.Table) -> Iterator[RenderableType]:
        """A table."""
        drawn = RichTable(*(safe(column) for column in node.columns), box=None, pad_edge=False, header_style="quiet")
        shown = node.rows if self._full else node.rows[: SHORT * 2]
        for row in shown:
            drawn.add_row(*(Text(safe(cell)) for cell in row))
        yield drawn
        yield from hidden_lines(len(node.rows) - len(shown))

    def picture(self, node: nodes.Picture) -> Iterator[RenderableType]:
        """A picture in words, and the picture itself if the terminal can show it."""
        yield Text(safe(f"▣ {picture_text(node)}"), style="quiet")
        drawn = inline_picture(node, self._pictures)
        if drawn is not None:
            yield drawn

    def facts(self, node: nodes.Facts) -> Iterator[RenderableType]:
        """Names and values."""
        for fact in node.items:
            yield Text.assemble((safe(f"{fact.name}: "), "quiet"), safe(fact.value))

    def links(self, node: nodes.Links) -> Iterator[RenderableType]:
        """URLs as plain text."""
        for target in node.targets:
            title = f"{safe(target.title)}  " if target.title else ""
            yield Text.assemble(title, (safe(target.url), "underline"))

    def note(self, node: nodes.Note) -> Iterator[RenderableType]:
        """A short remark."""
        lines, hidden = self._first_lines(plain_text(node.text).split("\n"))
        yield Text("\n".join(lines), style=LEVELS.get(node.level, "quiet"))
        yield from hidden_lines(hidden)

    def data(self, node: nodes.Data) -> Iterator[RenderableType]:
        """A JSON value as an indented tree."""
        lines, hidden = self._first_lines([safe(line) for line in data_lines(node.value)])
        yield Text("\n".join(lines))
        yield from hidden_lines(hidden)

    def section(self, node: nodes.Section) -> Iterator[RenderableType]:
        """Nodes under a heading; a closed section only with `full`."""
        if not node.open and not self._full:
            return
        yield Text(safe(node.title), style="quiet")
        for inner in node.nodes:
            for item in self.draw(inner):
                yield Padding(item, (0, 0, 0, 2))


Draw = Callable[[NodeView, Any], Iterator[RenderableType]]

_NODES: dict[type[nodes.Node], Draw] = {
    nodes.Prose: NodeView.prose,
    nodes.Code: NodeView.code,
    nodes.Diff: NodeView.diff,
    nodes.Terminal: NodeView.terminal,
    nodes.Files: NodeView.files,
    nodes.Checklist: NodeView.checklist,
    nodes.Choice: NodeView.choice,
    nodes.Table: NodeView.table,
    nodes.Picture: NodeView.picture,
    nodes.Facts: NodeView.facts,
    nodes.Links: NodeView.links,
    nodes.Note: NodeView.note,
    nodes.Data: NodeView.data,
    nodes.Section: NodeView.section,
}


def hidden_lines(count: int, indent: int = 0) -> Iterator[RenderableType]:
    """A line that says how many more lines there are."""
    if count > 0:
        yield Text(" " * indent + f"… {plural(count, 'more line')} (--full)", style="quiet")


def _diff_rows(hunk: nodes.Hunk) -> Iterator[tuple[int | None, str]]:
    """The lines of a hunk, each with its number: the old one for removed lines, else the new one."""
    old, new = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        sign = line[:1]
        if sign == "-":
            yield old, line
            old += 1
        elif sign == "\\":
            yield None, line
        else:
            yield new, line
            new += 1
            old += sign != "+"
