"""Spends: what was spent when, by whom, on what."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from reread.accounting.billing import UsageSum


class UsageEntry(msgspec.Struct, gc=False, array_like=True):
    """Something that was spent: when, by whom, on what."""

    when: int | None
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
    picos: int | None = None
    """What the tokens cost, in pico-dollars; None where their model has no price."""
    reported: int | None = None
    """What the client said, in nano-dollars."""
    unconfirmed: int = 0

    def join(self, other: UsageEntry) -> None:
        """Take in another that belongs to the same place and time."""
        self.responses += other.responses
        self.input += other.input
        self.output += other.output
        self.write_5m += other.write_5m
        self.write_1h += other.write_1h
        self.read += other.read
        self.searches += other.searches
        self.unconfirmed += other.unconfirmed
        if other.picos is not None:
            self.picos = (self.picos or 0) + other.picos
        if other.reported is not None:
            self.reported = (self.reported or 0) + other.reported


_counts_of = attrgetter("responses", "unconfirmed", "input", "output", "write_5m", "write_1h", "read", "searches")


def sum_entries(entries: Sequence[UsageEntry]) -> UsageSum:
    """The figures of several."""
    out = UsageSum()
    if entries:
        out.responses, out.unconfirmed, *out.counts = map(sum, zip(*map(_counts_of, entries), strict=True))
    paid = [entry.picos for entry in entries if entry.picos is not None]
    out.picos, out.priced = sum(paid), bool(paid)
    for entry in entries:
        if entry.picos is None and (entry.reported is None or entry.responses):
            out.pay(entry.model, None)
        if entry.reported is not None:
            out.report(entry.reported)
    return out
