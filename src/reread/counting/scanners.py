"""Scanners: a file's digest, found line by line without folding it. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from reread import dialects, jsontext
from reread.counting.counters import is_per_process
from reread.counting.digests import (
    ANYWHERE,
    RETOLD,
    SIDECHAIN,
    SUMMED,
    Digest,
    Place,
    Response,
)
from reread.counting.openings import AnyRow, Key, Open, Summing, reopened
from reread.counting.readings import Reading, read_cost_state, read_result
from reread.counting.rows import AnyLine, Event, Launched, Line, Message, PlainRow, Told
from reread.heads import NOTHING, UsageHead
from reread.money.charges import SYNTHETIC, charge_of, nano_dollars, overlay
from reread.when import milliseconds

if TYPE_CHECKING:
    from reread.decode import Decoder

MARK = b'"usage"'
TOTAL = b'"total'
"""What the records of the client's counters have, and hardly any other line."""
INIT = b'"init"'
RUN = b'"claudeMessage":null,"run":'
"""What says that a captured run begins or ends."""
STOP = b'"stop_reason"'
MESSAGE = b'"message":'
USER = b'"type":"user",'
TAIL, OPENING = 1536, 1024
"""A user's line is searched in its last TAIL bytes only: its one usage, that of an agent which a call started, stands
near the end (883 bytes at most in what the client wrote), and such lines are two thirds of all bytes."""
SPAN = 96
"""A row's usage stands about as far before its end as that of the row before it: there it is looked for first."""
ROOM = 1 << 20
FIRST_LINES = 8
"""So many lines are read in any case, for what they say of the file."""


