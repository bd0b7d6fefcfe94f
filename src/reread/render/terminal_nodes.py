"""The nodes of a call in the terminal, pictures where it can show them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rich.ansi import AnsiDecoder
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import ControlType, Segment
from rich.table import Table as RichTable
from rich.text import Text

from reread.base.sanitize import coloured_output, plain_output, plain_text, safe
from reread.base.text import plural
from reread.render.format import BOXES, picture_text
from reread.render.highlight import highlighted, rendered_markdown
from reread.render.long_text import LONG, LongText, indented, plain, shortened
from reread.render.selection import Selection
from reread.render.sequence import SequenceView
from reread.render.tree import data_lines, file_lines
from reread.tools import nodes
from reread.tools.nodes import Picture

SHORT = 10
"""Lines of a result shown without `full`."""
DIFF_STYLES = {"+": "added", "-": "removed"}
LEVELS = {"info": "quiet", "warning": "odd", "error": "failed"}
MAX_CHARS = 8 << 20
"""Characters of base64 above which a picture is not shown."""
PIECE = 4096
"""Characters of base64 that kitty accepts in one escape code."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class NodeView(SequenceView[RenderableType]):
    """Draws nodes as `rich` renderables."""

    def __init__(self, selection: Selection, *, pictures: str | None = None) -> None:
        super().__init__(selection)
        self._full = selection.full
        self._pictures = pictures
        """The terminal's protocol for pictures; None if it has none."""

    def indented(self, drawn: Iterable[nodes.Node]) -> Iterator[RenderableType]:
        """Nodes below the line of their call."""
        for node in drawn:
            yield from (indented(item, 4) for item in self.node(node))

    def _first_lines(self, lines: Sequence[str]) -> tuple[Sequence[str], int]:
        """The lines to show, and how many are hidden."""
        if self._full:
            return lines, 0
        shown = lines if len(lines) <= SHORT + 2 else lines[:SHORT]
        return [shortened(line) for line in shown], len(lines) - len(shown)

    def _shown(self, text: str) -> str:
        """A text, made safe; without `full` its beginning and end, if it is long."""
        return safe(text if self._full else shortened(text))

    def prose(self, node: nodes.Prose) -> Iterator[RenderableType]:
        """Markdown."""
        lines, hidden = self._first_lines(node.text.strip(" \t\r\n").split("\n"))
        yield rendered_markdown(safe("\n".join(lines)))
        yield from hidden_lines(hidden)

    def code(self, node: nodes.Code) -> Iterator[RenderableType]:
        """Source code, with line numbers if they are known."""
        lines, hidden = self._first_lines(node.text.rstrip("\n").split("\n"))
        text = plain_text("\n".join(lines))
        if len(text) > LONG:
            yield LongText(text if node.start is None else _numbered(text, node.start))
        elif node.marks:
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
        known = [row for hunk in node.hunks for row in _diff_rows(hunk)]
        shown = known if self._full or len(known) <= 2 * SHORT + 2 else known[: 2 * SHORT]
        width = max((len(str(number)) for number, _ in shown), default=1)
        is_long = sum(len(line) for _, line in shown) > LONG
        for style, run in groupby(shown, key=lambda row: DIFF_STYLES.get(row[1][:1], "")):
            rows = [(f"{number or '':>{width}} ", self._shown(line)) for number, line in run]
            if is_long:
                yield plain("\n".join([number + line for number, line in rows]), style)
            else:
                yield from (Text.assemble((number, "number"), (line, style)) for number, line in rows)
        yield from hidden_lines(len(known) - len(shown))

    def terminal(self, node: nodes.Terminal) -> Iterator[RenderableType]:
        """A command, or its output in its own colours."""
        if node.stream == "in":
            yield plain("$ " + self._shown(node.text).replace("\n", "\n  "), "bold")
            return
        lines, hidden = self._first_lines(node.text.rstrip("\n").split("\n"))
        if sum(map(len, lines)) > LONG:
            yield LongText(plain_output("\n".join(lines), full=self._full), "err" if node.stream == "err" else "")
            yield from hidden_lines(hidden)
            return
        for line in AnsiDecoder().decode(coloured_output("\n".join(lines), full=self._full)):
            if node.stream == "err":
                line.stylize_before("err")
            yield line
        yield from hidden_lines(hidden)

    def files(self, node: nodes.Files) -> Iterator[RenderableType]:
        """Files, as a tree if there are several; with `full`, each with its path."""
        lines, hidden = self._first_lines(list(file_lines(node.entries, full=self._full)))
        yield plain(safe("\n".join(lines)))
        yield from hidden_lines(hidden)

    def checklist(self, node: nodes.Checklist) -> Iterator[RenderableType]:
        """A to-do list, with the changed items in bold."""
        for item in node.items:
            style = "quiet" if item.state in ("done", "cancelled") else ""
            note = f"  ({item.note})" if item.note else ""
            state = f"  ({item.state})" if self._full else ""
            text = self._shown(f"{BOXES.get(item.state, '☐')} {item.text}{note}{state}")
            yield plain(text, "bold not dim" if item.changed else style)

    def choice(self, node: nodes.Choice) -> Iterator[RenderableType]:
        """A question with its options, the chosen ones marked."""
        header = f"[{node.header}] " if node.header else ""
        yield plain(self._shown(f"{header}{node.question}"), "bold")
        on, off = ("☑", "☐") if node.multiple else ("◉", "○")
        for option in node.options:
            text = f"{on if option.chosen else off} {option.label}"
            yield plain(self._shown(text), "ok" if option.chosen else "")
            for detail in (option.description, option.preview):
                if detail:
                    yield plain(self._shown("    " + detail.replace("\n", "\n    ")), "quiet")
        if node.answer:
            yield plain(self._shown(f"→ {node.answer}"), "ok")

    def table(self, node: nodes.Table) -> Iterator[RenderableType]:
        """A table."""
        columns = [safe(column) for column in node.columns]
        rows = [[self._shown(cell) for cell in row] for row in (node.rows if self._full else node.rows[: SHORT * 2])]
        if sum(len(cell) for row in rows for cell in row) > LONG:
            yield LongText("\n".join(["  ".join(row) for row in (columns, *rows)]))
        else:
            drawn = RichTable(*columns, box=None, pad_edge=False, header_style="quiet")
            for row in rows:
                drawn.add_row(*map(Text, row))
            yield drawn
        yield from hidden_lines(len(node.rows) - len(rows))

    def picture(self, node: nodes.Picture) -> Iterator[RenderableType]:
        """A picture in words, and the picture itself if the terminal can show it."""
        yield Text(safe(f"▣ {picture_text(node)}"), style="quiet")
        drawn = inline_picture(node, self._pictures)
        if drawn is not None:
            yield drawn

    def facts(self, node: nodes.Facts) -> Iterator[RenderableType]:
        """Names and values."""
        for fact in node.items:
            name, value = Text(safe(f"{fact.name}: "), style="quiet"), self._shown(fact.value)
            yield LongText(value, first=name) if len(value) > LONG else name + Text(value)

    def links(self, node: nodes.Links) -> Iterator[RenderableType]:
        """URLs as plain text."""
        for target in node.targets:
            title, url = f"{self._shown(target.title)}  " if target.title else "", self._shown(target.url)
            is_long = len(title) + len(url) > LONG
            yield LongText(title + url) if is_long else Text.assemble(title, (url, "underline"))

    def note(self, node: nodes.Note) -> Iterator[RenderableType]:
        """A short remark."""
        lines, hidden = self._first_lines(node.text.split("\n"))
        yield plain(plain_text("\n".join(lines)), LEVELS.get(node.level, "quiet"))
        yield from hidden_lines(hidden)

    def data(self, node: nodes.Data) -> Iterator[RenderableType]:
        """A JSON value as an indented tree."""
        lines, hidden = self._first_lines(list(data_lines(node.value)))
        yield plain(safe("\n".join(lines)))
        yield from hidden_lines(hidden)

    def section(self, node: nodes.Section) -> Iterator[RenderableType]:
        """Nodes under a heading; a closed section only with `full`."""
        if not node.open and not self._full:
            return
        yield plain(self._shown(node.title), "quiet")
        for inner in node.nodes:
            yield from (indented(item, 2) for item in self.node(inner))


