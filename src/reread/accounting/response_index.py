"""Collect the responses of one file from its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from reread.accounting.aggregate import (
    DigestBuilder,
    Key,
    OpenResponse,
    PendingResponse,
    pending_from_cache,
    pending_from_row,
)
from reread.accounting.billing import BILLED_APART, SYNTHETIC, charge_of, overlay, to_nanos
from reread.accounting.cost_counters import CounterReading, read_cost_state, read_result
from reread.accounting.counter_deltas import is_per_process
from reread.accounting.digest import ANY_REQUEST, CALL_RESULT, PROGRESS, SIDECHAIN, ResponseOrigin, UsageDigest
from reread.accounting.rows import (
    AgentResultRow,
    AnyLine,
    AnyMessage,
    AnyRow,
    EventRow,
    MessageRow,
    ProgressRow,
    UsageLine,
    is_copied,
)
from reread.base import jsontext
from reread.base.times import timestamp_ms
from reread.records.envelope import NOTHING, UsageFields


class ResponseIndex:
    """The responses of a file, each to be completed by the rows that follow."""

    def __init__(self, digest: UsageDigest | None, *, session: str | None, agent: str | None) -> None:
        self.session = session
        """The session of rows that name none."""
        self.agent = agent
        """The agent whose file this is, if it is an agent's."""
        self.partial: UsageDigest = digest or UsageDigest()
        """The digest without the responses since it was last built; use `digest` to read it."""
        self.responses: dict[Key, OpenResponse] = {}
        self.changed: bool = False
        """True if rows were added since the digest was built."""
        self._streams: dict[str, tuple[MessageRow, UsageFields]] = {}
        """By the call that started an agent: the message that the API is streaming."""
        self._without_id: dict[str, int] = {}
        """Rows without any id by their content."""
        self._run_markers = 0
        """Number of starts and ends of captured runs."""
        self._unnamed: list[PendingResponse | CounterReading] = []
        """The entries of the stream before it named its session."""
        for response in digest.responses() if digest is not None else ():
            key = (response.id, response.request or self.partial.origins[response.origin_index].session)
            self.responses[key] = pending_from_cache(response)

    def digest(self) -> UsageDigest:
        """Return the digest of all records so far."""
        if self.changed:
            DigestBuilder(self.partial, self.origin_of).build(self.responses)
            self.changed = False
        return self.partial

    def add_record(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Add a record in the native format; `body` is its JSON."""
        # Not every program that relays a stream leaves a session id on its messages, or strips them of other fields.
        streamed |= self.partial.streamed and not line.sessionId
        self.partial.streamed |= streamed
        if streamed:
            self._name_session(line)
        if self.partial.start_ms is None:
            self.partial.start_ms = timestamp_ms(line.timestamp)
        add = self._HANDLERS.get(line.type)
        if add is not None:
            add(self, line, body, streamed)

    def _name_session(self, line: AnyLine) -> None:
        """Note the session that a line of the stream names; one that names none belongs to the last one named.

        What came before the first name belongs to the first. Otherwise the rows of a stream would be of one session and
        the counter that sums them up of another: their cost would count twice.
        """
        if not line.sessionId:
            line.sessionId = self.partial.session
            return
        self.partial.session = line.sessionId
        for unnamed in self._unnamed:
            if isinstance(unnamed, CounterReading):
                unnamed.session = line.sessionId
            elif unnamed.origin is not None:
                unnamed.origin = msgspec.structs.replace(unnamed.origin, session=line.sessionId)
        self._unnamed.clear()

    def _add_unnamed(self, unnamed: PendingResponse | CounterReading) -> None:
        self._unnamed.append(unnamed)
        self.partial.resumable = False  # the line that names the session may be one that is not written yet

    def add_row(
        self, line: AnyRow, message: AnyMessage, usage: UsageFields, origin: ResponseOrigin | None = None
    ) -> None:
        """Add one usage row, whatever ids it has; the first row of a response decides its origin."""
        if message.model == SYNTHETIC or line.isApiErrorMessage:
            return
        if usage.iterations:
            usage.iterations = keep_iterations(usage.iterations)
        message_id, request = message.id, line.requestId
        if not message_id:
            message_id, request = request or self._make_id(line, usage), ANY_REQUEST
        key = (message_id, request or line.sessionId or self.session)
        response = self.responses.get(key)
        if response is None:
            reported = to_nanos(line.costUSD)
            response = PendingResponse(line, usage, message.model, bool(message.stop_reason), origin, reported)
        else:
            response = response if isinstance(response, PendingResponse) else pending_from_row(response)
            response.add(line, message.model, message.stop_reason, usage)
        self.responses[key] = response
        if origin is not None and origin.streamed and not line.sessionId:
            self._add_unnamed(response)
        if not request:
            response.copy_keys += _copy_keys(line, usage)

    def origin_of(self, line: AnyRow) -> ResponseOrigin:
        """Return the origin that a row states."""
        in_agent = line.isSidechain or self.agent is not None
        return ResponseOrigin(
            line.sessionId or self.session,
            line.cwd,
            line.gitBranch or None,
            (line.agentId or self.agent or SIDECHAIN) if in_agent else None,
            is_copied(line),
        )

    def _make_id(self, line: AnyRow, usage: UsageFields) -> str:
        """Make a message id for a row without one: from its uuid, else from its content and earlier such rows."""
        if line.uuid:
            return f"row {line.uuid}"
        counts = charge_of(usage, None).counts
        content = f"row {line.sessionId or self.session} {line.timestamp} {' '.join(map(str, counts))}"
        n = self._without_id.get(content, 0)
        while (f"{content} {n}", ANY_REQUEST) in self.responses:
            n += 1
        self._without_id[content] = n + 1
        return f"{content} {n}"

    # Record types

    def _add_assistant(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        message = line.message
        if message is None or message.usage is None:
            return
        origin = self.origin_of(line)
        if streamed:
            agent = (line.agentId or line.parentToolUseID) if line.parentToolUseID else None
            origin = msgspec.structs.replace(origin, streamed=True, agent=agent)
        self.add_row(line, message, message.usage, origin)

    def _add_user(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Add the usage in the result of a call that ran an agent: that of the agent's last response."""
        result = _decode(line.toolUseResult, AgentResultRow)
        if result is None or result.usage is None:
            return
        if not result.agentId and result.totalTokens is None and result.totalToolUseCount is None:
            return
        agent = result.agentId or SIDECHAIN
        origin = msgspec.structs.replace(self.origin_of(line), agent=agent, source=CALL_RESULT, streamed=streamed)
        row = UsageLine(uuid=line.uuid, timestamp=line.timestamp, sessionId=line.sessionId)
        self.add_row(row, MessageRow(model=result.resolvedModel), result.usage, origin)

    def _add_progress(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Add an agent's record that the file of its parent repeats."""
        progress = _decode(line.data, ProgressRow)
        if progress is None or progress.type != "agent_progress" or progress.message is None:
            return
        row = progress.message
        if row.message is None or row.message.usage is None or row.type != "assistant":
            return
        agent = progress.agentId or row.agentId or SIDECHAIN
        origin = msgspec.structs.replace(self.origin_of(line), agent=agent, source=PROGRESS, streamed=streamed)
        row.sessionId, row.timestamp = line.sessionId, row.timestamp or line.timestamp
        self.add_row(row, row.message, row.message.usage, origin)

    def _add_event(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Add an event of the API's stream; the last one of a response has its final usage."""
        self.partial.streamed, self.partial.resumable = True, False
        event = _decode(line.event, EventRow)
        if event is None:
            return
        call = line.parentToolUseID or ""
        if event.type == "message_start" and event.message is not None:
            self._streams[call] = (event.message, event.message.usage or UsageFields())
        if call not in self._streams or (event.usage is None and event.type != "message_start"):
            return
        message, first = self._streams[call]
        usage = first if event.usage is None else overlay(first, event.usage)
        stop_reason = event.delta.stop_reason if event.delta is not None else None
        origin = msgspec.structs.replace(self.origin_of(line), streamed=True, agent=call or None)
        self.add_row(line, MessageRow(message.model, message.id, stop_reason), usage, origin)

    def _add_system(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Read the version and working directory at the start of a stream."""
        if line.subtype == "init":
            self.partial.streamed = True
            self.partial.cwd = self.partial.cwd or line.cwd
            self.partial.client_version = line.version or self.partial.client_version

    def _add_result(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Add the counter reading at the end of a turn of a stream."""
        self.partial.streamed = True
        reading = read_result(jsontext.loads_clean(body), len(self.responses))
        if reading is not None and self._run_markers and is_per_process(self.partial.client_version):
            reading.start = self._run_markers
        self._add_reading(reading)

    def _add_run_marker(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        """Note that a captured run started or ended: another process with its own counter follows."""
        self._run_markers += 1
        self.partial.resumable = False

    def _add_cost_state(self, line: AnyLine, body: bytes, streamed: bool) -> None:
        self._add_reading(read_cost_state(jsontext.loads_clean(body), len(self.responses)))

    def _add_reading(self, reading: CounterReading | None) -> None:
        if reading is None:
            return
        if reading.streamed and not reading.session:
            reading.session = self.partial.session
            if reading.session is None:
                self._add_unnamed(reading)
        reading.session = reading.session or self.session
        self.partial.readings.append(reading)

    _HANDLERS: ClassVar[dict[str, Callable[[ResponseIndex, AnyLine, bytes, bool], None]]] = {
        "assistant": _add_assistant,
        "user": _add_user,
        "progress": _add_progress,
        "stream_event": _add_event,
        "system": _add_system,
        "result": _add_result,
        "run": _add_run_marker,
        "cost-state": _add_cost_state,
    }
    """The method for each record type that can state usage."""


_APART_MARKS = (*(name.encode() for name in sorted(BILLED_APART)), b"\\")
"""Bytes in iterations that may be billed apart; a backslash may escape any letter of a type."""


def keep_iterations(iterations: Raw) -> Raw:
    """Copy iterations out of the read buffer; return nothing if none of them can be billed apart."""
    data = bytes(iterations)
    return Raw(data) if len(data) > 2 and any(mark in data for mark in _APART_MARKS) else NOTHING


def _copy_keys(line: AnyRow, usage: UsageFields) -> list[str]:
    """Return the keys that a row without a request id shares with its copies in other sessions."""
    counts = charge_of(usage, None).counts
    content = f"{line.timestamp} {' '.join(map(str, counts))}"
    return ([line.uuid] if line.uuid else []) + ([content] if line.timestamp else [])


def _decode(raw: Raw, shape: type[Any]) -> Any:
    """Decode an object as a struct, leaving out fields of the wrong type; None if it is not an object."""
    if bytes(raw)[:1] != b"{":
        return None
    try:
        return msgspec.json.decode(raw, type=shape)
    except jsontext.DECODE_ERRORS:
        from reread.accounting.slow_lines import fit

        return fit(jsontext.loads_clean(bytes(raw)), shape)
