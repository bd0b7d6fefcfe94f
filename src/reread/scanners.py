"""Scanners: a file's digest, found line by line without folding it. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Raw

from reread import dialects, jsontext
from reread.charges import SYNTHETIC, charge_of, extra_charges, nano_dollars, overlay
from reread.decode import Decoder, Record, slow_records
from reread.digests import ANYWHERE, RETOLD, SIDECHAIN, SUMMED, Digest, Place, Response
from reread.heads import NOTHING, Head, MessageHead, UsageHead
from reread.lines import Read
from reread.readings import Reading, read_cost_state, read_result
from reread.when import milliseconds

MARK = b'"usage"'
TOTAL = b'"total'
"""What the records of the client's counters have, and hardly any other line."""
INIT = b'"init"'
STOP = b'"stop_reason"'
TAIL, OPENING = 1 << 11, 1 << 10
USER = b'"type":"user",'
"""A user's line is searched in its last TAIL bytes only: its one usage, that of an agent which a call started, stands
near the end (883 bytes at most in what the client wrote), and such lines are two thirds of all bytes."""
ROOM = 1 << 18
FIRST_LINES = 8
"""So many lines are read in any case, for what they say of the file."""


class Line(msgspec.Struct, gc=False):
    """What counting needs of a line that the client wrote to disk."""

    type: str = ""
    uuid: str | None = None
    sessionId: str | None = None
    timestamp: str | None = None
    isSidechain: bool | None = None
    agentId: str | None = None
    message: LineMessage | None = None
    requestId: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    isApiErrorMessage: bool | None = None
    forkedFrom: Raw = NOTHING
    costUSD: float | None = None


class LineMessage(msgspec.Struct, gc=False):
    """The API message of a line, without its content."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: UsageHead | None = None


class _Open(msgspec.Struct, gc=False):
    """A response whose best row may still come; what it comes to is worked out at the end, for most rows lose."""

    line: Line | Head | None
    """The first row; None where the response was known before."""
    place: Place | None
    usage: UsageHead | None
    model: str | None
    ended: bool
    output: int
    reported: int | None = None
    stamp: str | None = None
    """A later row's time, where the first has none."""
    proofs: tuple[str, ...] = ()
    response: Response | None = None


class Told(msgspec.Struct):
    """An agent's record inside a progress record."""

    type: str = ""
    agentId: str | None = None
    message: Line | None = None


class Launched(msgspec.Struct):
    """What a call that ran an agent gave back."""

    agentId: str | None = None
    resolvedModel: str | None = None
    usage: UsageHead | None = None
    totalTokens: int | None = None
    totalToolUseCount: int | None = None


class Event(msgspec.Struct):
    """An event of the API's stream."""

    type: str = ""
    message: MessageHead | None = None
    usage: UsageHead | None = None
    delta: Delta | None = None


class Delta(msgspec.Struct):
    """What an event changes."""

    stop_reason: str | None = None


_decode_line = msgspec.json.Decoder(Line).decode
_NO_LINE = Line()