def hidden_lines(count: int, indent: int = 0) -> Iterator[RenderableType]:
    """A line that says how many more lines there are."""
    if count > 0:
        yield Text(" " * indent + f"… {plural(count, 'more line')} (--full)", style="quiet")


def _numbered(text: str, start: int) -> str:
    lines = text.split("\n")
    width = len(str(start + len(lines) - 1))
    return "\n".join([f"{number:>{width}} {line}" for number, line in enumerate(lines, start)])


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


def picture_protocol(environment: Mapping[str, str] = os.environ) -> str | None:
    """The protocol with which this terminal shows pictures; None if it cannot."""
    if environment.get("KITTY_WINDOW_ID") or environment.get("TERM") == "xterm-kitty":
        return "kitty"
    return "iterm" if environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") else None


class InlinePicture:
    """A picture as an escape code; only valid base64 is ever put into one."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(self.code, None, [(ControlType.CARRIAGE_RETURN,)])
        yield Segment.line()


def inline_picture(picture: Picture, protocol: str | None) -> InlinePicture | None:
    """A picture for a terminal with this protocol; None if it cannot be shown or is not valid base64."""
    data = picture.data
    if protocol is None or not data or len(data) > MAX_CHARS or not _BASE64.fullmatch(data):
        return None
    if protocol == "kitty":
        return InlinePicture(_kitty(data)) if picture.media_type == "image/png" else None
    return InlinePicture(f"\x1b]1337;File=inline=1;height=16:{data}\x07")


def _kitty(data: str) -> str:
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    last = len(pieces) - 1
    codes = (
        f"\x1b_G{'a=T,f=100,r=16,' if n == 0 else ''}m={int(n < last)};{piece}\x1b\\" for n, piece in enumerate(pieces)
    )
    return "".join(codes)
