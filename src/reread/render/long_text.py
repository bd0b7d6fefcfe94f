"""Long texts in the terminal: their beginning and end, or all of them within a bounded time.

`rich` takes more than a second to wrap a megabyte, because each line becomes several objects that are measured, styled
and cut one by one. A prompt or a result can have 20 MB. So a text above `LONG` characters is shown in one style,
wrapped here by its words as `rich` would, and printed with the codes of its style around each line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, chain, islice
from typing import NamedTuple

from rich.cells import get_character_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from reread.base.text import plural

LONG = 50_000
"""Characters of a text above which it is not left to `rich`, and is shown whole only if asked for."""
BEGINNING, END = 4000, 2000
"""Characters that are shown of such a text otherwise."""
MOST_LINES = 40
"""Lines that the beginning and the end have at most."""
LONGEST_WORD = 200
TAB = 8
LINES_PER_PAGE = 1000
"""Lines that are printed at once."""
_MARK = "x"


class Excerpt(NamedTuple):
    """The beginning and the end of a long text, and a note about what is between them."""

    beginning: str
    note: str
    end: str


def excerpt(text: str) -> Excerpt | None:
    """Return the beginning and the end of a long text, cut between words if it can be; None if it is short."""
    if len(text) <= LONG:
        return None
    start = "\n".join(text[:BEGINNING].split("\n")[:MOST_LINES])
    space = start.rfind(" ", len(start) - LONGEST_WORD)
    start = start if space < 0 else start[:space]
    end = "\n".join(text[-END:].split("\n")[-MOST_LINES:])
    end = end[end.find(" ", 0, LONGEST_WORD) + 1 :]
    note = f"… {plural(len(text) - len(start) - len(end), 'more character')} (--full)"
    return Excerpt(start, note, end)


def shortened(text: str) -> str:
    """Return a text, if it is long its beginning and its end with a note between them."""
    cut = excerpt(text)
    return text if cut is None else " ".join(cut)


class LongText:
    """A safe text in one style, with something before its first line, and something as wide before the others."""

    def __init__(self, text: str, style: str = "", *, first: Text | None = None, others: Text | None = None) -> None:
        self._text = text
        self._style = style
        self._first, self._others = first or Text(), others or Text()

    def indented(self, columns: int) -> LongText:
        """The same text further to the right."""
        space = Text(" " * columns)
        return LongText(self._text, self._style, first=space + self._first, others=space + self._others)

    def _lines(self, width: int) -> Iterator[str]:
        return wrap_text(self._text, max(1, width - self._others.cell_len))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines as any other text does, for what is nested in something else."""
        style = console.get_style(self._style) if self._style else None
        for n, line in enumerate(self._lines(options.max_width)):
            yield from (self._others if n else self._first).render(console)
            yield Segment(line, style)
            yield Segment.line()

    def pages(self, console: Console) -> Iterator[str]:
        """Yield the printed text, many lines at once."""
        before, after = _codes(console, self._style)
        first, others = (_printed(console, prefix) + before for prefix in (self._first, self._others))
        starts = chain([first], iter(lambda: others, None))
        for lines in _batches(self._lines(console.width)):
            yield "".join([f"{start}{line}{after}\n" for start, line in zip(starts, lines, strict=False)])


def _batches(lines: Iterator[str]) -> Iterator[list[str]]:
    return iter(lambda: list(islice(lines, LINES_PER_PAGE)), [])


def indented(item: RenderableType, columns: int) -> RenderableType:
    """An item further to the right."""
    return item.indented(columns) if isinstance(item, LongText) else Padding(item, (0, 0, 0, columns))


def plain(text: str, style: str = "") -> Text | LongText:
    """A text in one style, however long it is."""
    return Text(text, style=style) if len(text) <= LONG else LongText(text, style)


def wrap_text(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, each at most so many columns wide, cut between words if it can be."""
    for line in text.split("\n"):
        if "\t" in line:
            line = line.expandtabs(TAB)
        if len(line) <= width and line.isascii():
            yield line
        else:
            yield from _wrap_line(line, width)


def _wrap_line(line: str, width: int) -> Iterator[str]:
    ends = None if line.isascii() else list(accumulate(map(_WIDTHS.__getitem__, line)))
    size, start = len(line), 0
    while True:
        fits = start + width if ends is None else bisect_right(ends, (ends[start - 1] if start else 0) + width)
        fits = max(fits, start + 1)  # a character may be wider than the terminal
        if fits >= size:
            yield line[start:]
            return
        space = line.rfind(" ", start, fits + 1)
        if space > start:
            yield line[start:space]
            start = space + 1
        else:
            yield line[start:fits]
            start = fits


class _CellWidths(dict[str, int]):
    def __missing__(self, character: str) -> int:
        self[character] = width = get_character_cell_size(character)
        return width


_WIDTHS = _CellWidths()


def _codes(console: Console, style: str) -> tuple[str, str]:
    """Return what the console prints before and after a text in a style."""
    before, _, after = _printed(console, Text(_MARK, style=style)).partition(_MARK)
    return before, after


def _printed(console: Console, text: Text) -> str:
    with console.capture() as captured:
        console.print(text, end="", no_wrap=True, crop=False)
    return captured.get()