class Scanner:
    """Bytes in, a digest out: lines that cannot matter are passed over as bytes.

    `feed` takes chunks of any size. To save a copy, read into `room()` and say how much with `filled(n)`. The digest is
    that of whole lines; `flush` adds what stands after the last line end.
    """

    def __init__(self, digest: Digest | None = None, *, session: str | None = None, agent: str | None = None) -> None:
        self.session = session
        """The session of rows that name none."""
        self.agent = agent
        """Whose file this is, where it is an agent's own."""
        self.offset = 0
        """How many bytes have been looked at, in whole lines."""
        self._digest = digest or Digest()
        self._buffer = bytearray(ROOM)
        self._end = 0
        self._searched = 0
        self._index = {self._key(response): _reopened(response) for response in self._digest.responses}
        self._places = {place: n for n, place in enumerate(self._digest.places)}
        self._changed = False
        self._repeats = False
        self._same: bytes | None = None
        self._lead = 0
        self._document: Decoder | None = None
        self._streams: dict[str, tuple[MessageHead, UsageHead]] = {}

    @property
    def digest(self) -> Digest:
        """What the whole lines so far say."""
        if self._changed:
            for key, known in self._index.items():
                self._close(*key, known)
            self._changed = False
        return self._digest

    def _close(self, id: str, request: str | None, known: _Open) -> None:
        """Work out what a response comes to."""
        response, line, usage = known.response, known.line, known.usage
        if response is None and line is not None:
            named = request if line.requestId or request == ANYWHERE else None
            response = known.response = Response(id, named, self._numbered(line, known.place))
            response.when, response.uuid = milliseconds(line.timestamp), line.uuid
            self._digest.responses.append(response)
        if response is None:
            return
        if usage is not None:
            response.charge = charge_of(usage, known.model)
            response.extras = tuple(extra_charges(usage, known.model)) if usage.iterations else ()
            response.ended, response.output = known.ended, known.output
            known.usage = known.line = None
        if response.when is None:
            response.when = milliseconds(known.stamp)
        response.reported, response.proofs = known.reported, known.proofs

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
            self._take_records(self._document.feed(bytes(self._buffer[: self._end])))
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
            self._take_records(self._document.flush())
        elif self._end:
            self._buffer = self._buffer[: self._end] + b"\n"
            self._lines(self._end + 1)
            self._end = self._searched = 0

    def _choose(self) -> None:
        """A file that begins with a bracket is one document; then the slow reader takes it."""
        text = bytes(self._buffer[: min(self._end, 64)]).removeprefix(b"\xef\xbb\xbf").lstrip()
        if text[:1] == b"[":
            self._document = Decoder()
            self._digest.resumable = False

    def _lines(self, stop: int) -> None:
        """Look at whole lines. Plain rows are taken here, for most of the time is spent on them."""
        find, starts, view = self._buffer.find, self._buffer.startswith, memoryview(self._buffer)
        index, self._changed = self._index, True
        self._peek(view, stop)
        at = 0
        while at < stop:
            end = find(b"\n", at, stop) + 1
            tail = end - TAIL
            hit = find(MARK, tail if tail > at else at, end)
            if hit < 0:
                if tail <= at or not self._is_user(at):
                    self._look_closer(view[at:end], at)
                at = end
                continue
            if self._same is not None and starts(self._same, hit - self._lead):
                at = end
                continue
            try:
                line = _decode_line(view[at:end])
            except jsontext.FAST_FAULTS:
                line = _NO_LINE
            message, request = line.message, line.requestId
            if message is None or not request or line.type != "assistant" or line.sessionId is None:
                self._take_any(bytes(view[at:end]), at)
            elif (usage := message.usage) is not None and (id := message.id):
                if usage.iterations:
                    usage.iterations = usage.iterations.copy()
                known = index.get((id, request))
                if known is None:
                    self._begin((id, request), line, message, usage, None)
                else:
                    self._go_on(known, line, message, usage)
                    if self._repeats and known.ended and line.timestamp is not None:
                        self._remember(request, at, hit, end)
            else:
                self._take_any(bytes(view[at:end]), at)
            at = end

    def _look_closer(self, body: memoryview, at: int) -> None:
        """Take in a line that says nothing of usage near its end, if it says something elsewhere or of totals."""
        line = bytes(body)
        if MARK in line or TOTAL in line or (self._digest.printed and INIT in line):
            self._take_any(line, at)

    def _peek(self, view: memoryview, stop: int) -> None:
        """See in the first lines when the file began, and whether it was printed."""
        at, digest = 0, self._digest
        while digest.lines < FIRST_LINES and digest.began is None and at < stop:
            end = self._buffer.find(b"\n", at, stop) + 1
            digest.lines += 1
            body = bytes(view[at:end])
            try:
                line = _decode_line(body)
            except jsontext.FAST_FAULTS:
                line = Line()
            if line.sessionId is None:
                for record in _records(body, 0):
                    line.timestamp = line.timestamp or record.head.timestamp
                    self._was_printed(record)
            digest.began = milliseconds(line.timestamp)
            at = end

    def _is_user(self, at: int) -> bool:
        message = self._buffer.find(b'"message":', at, at + OPENING)
        return message > at and self._buffer.endswith(USER, at, message)

    def _remember(self, request: str, at: int, hit: int, end: int) -> None:
        """Keep how this row ends: the next block of the same response often ends alike, and says nothing new."""
        self._same = None
        name = request.encode()
        found = self._buffer.find(name, hit, end)
        start = self._buffer.rfind(STOP, max(at, hit - 200), hit)
        if found >= 0 and start >= 0:
            self._same = bytes(self._buffer[start : found + len(name)])
            self._lead = hit - start

    def _take_any(self, body: bytes, at: int) -> None:
        """Take in a line of any kind, by the road that loses nothing."""
        self._same = None
        self._take_records(_records(body, self.offset + at))

    def _take_records(self, records: list[Record]) -> None:
        self._changed = True
        for record in records:
            head = record.head
            if self._digest.began is None:
                self._digest.began = milliseconds(head.timestamp)
            take = _TAKE.get(head.type)
            if take is not None:
                take(self, head, record)

    def take_assistant(self, head: Head, record: Record) -> None:
        """A row of a response."""
        message = head.message
        if message is None or message.usage is None:
            return
        place = self._place_of(head)
        if record.dialect != dialects.NATIVE and self._was_printed(record):
            agent = (head.agentId or head.parentToolUseID) if head.parentToolUseID else None
            place = msgspec.structs.replace(place, printed=True, agent=agent)
        self._row(head, message, message.usage, place)

    def take_user(self, head: Head, record: Record) -> None:
        """The result of a call that ran an agent: the usage of the agent's last response."""
        if MARK not in record.body:
            return
        data = _shaped(record.native.get("toolUseResult"), Launched)
        if data is None or data.usage is None:
            return
        if not data.agentId and data.totalTokens is None and data.totalToolUseCount is None:
            return
        place = msgspec.structs.replace(
            self._place_of(head), agent=data.agentId or SIDECHAIN, source=SUMMED, printed=self._was_printed(record)
        )
        line = Line(uuid=head.uuid, timestamp=head.timestamp, sessionId=head.sessionId)
        self._row(line, LineMessage(model=data.resolvedModel), data.usage, place)

    def take_progress(self, head: Head, record: Record) -> None:
        """An agent's record that its parent's file repeats."""
        told = _shaped(record.native.get("data"), Told)
        if told is None or told.type != "agent_progress" or told.message is None:
            return
        inner = told.message
        if inner.message is None or inner.message.usage is None or inner.type != "assistant":
            return
        place = msgspec.structs.replace(
            self._place_of(head), agent=told.agentId or inner.agentId or SIDECHAIN, source=RETOLD
        )
        inner.sessionId = head.sessionId
        inner.timestamp = inner.timestamp or head.timestamp
        self._row(inner, inner.message, inner.message.usage, place)

    def take_event(self, head: Head, record: Record) -> None:
        """An event of the API's stream; the last of a response has its final figures."""
        self._digest.printed, self._digest.resumable = True, False
        event = _shaped(record.native.get("event"), Event)
        if event is None:
            return
        whose = head.parentToolUseID or ""
        if event.type == "message_start" and event.message is not None:
            self._streams[whose] = (event.message, event.message.usage or UsageHead())
        if whose not in self._streams or (event.usage is None and event.type != "message_start"):
            return
        message, first = self._streams[whose]
        usage = first if event.usage is None else overlay(first, event.usage)
        stop = event.delta.stop_reason if event.delta is not None else None
        place = msgspec.structs.replace(self._place_of(head), printed=True, agent=whose or None)
        self._row(head, LineMessage(message.id, message.model, stop), usage, place)

    def take_system(self, head: Head, record: Record) -> None:
        """What a printed run says of itself at its start."""
        if head.subtype == "init":
            self._digest.printed = True
            self._digest.folder = self._digest.folder or head.cwd
            self._digest.client = head.version or self._digest.client

    def take_result(self, head: Head, record: Record) -> None:
        """What a run's counter says at the end of a turn."""
        self._digest.printed = True
        self._note(read_result(record.native, len(self._index)))

    def take_cost_state(self, head: Head, record: Record) -> None:
        """What a session's counter says."""
        self._note(read_cost_state(record.native, len(self._index)))

    def _note(self, reading: Reading | None) -> None:
        if reading is not None:
            reading.session = reading.session or self.session
            self._digest.readings.append(reading)

    def _was_printed(self, record: Record) -> bool:
        value = record.value
        printed = isinstance(value, dict) and dialects.was_printed(cast(dict[str, Any], value))
        self._digest.printed |= printed
        return printed

    def _place_of(self, line: Line | Head) -> Place:
        side = line.isSidechain or self.agent is not None
        return Place(
            line.sessionId or self.session,
            line.cwd,
            line.gitBranch or None,
            (line.agentId or self.agent or SIDECHAIN) if side else None,
            bool(line.forkedFrom),
        )

    def _row(self, line: Line | Head, message: LineMessage | MessageHead, usage: UsageHead, place: Place) -> None:
        """Take in one row of a response, whatever it names."""
        id, request = message.id, line.requestId
        if not id:
            id, request = request or self._name(line, usage), ANYWHERE
        key = (id, request or line.sessionId or self.session)
        known = self._index.get(key)
        if known is None:
            known = self._begin(key, line, message, usage, place)
        else:
            self._go_on(known, line, message, usage)
        if known is not None and not request:
            known.proofs = (*known.proofs, *_proofs(line, usage))

    def _begin(
        self,
        key: tuple[str, str | None],
        line: Line | Head,
        message: LineMessage | MessageHead,
        usage: UsageHead,
        place: Place | None,
    ) -> _Open | None:
        """The first row of a response says where it belongs."""
        model = message.model
        if model == SYNTHETIC or line.isApiErrorMessage:
            return None
        reported = None if line.costUSD is None else nano_dollars(line.costUSD)
        ended, output = message.stop_reason is not None, usage.output_tokens or 0
        known = self._index[key] = _Open(line, place, usage, model, ended, output, reported)
        return known

    def _go_on(self, known: _Open, line: Line | Head, message: LineMessage | MessageHead, usage: UsageHead) -> None:
        """A later row counts if it is better: it ended, or has more output, or is as good."""
        if message.model == SYNTHETIC or line.isApiErrorMessage:
            return
        ended, output = message.stop_reason is not None, usage.output_tokens or 0
        if ended and known.ended and known.usage == usage:
            self._repeats = True
        if ended > known.ended or (ended == known.ended and output >= known.output):
            known.usage, known.model, known.ended, known.output = usage, message.model, ended, output
        if line.costUSD is not None:
            known.reported = nano_dollars(line.costUSD)
        if known.stamp is None:
            known.stamp = line.timestamp

    def _numbered(self, line: Line | Head, place: Place | None) -> int:
        """The number of the place where a row belongs."""
        place = place or self._place_of(line)
        number = self._places.setdefault(place, len(self._places))
        if number == len(self._digest.places):
            self._digest.places.append(place)
        return number

    def _key(self, response: Response) -> tuple[str, str | None]:
        return (response.id, response.request or self._digest.places[response.place].session)

    def _name(self, line: Line | Head, usage: UsageHead) -> str:
        """An id for a row that has none: its uuid, else all that it says and how often it was said before."""
        if line.uuid:
            return f"row {line.uuid}"
        counts = charge_of(usage, None).counts
        said = f"row {line.sessionId or self.session} {line.timestamp} {' '.join(map(str, counts))}"
        again = 0
        while (f"{said} {again}", ANYWHERE) in self._index:
            again += 1
        return f"{said} {again}"


