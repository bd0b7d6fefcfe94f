"""The records of an agent that a progress record of its parent retells."""

from __future__ import annotations

from collections.abc import Iterator

from reread.records.decode import Record, inner_record
from reread.records.envelope import ProgressEnvelope, written_progress


def retold_records(outer: Record, payload: ProgressEnvelope) -> Iterator[Record]:
    """Yield the messages in a progress record, in order; earlier ones may be retold again.

    `normalizedMessages` has all of them; `message` is the last one, with its time.
    """
    payload = written_progress(outer.body) or payload
    last = inner_record(outer, bytes(payload.message)) if payload.message else None
    named = last.envelope.uuid if last is not None else None
    at = max(0, outer.body.find(b'"normalizedMessages"'))
    for raw in payload.others:
        one = inner_record(outer, bytes(raw), at)
        at = max(at, one.offset - outer.offset)
        if last is None or named is None or one.envelope.uuid != named:
            yield one
    if last is not None:
        yield last
