"""Print a stream as `reread tail` prints a session, while it comes."""

from __future__ import annotations

from reread.disk.sources import Tape
from reread.render.parts import Selection
from reread.render.terminal import TerminalView, change_lines, make_console
from reread.session.session import Session


class PrettyPrinter:
    """Read the bytes of a stream and print its messages."""

    def __init__(self, *, full: bool = False) -> None:
        self._tape = Tape()
        self._session = Session(self._tape)
        self._session.loader = self._session.new_loader()
        self._view = TerminalView(Selection(full=full))
        self._console = make_console()

    def feed(self, data: bytes) -> None:
        """Print the messages that these bytes complete."""
        self._tape.append(data)
        before = len(self._session.records)
        self._session.loader.take_in()
        self._print_from(before)

    def flush(self) -> None:
        """Print the message in a last line without line end."""
        before = len(self._session.records)
        self._session.loader.load()
        self._print_from(before)

    def _print_from(self, start: int) -> None:
        conversation = self._session.conversation
        if start < len(conversation.records):
            _ = self._session.agents
        for index in range(start, len(conversation.records)):
            for item in change_lines(conversation.change(index), self._view):
                self._console.print(item, end=getattr(item, "end", "\n"))
