"""Print only the answers of a stream, as `claude -p` prints them, while it comes."""

from __future__ import annotations

import sys

from reread.cli._output import print_notice
from reread.records.decode import Decoder, Record
from reread.render.format import result_text
from reread.session.results import turn_result


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
