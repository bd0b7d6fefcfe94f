"""Print a stream while it comes: as `reread tail` prints a session, or only its answers, as `claude -p` does."""

from __future__ import annotations

import sys

from reread.cli._output import print_notice
from reread.disk.sources import TempFileSource
from reread.records.decode import Decoder, Record
from reread.render.format import result_text
from reread.render.selection import Selection
from reread.render.terminal import ChangePrinter, TerminalView, make_console
from reread.session.changes import change_of
from reread.session.results import turn_result
from reread.session.threads import SessionThreads


class AnswerPrinter:
    """Read the bytes of a stream and print the text of each result; a line that is not JSON is printed as it is."""

    def __init__(self) -> None:
        self._decoder = Decoder()

    def feed(self, data: bytes) -> None:
        """Print the answers that these bytes complete."""
        for record in self._decoder.feed(data):
            self._print(record)

    def flush(self) -> None:
        """Print the answer in a last line without line end."""
        for record in self._decoder.flush():
            self._print(record)

    def _print(self, record: Record) -> None:
        if record.type == "malformed":
            sys.stdout.write(record.raw.decode("utf-8", "replace") + "\n")
        elif record.type == "result":
            result = turn_result(record.line, record.native)
            if result.text:
                sys.stdout.write(result.text.rstrip("\n") + "\n")
            if result.is_error:
                print_notice(result_text(result))
        sys.stdout.flush()


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