_decode_row = msgspec.json.Decoder(PlainRow).decode
_decode_line = msgspec.json.Decoder(Line).decode
_decode_any = msgspec.json.Decoder(AnyLine).decode
_NO_LINE = Line()


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
        buffer: bytearray | None = None,
    ) -> None:
        self.session = session
        """The session of rows that name none."""
        self.agent = agent
        """Whose file this is, where it is an agent's own."""
        self.offset = 0
        """How many bytes have been looked at, in whole lines."""
        self.known = digest or Digest()
        """The digest while it is made; read `digest`."""
        self._buffer = bytearray(ROOM) if buffer is None else buffer
        self._end = 0
        self._searched = 0
        self._index: dict[Key, Open] = {self._key(known): reopened(known) for known in self.known.responses()}
        self._changed = False
        self._repeats = False
        self._same: bytes | None = None
        self._lead = 0
        self._near = 0
        self._document: Decoder | None = None
        self._streams: dict[str, tuple[Message, UsageHead]] = {}
        self._processes = 0
        """How many captured runs have begun or ended."""

    @property
    def digest(self) -> Digest:
        """What the whole lines so far say."""
        if self._changed:
            Summing(self.known, self._place_of).sum(self._index)
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
            self._buffer = self._buffer + bytearray(len(self._buffer))
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
        self._buffer[:rest] = self._buffer[stop : self._end]
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
            from reread.decode import Decoder

            self._document = Decoder()
            self.known.resumable = False

    def _take_document(self, records: Any) -> None:
        from reread.counting.intake import take_records

        self._changed = True
        take_records(self, records)

    # Lines

    def _lines(self, stop: int) -> None:
        """Look at whole lines. Plain rows are taken here, for most of the time is spent on them."""
        find, starts, ends = self._buffer.find, self._buffer.startswith, self._buffer.endswith
        view, index, near, self._changed = memoryview(self._buffer), self._index, self._near, True
        if self.known.began is None:
            self._peek(view, stop)
        at = 0
        while at < stop:
            end = find(b"\n", at, stop) + 1
            start = end - near
            hit = find(MARK, start, start + SPAN) if start > at else -1
            if hit < 0:
                tail = end - TAIL
                hit = find(MARK, tail if tail > at else at, end)
                if hit < 0 and tail > at:
                    message = find(MESSAGE, at, at + OPENING)
                    if message > at and ends(USER, at, message):
                        at = end
                        continue
                    hit = find(MARK, at, end)
                if hit < 0:
                    if find(TOTAL, at, end) >= 0 or (self.known.printed and self._begins(at, end)):
                        self._take_any(view[at:end])
                    at = end
                    continue
            if self._same is not None and starts(self._same, hit - self._lead):
                at = end
                continue
            try:
                row = _decode_row(view[at:end])
            except jsontext.FAST_FAULTS:
                self._take_any(view[at:end])
                at = end
                continue
            near = end - hit + SPAN // 2
            message = row.message
            usage = message.usage
            if usage.iterations:
                usage.iterations = _kept(usage.iterations)
            key = (message.id, row.requestId)
            known = index.get(key)
            if message.model == SYNTHETIC or row.isApiErrorMessage:
                pass
            elif known is None:
                known = index[key] = Open(row, usage, message.model, bool(message.stop_reason))
                if usage.iterations or row.costUSD is not None:
                    known.plain, known.reported = False, nano_dollars(row.costUSD)
            else:
                self._go_on(known, row, message.model, message.stop_reason, usage)
                if self._repeats and known.ended and row.timestamp is not None:
                    self._remember(row.requestId, at, hit, end)
            at = end
        self._near = near

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
            except jsontext.FAST_FAULTS:
                line = _NO_LINE
            if line.sessionId is not None or line.type in dialects.SESSIONLESS:
                known.began = milliseconds(line.timestamp)
            else:
                from reread.counting.intake import peek

                peek(known, bytes(view[at:end]))
            at = end

    def _remember(self, request: str, at: int, hit: int, end: int) -> None:
        """Keep how this row ends: the next block of the same response often ends alike, and says nothing new."""
        self._same = None
        name = request.encode()
        found = self._buffer.find(name, hit, end)
        start = self._buffer.rfind(STOP, max(at, hit - 200), hit)
        if found >= 0 and start >= 0:
            self._same = bytes(self._buffer[start : found + len(name)])
            self._lead = hit - start

    def _take_any(self, body: memoryview) -> None:
        """Take in a line of any kind: at once where it is sound and on disk, else by the road that loses nothing."""
        self._same = None
        try:
            line = _decode_any(body)
            if line.sessionId is not None and line.type in _WRITTEN:
                self.take(line, bytes(body), printed=False)
                return
        except jsontext.FAST_FAULTS:
            pass
        from reread.counting.intake import take_line

        take_line(self, bytes(body))

    # Records

    def take(self, line: AnyLine, body: bytes, *, printed: bool) -> None:
        """Take in a record in the native tongue; `body` is its JSON, in that tongue too."""
        if self.known.began is None:
            self.known.began = milliseconds(line.timestamp)
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
        data = _shaped(line.toolUseResult, Launched)
        if data is None or data.usage is None:
            return
        if not data.agentId and data.totalTokens is None and data.totalToolUseCount is None:
            return
        place = self._place_of(line)
        place = msgspec.structs.replace(place, agent=data.agentId or SIDECHAIN, source=SUMMED, printed=printed)
        row = Line(uuid=line.uuid, timestamp=line.timestamp, sessionId=line.sessionId)
        self._row(row, Message(model=data.resolvedModel), data.usage, place)

    def take_progress(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """An agent's record that its parent's file repeats."""
        told = _shaped(line.data, Told)
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
        event = _shaped(line.event, Event)
        if event is None:
            return
        whose = line.parentToolUseID or ""
        if event.type == "message_start" and event.message is not None:
            self._streams[whose] = (event.message, event.message.usage or UsageHead())
        if whose not in self._streams or (event.usage is None and event.type != "message_start"):
            return
        message, first = self._streams[whose]
        usage = first if event.usage is None else overlay(first, event.usage)
        stop = event.delta.stop_reason if event.delta is not None else None
        place = msgspec.structs.replace(self._place_of(line), printed=True, agent=whose or None)
        self._row(line, Message(message.model, message.id, stop), usage, place)

    def take_system(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """What a printed run says of itself at its start."""
        if line.subtype == "init":
            self.known.printed = True
            self.known.folder = self.known.folder or line.cwd
            self.known.client = line.version or self.known.client

    def take_result(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """What a run's counter says at the end of a turn."""
        self.known.printed = True
        reading = read_result(jsontext.readable(body), len(self._index))
        if reading is not None and self._processes and is_per_process(self.known.client):
            reading.start = self._processes
        self._note(reading)

    def take_run(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """A captured run begins or ends: what comes is another process, with a counter of its own."""
        self._processes += 1
        self.known.resumable = False

    def take_cost_state(self, line: AnyLine, body: bytes, printed: bool) -> None:
        """What a session's counter says."""
        self._note(read_cost_state(jsontext.readable(body), len(self._index)))

    def _note(self, reading: Reading | None) -> None:
        if reading is not None:
            reading.session = reading.session or self.session
            self.known.readings.append(reading)

    # Responses

    def _row(self, line: Line, message: Message, usage: UsageHead, place: Place) -> None:
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
            known = self._index[key] = Open(line, usage, message.model, ended, False, place, nano_dollars(line.costUSD))
        else:
            self._go_on(known, line, message.model, message.stop_reason, usage)
        if not request:
            known.plain, known.proofs = False, (*known.proofs, *_proofs(line, usage))

    def _go_on(self, known: Open, line: AnyRow, model: str | None, stop: str | None, usage: UsageHead) -> None:
        """A later row counts if it is better: it ended, or has more output, or is as good."""
        ended = bool(stop)
        if ended == known.ended:
            better = (usage.output_tokens or 0) >= known.output
            self._repeats = self._repeats or (ended and known.usage == usage)
        else:
            better = ended
        if better:
            known.usage, known.model, known.ended = usage, model, ended
        if usage.iterations or line.costUSD is not None:
            known.plain = False
            known.reported = known.reported if line.costUSD is None else nano_dollars(line.costUSD)
        if known.stamp is None:
            known.stamp = line.timestamp

    def _place_of(self, line: AnyRow) -> Place:
        side = line.isSidechain or self.agent is not None
        return Place(
            line.sessionId or self.session,
            line.cwd,
            line.gitBranch or None,
            (line.agentId or self.agent or SIDECHAIN) if side else None,
            bool(line.forkedFrom),
        )

    def _key(self, response: Response) -> Key:
        return (response.id, response.request or self.known.places[response.place].session)

    def _name(self, line: Line, usage: UsageHead) -> str:
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
_WRITTEN = frozenset({"assistant", "user", "progress", "cost-state"})
"""The types among them that the client writes to disk."""


def _kept(iterations: Raw) -> Raw:
    """The steps of a response, apart from the buffer they were read in; of most there are none."""
    return NOTHING if bytes(iterations) == b"[]" else iterations.copy()


def _proofs(line: Line, usage: UsageHead) -> list[str]:
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
    except jsontext.FAST_FAULTS:
        from reread.counting.intake import fitted

        return fitted(jsontext.readable(bytes(raw)), shape)
