"""Responses whose rows are still coming in, and their aggregation into the digest of a file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, final

import msgspec
from msgspec import Raw

from reread.accounting.billing import charge_fields, charge_of, extra_charges, to_nanos
from reread.accounting.cost_counters import CounterReading
from reread.accounting.digest import (
    ANY_REQUEST,
    NO_RESPONSES,
    OWN_ROW,
    FileResponse,
    ResponseOrigin,
    UsageDigest,
)
from reread.accounting.rows import AnyRow, PlainRow, is_copied, replaces
from reread.base.times import timestamp_ms
from reread.disk.derived_cache import encoded
from reread.records.envelope import UsageFields

Key = tuple[str, str | None]
"""Identifies a response within a file: its message id, and its request id or else its session."""


@final
class PendingResponse(msgspec.Struct, gc=False):
    """A response that is more than plain rows. Its charge is computed at the end, since most rows do not count."""

    line: AnyRow | None
    """The first row; None if it is in the cached digest."""
    usage: UsageFields | None
    """The usage of the best row; None if that is in the cached digest."""
    model: str | None
    ended: bool
    origin: ResponseOrigin | None = None
    """None if it follows from the line."""
    reported_nanos: int | None = None
    later_timestamp: str | None = None
    """The timestamp of a later row, for a first row that has none."""
    copy_keys: list[str] = []
    cached: FileResponse | None = None
    """The response in the cached digest, if the file was read before."""

    @property
    def output(self) -> int:
        """Output tokens of the best row."""
        if self.usage is not None:
            return self.usage.output_tokens or 0
        return self.cached.charge.output if self.cached is not None else 0

    def add(self, line: AnyRow, model: str | None, stop_reason: str | None, usage: UsageFields) -> None:
        """Add a later row."""
        if replaces(stop_reason, usage.output_tokens, self.ended, self.output):
            self.usage, self.model, self.ended = usage, model, bool(stop_reason)
        if line.costUSD is not None:
            self.reported_nanos = to_nanos(line.costUSD)
        if self.later_timestamp is None:
            self.later_timestamp = line.timestamp


OpenResponse = PlainRow | PendingResponse
"""A response to which rows can be added. A PlainRow is the first row with the message of the best one."""


def pending_from_row(row: PlainRow) -> PendingResponse:
    """Return a response that had only plain rows so far."""
    message = row.message
    return PendingResponse(row, message.usage, message.model, bool(message.stop_reason))


def pending_from_cache(response: FileResponse) -> PendingResponse:
    """Return a response of a cached digest, to which better rows may still be added."""
    return PendingResponse(
        None,
        None,
        None,
        response.ended,
        reported_nanos=response.reported_nanos,
        copy_keys=list(response.copy_keys),
        cached=response,
    )


class DigestBuilder:
    """Aggregates responses into a digest."""

    def __init__(self, digest: UsageDigest, origin_of: Callable[[AnyRow], ResponseOrigin]) -> None:
        self.digest = digest
        self.origin_of = origin_of
        self.origins: dict[ResponseOrigin, int] = {origin: n for n, origin in enumerate(digest.origins)}
        self.last_fields: tuple[object, ...] = ()
        self.last_index: int = 0
        self.plain: list[tuple[Any, ...]] = []
        self.special: list[FileResponse] = []

    def build(self, responses: dict[Key, OpenResponse]) -> None:
        """Put all responses of the file into the digest."""
        add_plain, origin_index = self.plain.append, self._origin_index
        index = -1
        for (message_id, request), response in responses.items():
            index += 1
            if type(response) is PendingResponse:
                self._add_pending(index, message_id, request, response)
                continue
            message, origin, time_ms = response.message, origin_index(response), timestamp_ms(response.timestamp)
            ended, charge = bool(message.stop_reason), charge_fields(message.usage, message.model)
            add_plain((index, request, origin, time_ms, ended, charge, response.uuid))
        digest = self.digest
        digest.special, digest.ids = self.special, [message_id for message_id, _ in responses]
        self._encode_plain()
        for reading in digest.readings:
            self._locate(reading, responses)

    def _encode_plain(self) -> None:
        """Encode the plain responses; if a count is beyond 64 bits, none of them is plain."""
        data = encoded(self.plain)
        if data is not None:
            self.digest.plain = Raw(data)
            return
        plain = [msgspec.convert((*fields, self.digest.ids[fields[0]]), FileResponse) for fields in self.plain]
        self.digest.plain = NO_RESPONSES
        self.digest.special = sorted([*plain, *self.special], key=lambda response: response.index)

    def _add_pending(self, index: int, message_id: str, request: str | None, pending: PendingResponse) -> None:
        response = self._finish(index, message_id, request, pending)
        if response is None:
            return
        if self._is_plain(response):
            origin, time_ms, ended = response.origin_index, response.time_ms, response.ended
            charge = msgspec.structs.astuple(response.charge)
            self.plain.append((index, response.request, origin, time_ms, ended, charge, response.uuid))
        else:
            self.special.append(response)

    def _finish(
        self, index: int, message_id: str, request: str | None, pending: PendingResponse
    ) -> FileResponse | None:
        """Return a pending response with its charge."""
        line, usage, response = pending.line, pending.usage, pending.cached
        if response is None and line is not None:
            request_id = request if line.requestId or request == ANY_REQUEST else None
            origin = self._add_origin(pending.origin or self.origin_of(line))
            time_ms = timestamp_ms(line.timestamp)
            response = FileResponse(index, request_id, origin, time_ms, uuid=line.uuid, id=message_id)
        if response is None:
            return None
        if usage is not None:
            response.charge, response.ended = charge_of(usage, pending.model), pending.ended
            response.extras = tuple(extra_charges(usage, pending.model)) if usage.iterations else ()
        if response.time_ms is None:
            response.time_ms = timestamp_ms(pending.later_timestamp)
        response.reported_nanos, response.copy_keys = pending.reported_nanos, tuple(pending.copy_keys)
        return response

    def _is_plain(self, response: FileResponse) -> bool:
        origin = self.digest.origins[response.origin_index]
        has_request = response.request is not None and response.request != ANY_REQUEST
        is_special = response.extras or response.copy_keys or response.reported_nanos is not None
        return has_request and not is_special and not origin.streamed and origin.source == OWN_ROW

    def _locate(self, reading: CounterReading, responses: dict[Key, OpenResponse]) -> None:
        """Give a reading the origin and time of the main thread's last response before it."""
        if reading.time_ms is not None or not reading.after:
            return
        for response in reversed(list(islice(responses.values(), reading.after))):
            origin, time_ms = self._origin_and_time(response)
            if origin.session == reading.session and origin.agent is None:
                reading.origin_index, reading.time_ms = self._add_origin(origin), time_ms
                return

    def _origin_and_time(self, response: OpenResponse) -> tuple[ResponseOrigin, int | None]:
        if isinstance(response, PlainRow):
            return self.origin_of(response), timestamp_ms(response.timestamp)
        if response.cached is not None:
            return self.digest.origins[response.cached.origin_index], response.cached.time_ms
        line = response.line
        if line is None:
            return response.origin or ResponseOrigin(None, None, None, None), None
        return response.origin or self.origin_of(line), timestamp_ms(line.timestamp or response.later_timestamp)

    def _origin_index(self, line: AnyRow) -> int:
        """Return the index of a row's origin, which is mostly that of the row before."""
        fields = (line.sessionId, line.cwd, line.gitBranch, line.agentId, line.isSidechain, is_copied(line))
        if fields != self.last_fields:
            self.last_fields, self.last_index = fields, self._add_origin(self.origin_of(line))
        return self.last_index

    def _add_origin(self, origin: ResponseOrigin) -> int:
        """Return the index of an origin in the digest, adding it if it is new."""
        index = self.origins.setdefault(origin, len(self.origins))
        if index == len(self.digest.origins):
            self.digest.origins.append(origin)
        return index
