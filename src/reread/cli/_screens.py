"""A screen that draws a stream while it comes, as `reread tail` draws a file."""

from __future__ import annotations

from reread.disk.sources import TempFileSource
from reread.render.parts import Selection
from reread.render.terminal import TerminalView, change_lines, make_console
from reread.session.session import Session


class Screen:
    """Bytes of a stream in, drawings out."""

    def __init__(self, *, full: bool = False) -> None:
        self._tape = TempFileSource()
        self._session = Session(self._tape)
        self._session.loader = self._session.new_loader()
        self._view = TerminalView(Selection(full=full))
        self._console = make_console()

    def feed(self, data: bytes) -> None:
        """Draw what these bytes bring."""
        self._tape.append(data)
        before = len(self._session.records)
        self._session.loader.take_in()
        self._draw(before)

    def flush(self) -> None:
        """Draw what a last line without end brings."""
        before = len(self._session.records)
        self._session.loader.load()
        self._draw(before)

    def _draw(self, before: int) -> None:
        conversation = self._session.conversation
        if before < len(conversation.records):
            _ = self._session.agents
        for index in range(before, len(conversation.records)):
            for item in change_lines(conversation.change(index), self._view):
                self._console.print(item, end=getattr(item, "end", "\n"))
