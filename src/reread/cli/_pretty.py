"""Print a stream as `reread tail` prints a session, while it comes."""

from __future__ import annotations

from reread.disk.sources import TempFileSource
from reread.render.selection import Selection
from reread.render.terminal import ChangePrinter, TerminalView, make_console
from reread.session.changes import change_of
from reread.session.threads import SessionThreads


class PrettyPrinter:
    """Read the bytes of a stream and print its messages."""

    def __init__(self, *, full: bool = False) -> None:
        self._tape = TempFileSource()
        self._threads = SessionThreads(self._tape)
        self._threads.restart()
        self._printer = ChangePrinter(make_console(), TerminalView(Selection(full=full)))

    def feed(self, data: bytes) -> None:
        """Print the messages that these bytes complete."""
        self._tape.append(data)
        self._print(self._threads.load_lines())

    def flush(self) -> None:
        """Print the message in a last line without line end."""
        self._print(self._threads.load_rest())

    def _print(self, indexes: range) -> None:
        conversation = self._threads.conversation
        if indexes:
            _ = self._threads.agents
        for index in indexes:
            self._printer.print(change_of(conversation, index))
