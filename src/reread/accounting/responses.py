"""Settlement: of all that several files say of usage, each response once, and what the client's counters add."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from reread.accounting.billing import DAY_MS, Charge, cost
from reread.accounting.cost_counters import CounterDelta, CounterReading, ModelCounters
from reread.accounting.counter_deltas import CounterDeltas
from reread.accounting.dedupe import ForkPoints, ResponseCopy, group_copies, row_rank, wanted_places
from reread.accounting.digest import BANDS, SIDECHAIN, SLOT_MS, SUMMED, FileDigest, FileResponse, Origin
from reread.accounting.entries import UsageEntry
from reread.accounting.prices import Prices, read_name

NOWHERE = Origin(None, None, None, None)


class ResolvedResponse(msgspec.Struct, gc=False):
    """A response with all its copies joined."""

    first: ResponseCopy
    """The copy that says where it belongs."""
    best: FileResponse
    """The one whose row counts."""
    ended: bool
    reported: int | None


def resolve(files: Sequence[FileDigest], prices: Prices, *, exact: bool = True) -> list[UsageEntry]:
    """Everything that was spent, by the files together; their order does not matter.

    Unless exact, responses of one place and quarter of an hour are one spend.
    """
    return _Resolver(files, prices, exact=exact).entries()


def resolved_responses(files: Sequence[FileDigest], prices: Prices) -> list[ResolvedResponse]:
    """Each response that the files tell of, once."""
    settlement = _Resolver(files, prices)
    single, shared = settlement.copies(list(files))
    return settlement.joined(single, shared)


class _Resolver:
    def __init__(self, files: Sequence[FileDigest], prices: Prices, *, exact: bool = True) -> None:
        self.files = sorted(files, key=lambda file: file.path)
        self.prices = prices
        self.exact = exact or not prices.thresholds <= set(BANDS)
        self.wanted = wanted_places(self.files)
        self.natives = {
            place.session
            for file in files
            for place in file.digest.places
            if not place.printed and place.source != SUMMED
        }
        """The sessions whose rows stand in a transcript."""
        printed = {reading.session for file in files for reading in file.digest.readings if reading.printed}
        self.metered = printed - self.natives
        """The sessions whose tokens are those of a printed counter."""
        self.counters = CounterDeltas(self.files)
        self.partings = ForkPoints()
        self.originals: dict[int, dict[int, ResponseCopy]] = {}
        """Of files, by the how-manieth, the printed responses that stand in a transcript too, as they stand there."""

    def entries(self) -> list[UsageEntry]:
        """Each response once, then what only the counters know."""
        out: list[UsageEntry] = []
        covered: dict[tuple[int, str | None], list[ResolvedResponse]] = {}
        tangled, apart = self._sorted_out()
        single, shared = self.copies(tangled)
        for file in apart:
            out += self._cells(file)
            single += [copy for response in file.digest.odd if (copy := self._copy(file, response)) is not None]
        for settled in self.joined(single, shared):
            place = settled.first.place
            if settled.reported is not None and self.counters.know_cost(place.session):
                settled.reported = None
            if place.printed and place.session in self.metered:
                covered.setdefault((id(settled.first.file), place.session), []).append(settled)
            else:
                out += self._spent(settled)
        for file in self.files:
            for session in dict.fromkeys(reading.session for reading in file.digest.readings):
                out += self._reported(file, session)
                if session in self.metered:
                    out += self._printed(file, session, covered.pop((id(file), session), []))
        for rows in covered.values():
            for settled in rows:
                out += self._spent(settled)
        return out

    def _sorted_out(self) -> tuple[list[FileDigest], list[FileDigest]]:
        """The files whose responses must be looked at one by one, for one stands elsewhere too, and the others."""
        if self.exact:
            return self.files, []
        counts = Counter(chain.from_iterable(file.digest.ids for file in self.files))
        twice = {message_id for message_id, count in counts.items() if count > 1}
        tangled = [file for file in self.files if not twice.isdisjoint(file.digest.ids)]
        known = {id(file) for file in tangled}
        return tangled, [file for file in self.files if id(file) not in known]

    def _cells(self, file: FileDigest) -> Iterator[UsageEntry]:
        """The plain responses of a file that has them for itself."""
        places = file.digest.places
        for cell in file.digest.cells:
            place = places[cell.place]
            when = None if cell.slot is None else cell.slot * SLOT_MS
            counts = (cell.input, cell.output, cell.write_5m, cell.write_1h, cell.read, cell.searches)
            rates = self.prices.rates(cell.model, None if when is None else when // DAY_MS, cell.mode)
            if rates is not None and rates.long is not None and rates.over in BANDS[: cell.band]:
                rates = rates.long
            picos = None if rates is None else rates.price(*counts)
            project = place.project or file.project
            yield UsageEntry(
                when,
                place.session,
                project,
                place.branch,
                place.agent,
                cell.model,
                cell.responses,
                *counts,
                picos,
                None,
                cell.unconfirmed,
            )

    # One response, however many files tell of it

    def _copy(self, file: FileDigest, response: FileResponse) -> ResponseCopy | None:
        place = file.digest.places[response.place]
        return ResponseCopy(file, response, place) if self.wanted(place) else None

    def copies(self, files: list[FileDigest]) -> tuple[list[ResponseCopy], list[list[ResponseCopy]]]:
        """The responses whose message id stands in one place, and those of which it stands in several."""
        by_id: dict[str, list[ResponseCopy]] = {}
        for file in files:
            for response in file.digest.responses():
                copy = self._copy(file, response)
                if copy is not None:
                    by_id.setdefault(response.id, []).append(copy)
        single = [copies[0] for copies in by_id.values() if len(copies) == 1]
        return single, [copies for copies in by_id.values() if len(copies) > 1]

    def joined(self, single: list[ResponseCopy], shared: list[list[ResponseCopy]]) -> list[ResolvedResponse]:
        """Each response once, whether one row tells of it or several."""
        groups = [group for copies in shared for group in group_copies(copies)]
        if groups:
            self.partings = ForkPoints(groups, single)
        return [*map(self._join, groups), *map(_alone, single)]

    def _join(self, copies: list[ResponseCopy]) -> ResolvedResponse:
        sessions = self.partings.sessions(copies)
        first = min(copies, key=lambda copy: self._age(copy, sessions))
        self.counters.note_copies(first, copies)
        for copy in copies:
            if copy.place.printed and not first.place.printed:
                self.originals.setdefault(id(copy.file), {})[copy.response.number] = first
        best = max(copies, key=row_rank).response
        reported = [copy.response.reported for copy in copies if copy.response.reported is not None]
        ended = any(copy.response.ended for copy in copies)
        return ResolvedResponse(
            first, best, ended, best.reported if best.reported is not None else max(reported, default=None)
        )

    def _age(self, copy: ResponseCopy, sessions: int) -> tuple[object, ...]:
        """Orders the copies that some sessions have: the original first.

        A fork has the times of what it copies, so that the rest must tell: when its file was begun, whether its counter
        was read before it parted from the others (then they went on from it, as they did if it never parted), when it
        parted, how much it holds.
        """
        file, place, when = copy.file, copy.place, copy.response.when
        begun, parted = file.digest.began, self.partings.when(place.session, sessions)
        readings = (reading.when for reading in file.digest.readings if reading.session == place.session)
        read = next((when for when in readings if when is not None), None)
        return (
            place.printed,
            when is None,
            when or 0,
            place.copied,
            place.source,
            begun is None,
            begun or 0,
            any(parted) and (read is None or read >= parted[0]),
            parted,
            len(file.digest.ids),
            place.agent == SIDECHAIN,
            file.path,
        )

    def _spent(self, settled: ResolvedResponse) -> Iterator[UsageEntry]:
        best, first = settled.best, settled.first
        entry = self._spend(first, best.charge)
        entry.responses, entry.unconfirmed, entry.reported = 1, int(not settled.ended), settled.reported
        yield entry
        for extra in best.extras:
            yield self._spend(first, extra)

    def _spend(self, copy: ResponseCopy, charge: Charge, *, long: bool | None = None) -> UsageEntry:
        place, file, when = copy.place, copy.file, copy.response.when
        picos = cost(charge, when, self.prices, long=long)
        project = place.project or (file.digest.folder if place.printed else None) or file.project
        return UsageEntry(
            when, place.session, project, place.branch, place.agent, charge.model, 0, *charge.counts, picos
        )

    # What the counters say

    def _reported(self, file: FileDigest, session: str | None) -> Iterator[UsageEntry]:
        digest = file.digest
        models = [cell.model for cell in digest.cells] + [response.charge.model for response in digest.odd]
        names = {self._plain(model): model for model in models}
        for part in self.counters.reported(file, session):
            place, when = self._noted(file, part.reading)
            project = place.project or digest.folder or file.project
            for model, nanos in _by_model(part):
                name = names.get(self._plain(model), model)
                yield UsageEntry(when, session, project, place.branch, None, name, reported=nanos)

    def _printed(self, file: FileDigest, session: str | None, rows: list[ResolvedResponse]) -> Iterator[UsageEntry]:
        """The tokens of a printed session: its counter's where that says any, for the rows' own are stubs."""
        coming = deque(sorted(rows, key=lambda row: row.first.response.number))
        waiting: list[ResolvedResponse] = []
        for part in self.counters.chain(file, session, printed=True):
            while coming and coming[0].first.response.number < part.reading.after:
                waiting.append(coming.popleft())
            models = _models(part, waiting)
            told = self._told(models, waiting, whole=part.reading.by_model)
            for name, model in models.items():
                yield from self._share_out(file, part.reading, name, model, told[name])
            known = {id(row) for rows in told.values() for row in rows}
            waiting = [row for row in waiting if id(row) not in known]
        for row in chain(waiting, coming):
            yield from self._spent(row)

    def _told(
        self, models: dict[str | None, ModelCounters], rows: list[ResolvedResponse], *, whole: bool
    ) -> dict[str | None, list[ResolvedResponse]]:
        """The responses of which a counter told, by model; unless whole, it is the main thread's."""
        names = {self._plain(name): name for name in models}
        out: dict[str | None, list[ResolvedResponse]] = {name: [] for name in models}
        for row in rows:
            name = names.get(self._plain(row.best.charge.model), "")
            if name in out and (whole or row.first.place.agent is None):
                out[name].append(row)
        return out

    def _share_out(
        self,
        file: FileDigest,
        reading: CounterReading,
        name: str | None,
        model: ModelCounters,
        rows: list[ResolvedResponse],
    ) -> Iterator[UsageEntry]:
        """A model's total over its responses: each what its row says, the first what no row does."""
        if not rows:
            place, when = self._noted(file, reading)
            place = msgspec.structs.replace(place, session=reading.session, printed=True)
            yield self._spend(ResponseCopy(file, FileResponse(0, None, 0, when), place), _charge(model, name, 0))
            return
        known = [row.best.charge for row in rows]
        kept = _charge(model, known[0].model, sum(charge.write_1h for charge in known))
        rest = [a - sum(b) for a, *b in zip(kept.counts, *(charge.counts for charge in known), strict=True)]
        rates = self.prices.rates(known[0].model, None)
        over = rates.over if rates is not None and rates.long is not None else 1 << 62
        long = sum(charge.prompt > over for charge in known) * 2 > len(known)
        if len(rows) == 1 or min(rest) < 0:
            rest = list(kept.counts)
            known = [Charge(charge.model, mode=charge.mode) for charge in known]
        for n, (row, share) in enumerate(zip(rows, known, strict=True)):
            entry = self._spend(row.first, share)
            if n == 0 and any(rest):
                entry.join(self._spend(row.first, Charge(share.model, *rest, mode=share.mode), long=long))
            entry.responses, entry.reported = 1, row.reported
            yield entry

    def _noted(self, file: FileDigest, reading: CounterReading) -> tuple[Origin, int | None]:
        """Where and when what a counter says was spent is noted: with the main thread's last response before it."""
        originals = self.originals.get(id(file), {})
        for number in range(reading.after - 1, -1, -1) if originals else ():
            original = originals.get(number)
            if original is not None and original.place.session == reading.session and original.place.agent is None:
                return original.place, original.response.when
        if reading.place is None:
            return NOWHERE, file.digest.began
        return file.digest.places[reading.place], reading.when

    def _plain(self, model: str | None) -> str | None:
        """What two ids of one model have in common."""
        known = self.prices.name(model)
        return known.model if known else read_name(model).model if model else None


