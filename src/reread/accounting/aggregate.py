"""Openings: responses while their rows come in, and how they are summed into a file's digest."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, final

import msgspec
from msgspec import Raw

from reread.accounting.billing import Figures, charge_of, extra_charges, figures_of, nano_dollars
from reread.accounting.cost_counters import CounterReading
from reread.accounting.digest import (
    ANYWHERE,
    BANDS,
    NO_ROWS,
    OWN,
    SLOT_MS,
    Digest,
    FileResponse,
    Origin,
    UsageCell,
    packed,
)
from reread.accounting.rows import AnyRow, PlainRow
from reread.base.times import timestamp_ms
from reread.records.envelope import UsageFields

Key = tuple[str, str | None]
"""A response within a file: its message id, and its request id or else its session."""


@final
class PendingResponse(msgspec.Struct, gc=False):
    """A response that is more than plain rows; what it comes to is worked out at the end, for most rows lose."""

    line: AnyRow | None
    """The first row; None where the response was known before."""
    usage: UsageFields | None
    """The best row; None where that was known before."""
    model: str | None
    ended: bool
    place: Origin | None = None
    """Where it belongs; None where that is just what the line says."""
    reported: int | None = None
    stamp: str | None = None
    """A later row's time, where the first has none."""
    proofs: tuple[str, ...] = ()
    before: FileResponse | None = None
    """The response as it was known before."""

    @property
    def output(self) -> int:
        """What the best row says was made."""
        if self.usage is not None:
            return self.usage.output_tokens or 0
        return self.before.charge.output if self.before is not None else 0

    def go_on(self, line: AnyRow, model: str | None, stop: str | None, usage: UsageFields) -> None:
        """A later row counts if it is better: it ended, or has more output, or is as good."""
        ended = bool(stop)
        if (usage.output_tokens or 0) >= self.output if ended == self.ended else ended:
            self.usage, self.model, self.ended = usage, model, ended
        if line.costUSD is not None:
            self.reported = nano_dollars(line.costUSD)
        if self.stamp is None:
            self.stamp = line.timestamp


Opening = PlainRow | PendingResponse
"""A response whose best row may still come: its first row with the best one's message, or more than that."""


def pending(row: PlainRow) -> PendingResponse:
    """A response that was plain so far."""
    message = row.message
    return PendingResponse(row, message.usage, message.model, bool(message.stop_reason))


def pending_again(response: FileResponse) -> PendingResponse:
    """A response that was known before; a better row may still come."""
    return PendingResponse(None, None, None, response.ended, None, response.reported, None, response.proofs, response)


LOW, HIGH = BANDS


