"""Spends: what was spent when, by whom, on what."""

from __future__ import annotations

import msgspec

from reread.money.charges import Sum


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

    def add_to(self, sum: Sum) -> None:
        """Add this to the figures of a group."""
        counts = sum.counts
        counts[0] += self.input
        counts[1] += self.output
        counts[2] += self.write_5m
        counts[3] += self.write_1h
        counts[4] += self.read
        counts[5] += self.searches
        sum.responses += self.responses
        sum.unconfirmed += self.unconfirmed
        if self.picos is not None:
            sum.picos += self.picos
            sum.priced = True
        elif self.reported is None or self.responses:
            sum.pay(self.model, None)
        sum.report(self.reported)

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
