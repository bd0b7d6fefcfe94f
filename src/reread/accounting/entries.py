"""Usage entries: the tokens and cost of one response, or of many that share an origin and a time slot."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from reread.accounting.billing import UsageSum


class UsageEntry(msgspec.Struct, gc=False, array_like=True):
    """Tokens and cost with everything they can be grouped by."""

    time_ms: int | None
    session: str | None
    project: str | None
    branch: str | None
    agent: str | None
    """None in the main thread."""
    model: str | None
    responses: int = 0
    input: int = 0
    output: int = 0
    write_5m: int = 0
    write_1h: int = 0
    read: int = 0
    searches: int = 0
    cost_picos: int | None = None
    """Cost of the tokens in pico-dollars; None if the model has no price."""
    reported_nanos: int | None = None
    """Cost as the client reported it, in nano-dollars."""
    unconfirmed: int = 0
    path: str | None = None
    """The file it belongs to; None if it stands for many responses."""
    message: str | None = None
    """The API's id of the message."""
    request: str | None = None
    """The API's id of the request."""

    def add(self, other: UsageEntry) -> None:
        """Add the numbers of another entry with the same origin and time."""
        self.responses += other.responses
        self.input += other.input
        self.output += other.output
        self.write_5m += other.write_5m
        self.write_1h += other.write_1h
        self.read += other.read
        self.searches += other.searches
        self.unconfirmed += other.unconfirmed
        if other.cost_picos is not None:
            self.cost_picos = (self.cost_picos or 0) + other.cost_picos
        if other.reported_nanos is not None:
            self.reported_nanos = (self.reported_nanos or 0) + other.reported_nanos


_counts_of = attrgetter("responses", "unconfirmed", "input", "output", "write_5m", "write_1h", "read", "searches")


def sum_entries(entries: Sequence[UsageEntry]) -> UsageSum:
    """Return the total of some entries."""
    out = UsageSum()
    if entries:
        out.responses, out.unconfirmed, *out.counts = map(sum, zip(*map(_counts_of, entries), strict=True))
    costs = [entry.cost_picos for entry in entries if entry.cost_picos is not None]
    out.cost_picos, out.priced = sum(costs), bool(costs)
    for entry in entries:
        if entry.cost_picos is None and (entry.reported_nanos is None or entry.responses):
            out.add_cost(entry.model, None)
        if entry.reported_nanos is not None:
            out.add_reported(entry.reported_nanos)
    return out