class DigestBuilder:
    """Open responses made into a digest: the plain ones summed in cells."""

    def __init__(self, known: Digest, place_of: Callable[[AnyRow], Origin]) -> None:
        self.known = known
        self.place_of = place_of
        self.places = {place: n for n, place in enumerate(known.places)}
        self.said: tuple[object, ...] = ()
        self.here = 0
        self.cells: dict[tuple[int | None, int, str | None, int, int], list[tuple[int, ...]]] = {}
        self.rows: list[tuple[Any, ...]] = []
        self.odd: list[FileResponse] = []

    def sum(self, index: dict[Key, Opening]) -> None:
        """Put every response into the digest."""
        add_row, add_to_cell, number_of = self.rows.append, self._add_to_cell, self._number
        number = -1
        for (id, request), known in index.items():
            number += 1
            if type(known) is PendingResponse:
                self._add_odd(number, id, request, known)
                continue
            message, place, when = known.message, number_of(known), timestamp_ms(known.timestamp)
            ended, figures = bool(message.stop_reason), figures_of(message.usage, message.model)
            add_row((number, request, place, when, ended, figures, known.uuid))
            add_to_cell(place, when, figures, ended)
        digest = self.known
        digest.cells = [
            UsageCell(*key, len(rows), *map(sum, zip(*rows, strict=True))) for key, rows in self.cells.items()
        ]
        digest.odd, digest.ids = self.odd, [id for id, _ in index]
        self._pack()
        for reading in digest.readings:
            self._locate(reading, index)

    def _pack(self) -> None:
        """Keep the plain responses packed; where a count is beyond 64 bits, as they are."""
        rows = packed(self.rows)
        if rows is not None:
            self.known.rows = Raw(rows)
            return
        plain = [msgspec.convert((*row, self.known.ids[row[0]]), FileResponse) for row in self.rows]
        self.known.rows, self.known.cells = NO_ROWS, []
        self.known.odd = sorted([*plain, *self.odd], key=lambda response: response.number)

    def _add_to_cell(self, place: int, when: int | None, figures: Figures, ended: bool) -> None:
        model, given, made, five, hour, read, searches, mode = figures
        prompt = given + five + hour + read
        slot = None if when is None else when // SLOT_MS
        key = (slot, place, model, mode, 0 if prompt <= LOW else 1 if prompt <= HIGH else 2)
        counts = (given, made, five, hour, read, searches, not ended)
        rows = self.cells.get(key)
        if rows is None:
            self.cells[key] = [counts]
        else:
            rows.append(counts)

    def _add_odd(self, number: int, id: str, request: str | None, known: PendingResponse) -> None:
        """A response that is not plain, or that was known before."""
        line, usage, response = known.line, known.usage, known.before
        if response is None and line is not None:
            named = request if line.requestId or request == ANYWHERE else None
            place = self._numbered(known.place or self.place_of(line))
            response = FileResponse(number, named, place, timestamp_ms(line.timestamp), uuid=line.uuid, id=id)
        if response is None:
            return
        if usage is not None:
            response.charge, response.ended = charge_of(usage, known.model), known.ended
            response.extras = tuple(extra_charges(usage, known.model)) if usage.iterations else ()
        if response.when is None:
            response.when = timestamp_ms(known.stamp)
        response.reported, response.proofs = known.reported, known.proofs
        when, ended, figures = response.when, response.ended, msgspec.structs.astuple(response.charge)
        if self._is_plain(response):
            self.rows.append((number, response.request, response.place, when, ended, figures, response.uuid))
            self._add_to_cell(response.place, when, figures, ended)
        else:
            self.odd.append(response)

    def _is_plain(self, response: FileResponse) -> bool:
        place = self.known.places[response.place]
        named = response.request is not None and response.request != ANYWHERE
        special = response.extras or response.proofs or response.reported is not None
        return named and not special and not place.printed and place.source == OWN

    def _locate(self, reading: CounterReading, index: dict[Key, Opening]) -> None:
        """Find where what a counter says was paid is noted: at the last response of the main thread before it."""
        if reading.when is not None or not reading.after:
            return
        for known in reversed(list(islice(index.values(), reading.after))):
            place, when = self._where(known)
            if place.session == reading.session and place.agent is None:
                reading.place, reading.when = self._numbered(place), when
                return

    def _where(self, known: Opening) -> tuple[Origin, int | None]:
        if isinstance(known, PlainRow):
            return self.place_of(known), timestamp_ms(known.timestamp)
        if known.before is not None:
            return self.known.places[known.before.place], known.before.when
        line = known.line
        if line is None:
            return known.place or Origin(None, None, None, None), None
        return known.place or self.place_of(line), timestamp_ms(line.timestamp or known.stamp)

    def _number(self, line: AnyRow) -> int:
        """The number of the place where a row belongs; most belong where the one before does."""
        said = (line.sessionId, line.cwd, line.gitBranch, line.agentId, line.isSidechain, bool(line.forkedFrom))
        if said != self.said:
            self.said, self.here = said, self._numbered(self.place_of(line))
        return self.here

    def _numbered(self, place: Origin) -> int:
        number = self.places.setdefault(place, len(self.places))
        if number == len(self.known.places):
            self.known.places.append(place)
        return number
