"""Spends: what was spent when, by whom, on what."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from reread.accounting.billing import Sum


class Spend(msgspec.Struct, gc=False, array_like=True):
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

    def join(self, other: Spend) -> None:
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


def sum_of(spends: Sequence[Spend]) -> Sum:
    """The figures of several."""
    out = Sum()
    if spends:
        out.responses, out.unconfirmed, *out.counts = map(sum, zip(*map(_counts_of, spends), strict=True))
    paid = [spend.picos for spend in spends if spend.picos is not None]
    out.picos, out.priced = sum(paid), bool(paid)
    for spend in spends:
        if spend.picos is None and (spend.reported is None or spend.responses):
            out.pay(spend.model, None)
        if spend.reported is not None:
            out.report(spend.reported)
    return out
