"""A screen that draws a stream while it comes, as `reread tail` draws a file."""

from __future__ import annotations

from reread.disk.sources import Tape
from reread.model.changes import change_of
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, change_lines, make_console
from reread.session.session import Session


class Screen:
    """Bytes of a stream in, drawings out."""

    def __init__(self, *, full: bool = False) -> None:
        self._tape = Tape()
        self._session = Session(self._tape)
        self._session.restart()
        self._view = TerminalView(Selection(full=full))
        self._console = make_console()

    def feed(self, data: bytes) -> None:
        """Draw what these bytes bring."""
        self._tape.append(data)
        self._draw(self._session.load_lines())

    def flush(self) -> None:
        """Draw what a last line without end brings."""
        self._draw(self._session.load_rest())

    def _draw(self, indexes: range) -> None:
        conversation = self._session.conversation
        if indexes:
            _ = self._session.agents
        for index in indexes:
            for item in change_lines(change_of(conversation, index), self._view):
                self._console.print(item, end=getattr(item, "end", "\n"))
