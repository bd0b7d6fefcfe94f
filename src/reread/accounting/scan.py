"""Scanners: a file's digest, found line by line without folding it. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from reread.accounting.aggregate import DigestBuilder, Key, Opening, PendingResponse, pending, pending_again
from reread.accounting.billing import BILLED_APART, SYNTHETIC, charge_of, nano_dollars, overlay
from reread.accounting.cost_counters import CounterReading, read_cost_state, read_result
from reread.accounting.counter_deltas import is_per_process
from reread.accounting.digest import ANYWHERE, RETOLD, SIDECHAIN, SUMMED, Digest, FileResponse, Origin
from reread.accounting.rows import (
    AgentResultRow,
    AnyLine,
    AnyMessage,
    AnyRow,
    EventRow,
    MessageRow,
    PlainRow,
    ProgressRow,
    UsageLine,
)
from reread.base import jsontext
from reread.base.times import timestamp_ms
from reread.records import dialects
from reread.records.envelope import NOTHING, UsageFields

if TYPE_CHECKING:
    from reread.records.decode import Decoder

MARK, SPENT = b'"usage"', b'"usage":{'
"""What a line that says something of usage has, and what it has where it is written without blanks."""
TOTAL = b'"total'
"""What the records of the client's counters have, and hardly any other line."""
INIT = b'"init"'
RUN = b'"claudeMessage":null,"run":'
"""What says that a captured run begins or ends."""
STOP, MESSAGE, CONTENT = b'"stop_reason"', b'"message":', b'"content"'
ASSISTANT, USER = b'"type":"assistant"', b'"type":"user","message":'
NAME = len(b'"type":"')
FIRST, LAST, SPAN = b"a"[0], b"t"[0], len(b"assistant") - 1
"""The first and the last letter of a row's type, and how far apart they are: these two tell rows from other lines."""
TAIL, OPENING = 1536, 1024
"""A user's line is searched in its last TAIL bytes only: its one usage, that of an agent which a call started, stands
near the end (883 bytes at most in what the client wrote), and such lines are two thirds of all bytes."""
ROOM = 1 << 20
FIRST_LINES = 8
"""So many lines are read in any case, for what they say of the file."""


_decode_row = msgspec.json.Decoder(PlainRow).decode
_decode_line = msgspec.json.Decoder(UsageLine).decode
_decode_any = msgspec.json.Decoder(AnyLine).decode
_NO_LINE = UsageLine()


class ReadBuffer:
    """Where files are read into, one after another: as large as the longest line so far needs."""

    def __init__(self) -> None:
        self.buffer = bytearray(ROOM)

    def grow(self) -> bytearray:
        """Make it twice as large."""
        larger = bytearray(2 * len(self.buffer))
        larger[: len(self.buffer)] = self.buffer
        self.buffer = larger
        return larger


class RowPattern(msgspec.Struct, frozen=True, gc=False):
    """How a row begins and ends that says nothing new: with the message and the model, and with the usage."""

    envelope: bytes
    lead: int
    """How far after the row's start the head is."""
    tail: bytes
    rear: int
    """How far before the row's end the tail is."""