def _alone(copy: ResponseCopy) -> ResolvedResponse:
    return ResolvedResponse(copy, copy.response, copy.response.ended, copy.response.reported)


def _by_model(part: CounterDelta) -> list[tuple[str | None, int]]:
    """A stretch's cost by model; what rounding leaves goes with the dearest."""
    spent = part.cost or 0
    costs = {name: model.cost for name, model in part.models.items() if model.cost}
    if not costs:
        return [(next(iter(part.models), None), spent)]
    dearest = max(costs, key=lambda name: costs[name] or 0)
    rest = spent - sum(nanos or 0 for nanos in costs.values())
    return [(name, (nanos or 0) + (rest if name == dearest else 0)) for name, nanos in costs.items()]


def _models(part: CounterDelta, rows: list[ResolvedResponse]) -> dict[str | None, ModelCounters]:
    """What a stretch counted, by model; of a client that says only what the main thread used, by its last model."""
    turn = part.reading.turn
    if part.reading.by_model or turn is None or not any(turn.counts):
        return {**part.models}
    main = [row.best.charge.model for row in rows if row.first.place.agent is None]
    writes = (turn.write_5m + turn.write_1h, turn.write_5m, turn.write_1h)
    return {main[-1] if main else None: ModelCounters(turn.input, turn.output, turn.read, *writes, turn.searches)}


def _charge(model: ModelCounters, name: str | None, known_1h: int) -> Charge:
    """A model's total as a charge; how much was written for an hour, where it does not say, is what the rows know."""
    hour = min(known_1h if model.write_1h is None else model.write_1h, model.write)
    return Charge(name, model.input, model.output, model.write - hour, hour, model.read, model.searches)
