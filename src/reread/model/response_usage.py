"""The usage rows of one response, from the envelopes of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reread.accounting.billing import SYNTHETIC, UsageRow, join_row, overlay
from reread.records.envelope import EventEnvelope, RecordEnvelope, decode_payload, parse_usage

CACHED_ROWS = 4096
"""For how many messages the usage rows stay computed."""


class RowCache:
    """The usage rows of the messages last asked for, by their index."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, list[UsageRow]]] = {}

    def get(self, index: int, size: int, compute: Callable[[], list[UsageRow]]) -> list[UsageRow]:
        """Return the rows of a message; they are computed again once it has another number of records."""
        known = self._rows.get(index)
        if known is None or known[0] != size:
            if len(self._rows) >= CACHED_ROWS:
                self._rows.clear()
            known = self._rows[index] = (size, compute())
        return known[1]


def usage_rows(envelopes: Iterable[RecordEnvelope], model: str | None) -> list[UsageRow]:
    """Return the winning usage row of each request of a response; `model` made the events of its stream."""
    rows: dict[str | None, UsageRow] = {}
    for envelope in envelopes:
        row = _row(envelope, model, next(iter(rows.values()), None))
        if row is not None:
            join_row(rows, row)
    return list(rows.values())


def _row(envelope: RecordEnvelope, model: str | None, first: UsageRow | None) -> UsageRow | None:
    """Return the usage row in a record; an event of a stream only states what changed since the first."""
    event = decode_payload(envelope.event, EventEnvelope) if envelope.event else None
    api = envelope.message if event is None else event.message
    if api is not None:
        usage, stop, model = parse_usage(api.usage), api.stop_reason, api.model
    elif event is not None:
        usage, stop = parse_usage(event.usage), event.stop_reason
        usage = overlay(first.usage, usage) if first is not None and usage is not None else usage
    else:
        return None
    if usage is None or model == SYNTHETIC or envelope.isApiErrorMessage:
        return None
    return UsageRow(envelope.requestId or None, usage, stop, model, envelope.costUSD)