class Scanner:
    """Bytes in, a digest out: lines that cannot matter are passed over as bytes.

    `feed` takes chunks of any size. To save a copy, read into `room()` and say how much with `filled(n)`. The digest is
    that of whole lines; `flush` adds what stands after the last line end.
    """

    def __init__(
        self,
        digest: Digest | None = None,
        *,
        session: str | None = None,
        agent: str | None = None,
        room: ReadBuffer | None = None,
    ) -> None:
        self.session = session
        """The session of rows that name none."""
        self.agent = agent
        """Whose file this is, where it is an agent's own."""
        self.offset = 0
        """How many bytes have been looked at, in whole lines."""
        self.known = digest or Digest()
        """The digest while it is made; read `digest`."""
        self._room = room or ReadBuffer()
        self._buffer = self._room.buffer
        self._end = 0
        self._searched = 0
        before = digest.responses() if digest is not None else ()
        self._index: dict[Key, Opening] = {self._key(known): pending_again(known) for known in before}
        self._changed = False
        self._rear, self._lead = 1, 0
        """How far before its end the last row said that it is one, and after its start the last user's line."""
        self._repeats = False
        self._same: RowPattern | None = None
        self._document: Decoder | None = None
        self._streams: dict[str, tuple[MessageRow, UsageFields]] = {}
        self._processes = 0
        """How many captured runs have begun or ended."""

    @property
    def digest(self) -> Digest:
        """What the whole lines so far say."""
        if self._changed:
            DigestBuilder(self.known, self._place_of).sum(self._index)
            self._changed = False
        return self.known

    def feed(self, data: bytes) -> None:
        """Look at the lines that `data` completes."""
        view = memoryview(data)
        while view:
            room = self.room()
            count = min(len(room), len(view))
            room[:count] = view[:count]
            self.filled(count)
            view = view[count:]

    def room(self) -> memoryview:
        """Where the next bytes can be put."""
        if self._end == len(self._buffer):
            self._buffer = self._room.grow()
        return memoryview(self._buffer)[self._end :]

    def filled(self, count: int) -> None:
        """So many bytes were put into the room."""
        self._end += count
        if self.offset == 0 and self._document is None and self._buffer[:1] in b"[ \t\r\n\xef":
            self._choose()
        if self._document is not None:
            self._take_document(self._document.feed(bytes(self._buffer[: self._end])))
            self._end = 0
            return
        stop = self._buffer.rfind(b"\n", self._searched, self._end) + 1
        if stop == 0:
            self._searched = self._end
            return
        self._lines(stop)
        rest = self._end - stop
        view = memoryview(self._buffer)
        view[:rest] = view[stop : self._end]
        self.offset += stop
        self._end = self._searched = rest

    def flush(self) -> None:
        """Look at what stands after the last line end."""
        if self._document is not None:
            self._take_document(self._document.flush())
        elif self._end:
            self._buffer = self._buffer[: self._end] + b"\n"
            self._lines(self._end + 1)
            self._end = self._searched = 0

    def _choose(self) -> None:
        """A file that begins with a bracket is one document; then the slow reader takes it."""
        text = bytes(self._buffer[: min(self._end, 64)]).removeprefix(b"\xef\xbb\xbf").lstrip()
        if text[:1] == b"[":
            from reread.records.decode import Decoder

            self._document = Decoder()
            self.known.resumable = False

    def _take_document(self, records: Any) -> None:
        from reread.accounting.slow_lines import take_records

        self._changed = True
        take_records(self, records)

    # Lines

    def _lines(self, stop: int) -> None:
        """Look at whole lines. Plain rows are taken here, for most of the time is spent on them."""
        buffer, find, starts, decode = self._buffer, self._buffer.find, self._buffer.startswith, _decode_row
        view, index, self._changed = memoryview(self._buffer), self._index, True
        if self.known.began is None:
            self._peek(view, stop)
        end = 0
        while end < stop:
            at, end = end, find(b"\n", end, stop) + 1
            said = end - self._rear
            if said > at and buffer[said] == FIRST and buffer[said + SPAN] == LAST:
                if self._same is not None and self._is_same(self._same, at, end):
                    continue
            elif end - at > TAIL and starts(USER, at + self._lead):
                if find(SPENT, end - TAIL, end) < 0:
                    continue
            elif not self._matters(at, end):
                continue
            try:
                row = decode(view[at:end])
            except jsontext.DECODE_ERRORS:
                if self._matters(at, end):
                    self._take_any(view[at:end])
                continue
            message = row.message
            usage = message.usage
            if message.model == SYNTHETIC or row.isApiErrorMessage:
                continue
            if usage.iterations:
                usage.iterations = _kept(usage.iterations)
            special = usage.iterations or row.costUSD is not None
            known = None if special else index.setdefault((message.id, row.requestId), row)
            if type(known) is not PlainRow:
                self._row(row, message, usage)
            elif known is not row:
                if message.stop_reason and message == known.message:
                    self._repeats = True
                known.go_on(row)
            if self._repeats:
                self._same = self._form(row, at, end)

    def _matters(self, at: int, end: int) -> bool:
        """Whether a line may say something of usage; and by what the next of its kind is known sooner."""
        find, tail = self._buffer.find, max(at, end - TAIL)
        if find(MARK, tail, end) >= 0:
            said = self._buffer.rfind(ASSISTANT, tail, end)
            self._rear = end - said - NAME if said >= 0 else self._rear
            return True
        if tail > at:
            user = find(MESSAGE, at, at + OPENING) + len(MESSAGE) - len(USER)
            if user >= at and self._buffer.startswith(USER, user):
                self._lead = user - at
                return False
            if find(MARK, at, end) >= 0:
                return True
        return find(TOTAL, at, end) >= 0 or (self.known.printed and self._begins(at, end))

    def _form(self, row: PlainRow, at: int, end: int) -> RowPattern | None:
        """What the next row of the same response has in common with this one, if it says nothing new."""
        message = row.message
        body = self._buffer.find(MESSAGE, at, at + OPENING)
        content = self._buffer.find(CONTENT, body, body + OPENING)
        stop = self._buffer.rfind(STOP, at, end)
        request = row.requestId.encode()
        asked = self._buffer.find(request, stop, end)
        if row.timestamp is None or row.costUSD is not None or min(body, content, stop, asked) < 0:
            return None
        head, tail = bytes(self._buffer[body:content]), bytes(self._buffer[stop : asked + len(request)])
        named = all(f'"{name}"'.encode() in head for name in (message.id, message.model))
        return RowPattern(head, body - at, tail, end - stop) if named and MARK in tail else None

    def _is_same(self, form: RowPattern, at: int, end: int) -> bool:
        starts = self._buffer.startswith
        return starts(form.tail, end - form.rear) and starts(form.envelope, at + form.lead)

    def _begins(self, at: int, end: int) -> bool:
        """Whether a line of a printed file may say that something begins."""
        return self._buffer.find(INIT, at, end) >= 0 or self._buffer.find(RUN, at, end) >= 0

    def _peek(self, view: memoryview, stop: int) -> None:
        """See in the first lines when the file began, and whether it was printed."""
        at, known = 0, self.known
        while known.lines < FIRST_LINES and known.began is None and at < stop:
            end = self._buffer.find(b"\n", at, stop) + 1
            known.lines += 1
            try:
                line = _decode_line(view[at:end])
            except jsontext.DECODE_ERRORS:
                line = _NO_LINE
            if line.sessionId is not None or line.type in dialects.SESSIONLESS:
                known.began = timestamp_ms(line.timestamp)
            else:
                from reread.accounting.slow_lines import peek

                peek(known, bytes(view[at:end]))
            at = end

    def _take_any(self, body: memoryview) -> None:
        """Take in a line of any kind: at once where it is sound and on disk, else by the road that loses nothing."""
        self._same = None
        try:
            line = _decode_any(body)
            if line.sessionId is not None and line.type in _WRITTEN:
                self.take(line, bytes(body), printed=False)
                return
        except jsontext.DECODE_ERRORS:
            pass
        from reread.accounting.slow_lines import take_line

        take_line(self, bytes(body))

    # Records

    def take(self, line: AnyLine, body: bytes, *, printed: bool) -> None:
        """Take in a record in the native tongue; `body` is its JSON, in that tongue too."""
        if self.known.began is None:
            self.known.began = timestamp_ms(line.timestamp)
        take = _TAKE.get(line.type)
        if take is not None:
            take(self, line, body, printed)

    def take_assistant(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """A row of a response."""
        message = line.message
        if message is None or message.usage is None:
            return
        place = self._place_of(line)
        if printed:
            agent = (line.agentId or line.parentToolUseID) if line.parentToolUseID else None
            place = msgspec.structs.replace(place, printed=True, agent=agent)
        self._row(line, message, message.usage, place)

    def take_user(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """The result of a call that ran an agent: the usage of the agent's last response."""
        data = _shaped(line.toolUseResult, AgentResultRow)
        if data is None or data.usage is None:
            return
        if not data.agentId and data.totalTokens is None and data.totalToolUseCount is None:
            return
        place = self._place_of(line)
        place = msgspec.structs.replace(place, agent=data.agentId or SIDECHAIN, source=SUMMED, printed=printed)
        row = UsageLine(uuid=line.uuid, timestamp=line.timestamp, sessionId=line.sessionId)
        self._row(row, MessageRow(model=data.resolvedModel), data.usage, place)

    def take_progress(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """An agent's record that its parent's file repeats."""
        told = _shaped(line.data, ProgressRow)
        if told is None or told.type != "agent_progress" or told.message is None:
            return
        row = told.message
        if row.message is None or row.message.usage is None or row.type != "assistant":
            return
        agent = told.agentId or row.agentId or SIDECHAIN
        place = msgspec.structs.replace(self._place_of(line), agent=agent, source=RETOLD)
        row.sessionId, row.timestamp = line.sessionId, row.timestamp or line.timestamp
        self._row(row, row.message, row.message.usage, place)

    def take_event(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """An event of the API's stream; the last of a response has its final figures."""
        self.known.printed, self.known.resumable = True, False
        event = _shaped(line.event, EventRow)
        if event is None:
            return
        whose = line.parentToolUseID or ""
        if event.type == "message_start" and event.message is not None:
            self._streams[whose] = (event.message, event.message.usage or UsageFields())
        if whose not in self._streams or (event.usage is None and event.type != "message_start"):
            return
        message, first = self._streams[whose]
        usage = first if event.usage is None else overlay(first, event.usage)
        stop = event.delta.stop_reason if event.delta is not None else None
        place = msgspec.structs.replace(self._place_of(line), printed=True, agent=whose or None)
        self._row(line, MessageRow(message.model, message.id, stop), usage, place)

    def take_system(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """What a printed run says of itself at its start."""
        if line.subtype == "init":
            self.known.printed = True
            self.known.folder = self.known.folder or line.cwd
            self.known.client = line.version or self.known.client

    def take_result(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """What a run's counter says at the end of a turn."""
        self.known.printed = True
        reading = read_result(jsontext.loads_clean(body), len(self._index))
        if reading is not None and self._processes and is_per_process(self.known.client):
            reading.start = self._processes
        self._note(reading)

    def take_run(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """A captured run begins or ends: what comes is another process, with a counter of its own."""
        self._processes += 1
        self.known.resumable = False

    def take_cost_state(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """What a session's counter says."""
        self._note(read_cost_state(jsontext.loads_clean(body), len(self._index)))

    def _note(self, reading: CounterReading | None) -> None:
        if reading is not None:
            reading.session = reading.session or self.session
            self.known.readings.append(reading)

    # Responses

    def _row(self, line: AnyRow, message: AnyMessage, usage: UsageFields, place: Origin | None = None) -> None:
        """Take in one row of a response, whatever it names: the first says where it belongs."""
        if message.model == SYNTHETIC or line.isApiErrorMessage:
            return
        if usage.iterations:
            usage.iterations = _kept(usage.iterations)
        id, request = message.id, line.requestId
        if not id:
            id, request = request or self._name(line, usage), ANYWHERE
        key = (id, request or line.sessionId or self.session)
        known = self._index.get(key)
        if known is None:
            ended = bool(message.stop_reason)
            known = self._index[key] = PendingResponse(
                line, usage, message.model, ended, place, nano_dollars(line.costUSD)
            )
        else:
            known = self._index[key] = known if isinstance(known, PendingResponse) else pending(known)
            known.go_on(line, message.model, message.stop_reason, usage)
        if not request:
            known.proofs = (*known.proofs, *_proofs(line, usage))

    def _place_of(self, line: AnyRow) -> Origin:
        side = line.isSidechain or self.agent is not None
        return Origin(
            line.sessionId or self.session,
            line.cwd,
            line.gitBranch or None,
            (line.agentId or self.agent or SIDECHAIN) if side else None,
            bool(line.forkedFrom),
        )

    def _key(self, response: FileResponse) -> Key:
        return (response.id, response.request or self.known.places[response.place].session)

    def _name(self, line: AnyRow, usage: UsageFields) -> str:
        """An id for a row that has none: its uuid, else all that it says and how often it was said before."""
        if line.uuid:
            return f"row {line.uuid}"
        counts = charge_of(usage, None).counts
        said = f"row {line.sessionId or self.session} {line.timestamp} {' '.join(map(str, counts))}"
        again = 0
        while (f"{said} {again}", ANYWHERE) in self._index:
            again += 1
        return f"{said} {again}"


_TAKE: dict[str, Callable[[Scanner, AnyLine, bytes, bool], None]] = {
    "assistant": Scanner.take_assistant,
    "user": Scanner.take_user,
    "progress": Scanner.take_progress,
    "stream_event": Scanner.take_event,
    "system": Scanner.take_system,
    "result": Scanner.take_result,
    "run": Scanner.take_run,
    "cost-state": Scanner.take_cost_state,
}
"""How each type of record that can say something of usage is taken in."""
_APART = (*(name.encode() for name in sorted(BILLED_APART)), b"\\")
"""What steps hold that are billed apart; a backslash, for it may spell anything."""
_WRITTEN = frozenset({"assistant", "user", "progress", "cost-state"})
"""The types among them that the client writes to disk."""


def _kept(iterations: Raw) -> Raw:
    """The steps of a response, apart from the buffer they were read in; nothing where none can be billed apart."""
    said = bytes(iterations)
    return Raw(said) if len(said) > 2 and any(name in said for name in _APART) else NOTHING


def _proofs(line: AnyRow, usage: UsageFields) -> list[str]:
    """Of a row without a request id, what shows whether another is a copy of it."""
    counts = charge_of(usage, None).counts
    said = f"{line.timestamp} {' '.join(map(str, counts))}"
    return ([line.uuid] if line.uuid else []) + ([said] if line.timestamp else [])


def _shaped(raw: Raw, shape: type[Any]) -> Any:
    """An object as a struct; where it does not fit, its misfits are left out."""
    if bytes(raw)[:1] != b"{":
        return None
    try:
        return msgspec.json.decode(raw, type=shape)
    except jsontext.DECODE_ERRORS:
        from reread.accounting.slow_lines import fitted

        return fitted(jsontext.loads_clean(bytes(raw)), shape)
