"""Scan a file for usage line by line, without folding it. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from reread.accounting.billing import SYNTHETIC
from reread.accounting.digest import UsageDigest
from reread.accounting.response_index import ResponseIndex, keep_iterations
from reread.accounting.rows import AnyLine, PlainRow, UsageLine
from reread.base import jsontext
from reread.base.times import timestamp_ms
from reread.records import dialects

if TYPE_CHECKING:
    from reread.records.decode import Decoder, Record

USAGE, USAGE_OBJECT = b'"usage"', b'"usage":{'
"""A part of every line with usage, and the same if the line is written without spaces."""
TOTAL = b'"total'
"""A part of the records of cost counters, which hardly any other line has."""
INIT = b'"init"'
RUN_MARKER = b',"run":{"event":'
"""A part of a line that marks the start or end of a captured run."""
STOP_REASON, MESSAGE, CONTENT = b',"stop_reason"', b'"message":', b'"content":'
ASSISTANT, USER = b'"type":"assistant"', b'"type":"user","message":'
TYPE_START = len(b'"type":"')
FIRST_LETTER, LAST_LETTER, LETTERS = b"a"[0], b"t"[0], len(b"assistant") - 1
"""The first and last letter of "assistant" and their distance: they suffice to tell usage rows from other lines."""
TAIL, HEAD = 1536, 1024
"""Lines of users are searched only in their last TAIL bytes: the usage of an agent in the result of its call stands
near the end (at most 883 bytes before it in what the client wrote), and such lines are two thirds of all bytes."""
BUFFER_SIZE = 1 << 20
PEEKED_LINES = 8
"""How many lines at the start are always read, to learn about the file."""
DOCUMENT_STARTS = b"[ \t\r\n\xef"
"""First bytes of a file that may be one JSON document: a bracket, white space or a byte order mark."""

_decode_row = msgspec.json.Decoder(PlainRow).decode
_decode_line = msgspec.json.Decoder(UsageLine).decode
_decode_any = msgspec.json.Decoder(AnyLine).decode
_decode_content = msgspec.json.Decoder(msgspec.Raw).decode
_EMPTY_LINE = UsageLine()
_TRANSCRIPT_TYPES = frozenset({"assistant", "user", "progress", "cost-state"})
"""Record types that can state usage and that the client writes to disk."""


class ReadBuffer:
    """A buffer that files are read into one after another; it grows to fit the longest line."""

    def __init__(self) -> None:
        self.data: bytearray = bytearray(BUFFER_SIZE)

    def grow(self) -> bytearray:
        """Double the size, keeping the content."""
        larger = bytearray(2 * len(self.data))
        larger[: len(self.data)] = self.data
        self.data = larger
        return larger


class RowPattern(msgspec.Struct, frozen=True, gc=False):
    """Bytes shared by the rows of one response: those that match it repeat what is known and are skipped.

    Between head and tail, a row has its content and nothing else. In a line that was torn inside the content and
    continued by another row, the head is that of the first and the tail that of the second.
    """

    head: bytes
    """From the message up to its content, with message id and model."""
    head_offset: int
    """From the start of the row."""
    tail: bytes
    """From the stop reason to the request id, with the usage."""
    tail_offset: int
    """Back from the end of the row."""


class Scanner:
    """Turns the bytes of a file into a digest, skipping lines without usage undecoded.

    `feed` takes chunks of any size. To save a copy, read into `free_space()` and call `commit` with the number of
    bytes. The digest covers whole lines; `flush` adds what follows the last line end.
    """

    def __init__(
        self,
        digest: UsageDigest | None = None,
        *,
        session: str | None = None,
        agent: str | None = None,
        buffer: ReadBuffer | None = None,
    ) -> None:
        self.offset: int = 0
        """Number of bytes scanned, in whole lines."""
        self._index = ResponseIndex(digest, session=session, agent=agent)
        self._buffer = buffer or ReadBuffer()
        self._data = self._buffer.data
        self._end = 0
        """End of the bytes in the buffer."""
        self._searched = 0
        """End of the bytes that are known to contain no line end."""
        self._type_offset = 1
        """Where the last usage row had its type, back from its end."""
        self._user_offset = 0
        """Where the last user's line had its type, from its start."""
        self._has_repeats = False
        """True once two rows of a response were equal: then patterns pay."""
        self._pattern: RowPattern | None = None
        self._document: Decoder | None = None

    @property
    def digest(self) -> UsageDigest:
        """The digest of all whole lines so far."""
        return self._index.digest()

    def feed(self, data: bytes) -> None:
        """Scan the lines that `data` completes."""
        view = memoryview(data)
        while view:
            space = self.free_space()
            count = min(len(space), len(view))
            space[:count] = view[:count]
            self.commit(count)
            view = view[count:]

    def free_space(self) -> memoryview:
        """Return memory for the next bytes."""
        if self._end == len(self._data):
            self._data = self._buffer.grow()
        return memoryview(self._data)[self._end :]

    def commit(self, count: int) -> None:
        """Scan the lines that are complete now that `count` bytes are in the free space."""
        self._end += count
        if self.offset == 0 and self._document is None and self._data[:1] in DOCUMENT_STARTS:
            self._detect_document()
        if self._document is not None:
            self._add_records(self._document.feed(bytes(self._data[: self._end])))
            self._end = 0
            return
        stop = self._data.rfind(b"\n", self._searched, self._end) + 1
        if stop == 0:
            self._searched = self._end
            return
        self._scan_lines(stop)
        rest = self._end - stop
        view = memoryview(self._data)
        view[:rest] = view[stop : self._end]
        self.offset += stop
        self._end = self._searched = rest

    def flush(self) -> None:
        """Scan what follows the last line end."""
        if self._document is not None:
            self._add_records(self._document.flush())
        elif self._end:
            self._data = self._data[: self._end] + b"\n"
            self._scan_lines(self._end + 1)
            self._end = self._searched = 0

    def _detect_document(self) -> None:
        """Use the decoder for a file that is one JSON array."""
        text = bytes(self._data[: min(self._end, 64)]).removeprefix(b"\xef\xbb\xbf").lstrip()
        if text[:1] == b"[":
            from reread.records.decode import Decoder

            self._document = Decoder()
            self._index.partial.resumable = False

    def _scan_lines(self, stop: int) -> None:
        """Scan whole lines. Plain rows are handled here, because most of the time is spent on them."""
        data, find, starts, decode = self._data, self._data.find, self._data.startswith, _decode_row
        view, responses = memoryview(self._data), self._index.responses
        self._index.changed = True
        if self._index.partial.start_ms is None:
            self._peek(view, stop)
        end = 0
        while end < stop:
            start, end = end, find(b"\n", end, stop) + 1
            type_at = end - self._type_offset
            if type_at > start and data[type_at] == FIRST_LETTER and data[type_at + LETTERS] == LAST_LETTER:
                if self._pattern is not None and self._matches(self._pattern, start, end):
                    continue
            elif end - start > TAIL and starts(USER, start + self._user_offset):
                if find(USAGE_OBJECT, end - TAIL, end) < 0:
                    continue
            elif not self._may_have_usage(start, end):
                continue
            try:
                row = decode(view[start:end])
            except jsontext.DECODE_ERRORS:
                if self._may_have_usage(start, end):
                    self._add_line(view[start:end])
                continue
            message = row.message
            usage = message.usage
            if message.model == SYNTHETIC or row.isApiErrorMessage:
                continue
            if usage.iterations:
                usage.iterations = keep_iterations(usage.iterations)
            is_plain = not usage.iterations and row.costUSD is None
            known = responses.setdefault((message.id, row.requestId), row) if is_plain else None
            if type(known) is not PlainRow:
                self._index.add_row(row, message, usage)
            elif known is not row:
                if message.stop_reason and message == known.message:
                    self._has_repeats = True
                known.add(row)
            if self._has_repeats:
                self._pattern = self._make_pattern(row, start, end)

    def _may_have_usage(self, start: int, end: int) -> bool:
        """True if a line may state usage. Also learns where lines of its kind have their type."""
        find, tail = self._data.find, max(start, end - TAIL)
        if find(USAGE, tail, end) >= 0:
            type_at = self._data.rfind(ASSISTANT, tail, end)
            self._type_offset = end - type_at - TYPE_START if type_at >= 0 else self._type_offset
            return True
        if tail > start:
            user_at = find(MESSAGE, start, start + HEAD) + len(MESSAGE) - len(USER)
            if user_at >= start and self._data.startswith(USER, user_at):
                self._user_offset = user_at - start
                return False
            if find(USAGE, start, end) >= 0:
                return True
        return find(TOTAL, start, end) >= 0 or (self._index.partial.streamed and self._may_start_run(start, end))

    def _may_start_run(self, start: int, end: int) -> bool:
        return self._data.find(INIT, start, end) >= 0 or self._data.find(RUN_MARKER, start, end) >= 0

    def _make_pattern(self, row: PlainRow, start: int, end: int) -> RowPattern | None:
        """Return the pattern of rows that repeat this one; None if it cannot be told from its bytes."""
        message = row.message
        body = self._data.find(MESSAGE, start, start + HEAD)
        content = self._data.find(CONTENT, body, body + HEAD)
        stop_reason = self._data.rfind(STOP_REASON, start, end)
        request = row.requestId.encode()
        request_at = self._data.find(request, stop_reason, end)
        if row.timestamp is None or row.costUSD is not None or min(body, content, stop_reason, request_at) < 0:
            return None
        head = bytes(self._data[body : content + len(CONTENT)])
        tail = bytes(self._data[stop_reason : request_at + len(request)])
        has_names = all(f'"{name}"'.encode() in head for name in (message.id, message.model))
        return RowPattern(head, body - start, tail, end - stop_reason) if has_names and USAGE in tail else None

    def _matches(self, pattern: RowPattern, start: int, end: int) -> bool:
        starts, head_at, tail_at = self._data.startswith, start + pattern.head_offset, end - pattern.tail_offset
        if not starts(pattern.tail, tail_at) or not starts(pattern.head, head_at):
            return False
        try:
            _decode_content(memoryview(self._data)[head_at + len(pattern.head) : tail_at])
        except jsontext.DECODE_ERRORS:
            return False
        return True

    def _peek(self, view: memoryview, stop: int) -> None:
        """Learn from the first lines when the file was started and whether it is a stream."""
        start, partial = 0, self._index.partial
        while partial.lines_peeked < PEEKED_LINES and partial.start_ms is None and start < stop:
            end = self._data.find(b"\n", start, stop) + 1
            partial.lines_peeked += 1
            try:
                line = _decode_line(view[start:end])
            except jsontext.DECODE_ERRORS:
                line = _EMPTY_LINE
            if line.sessionId is not None or line.type in dialects.SESSIONLESS:
                partial.start_ms = timestamp_ms(line.timestamp)
            else:
                from reread.accounting.slow_lines import peek_line

                partial.start_ms, streamed = peek_line(bytes(view[start:end]))
                partial.streamed |= streamed
            start = end

    def _add_line(self, body: memoryview) -> None:
        """Add a line that is not a plain row."""
        self._pattern = None
        try:
            line = _decode_any(body)
        except jsontext.DECODE_ERRORS:
            self._add_slow_line(bytes(body))
            return
        if line.sessionId is not None and line.type in _TRANSCRIPT_TYPES:
            self._index.add_record(line, bytes(body), streamed=False)
        else:
            self._add_slow_line(bytes(body))

    def _add_slow_line(self, body: bytes) -> None:
        from reread.accounting.slow_lines import parse_line

        for record in parse_line(body):
            self._index.add_record(*record)

    def _add_records(self, records: Iterable[Record]) -> None:
        """Add the records of a file that is one JSON document."""
        from reread.accounting.slow_lines import parse_records

        self._index.changed = True
        for record in parse_records(records):
            self._index.add_record(*record)
