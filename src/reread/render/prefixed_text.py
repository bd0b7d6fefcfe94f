"""A text in the terminal whose lines all begin alike, also those that it is wrapped into."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text


class PrefixedText:
    """A text with something before its first line, and something as wide before each of the others."""

    def __init__(self, text: Text, *, first: Text, others: Text) -> None:
        self.text = text
        self.first = first
        self.others = others

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines that the text is wrapped into."""
        lines = self.text.wrap(console, max(1, options.max_width - self.others.cell_len))
        for n, line in enumerate(lines):
            yield Text.assemble(self.others if n else self.first, line)