def _reopened(response: Response) -> _Open:
    """A response that was known before; a better row may still come."""
    known = _Open(None, None, None, None, response.ended, response.output, response.reported)
    known.proofs, known.response = response.proofs, response
    return known


def _proofs(line: Line | Head, usage: UsageHead) -> list[str]:
    """Of a row without a request id, what shows whether another is a copy of it."""
    counts = charge_of(usage, None).counts
    said = f"{line.timestamp} {' '.join(map(str, counts))}"
    return ([line.uuid] if line.uuid else []) + ([said] if line.timestamp else [])


def _records(body: bytes, at: int) -> list[Record]:
    """The records of a line, however it is damaged."""
    if not body.strip(b" \t\r\n\x00"):
        return []
    record = Record(0, at, body)
    return [record] if not record.fault else slow_records(body, 0, at)


def _shaped(value: Any, shape: type[Any]) -> Any:
    """An object as a struct; where it does not fit, its misfits are left out piece by piece."""
    if not isinstance(value, dict):
        return None
    try:
        return msgspec.json.decode(jsontext.dumps(value), type=shape)
    except jsontext.FAST_FAULTS:
        pass
    out = shape()
    for field in msgspec.structs.fields(shape):
        item: Any = cast(dict[str, Any], value).get(field.name)
        try:
            setattr(out, field.name, msgspec.json.decode(jsontext.dumps(item), type=field.type))
        except jsontext.FAST_FAULTS:
            continue
    return out


def filed(read: Read, path: Path | None) -> Filed:
    """All that a source says of usage, a torn tail included, with what its place says."""
    agent, session = owner(path) if path is not None else (None, None)
    scanner = Scanner(session=session, agent=agent)
    at = 0
    while data := read(at, ROOM):
        scanner.feed(data)
        at += len(data)
    scanner.flush()
    project = guessed_project(path) if path is not None else None
    return Filed(scanner.digest, str(path or ""), project, agent, session)


_TAKE: dict[str, Callable[[Scanner, Head, Record], None]] = {
    "assistant": Scanner.take_assistant,
    "user": Scanner.take_user,
    "progress": Scanner.take_progress,
    "stream_event": Scanner.take_event,
    "system": Scanner.take_system,
    "result": Scanner.take_result,
    "cost-state": Scanner.take_cost_state,
}
"""How each type of record that can say something of usage is taken in."""
