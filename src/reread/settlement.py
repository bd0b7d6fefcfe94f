"""Settlement: of all that several files say of usage, each response once, and what the client's counters add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from reread.charges import Charge, Sum, Usage, cost
from reread.copies import Copy, gather, wanted_places, worth
from reread.counters import Counters
from reread.digests import SIDECHAIN, SUMMED, Filed, Place, Response
from reread.prices import Prices, read_name
from reread.readings import ModelReading, Stretch
from reread.spends import Spend

NOWHERE = Place(None, None, None, None)


class Settled(msgspec.Struct, gc=False):
    """A response with all its copies joined."""

    first: Copy
    """The copy that says where it belongs."""
    best: Response
    """The one whose row counts."""
    ended: bool
    reported: int | None


def settle(files: Sequence[Filed], prices: Prices, *, slot: int | None = None) -> list[Spend]:
    """Everything that was spent, by the files together; their order does not matter.

    With a slot (in milliseconds), responses that belong to one place and one such span are one spend.
    """
    return _Settlement(files, prices, slot).spends()


def responses(files: Sequence[Filed], prices: Prices) -> list[Settled]:
    """Each response that the files tell of, once."""
    settlement = _Settlement(files, prices)
    single, shared = settlement.copies()
    alone = [
        Settled(copy, copy.response, copy.response.ended, copy.response.reported)
        for copy in (Copy(*found) for found in single)
    ]
    return alone + settlement.joined(shared)


def spent(files: Sequence[Filed], prices: Prices) -> Usage:
    """What the files say was spent, in all."""
    out = Sum()
    for spend in settle(files, prices):
        spend.add_to(out)
    return out.usage()


Found = tuple[Filed, int, Response, Place]
"""The fields of a Copy, before it is worth one."""


class _Settlement:
    def __init__(self, files: Sequence[Filed], prices: Prices, slot: int | None = None) -> None:
        self.files = sorted(files, key=lambda file: file.path)
        self.prices = prices
        self.slot = slot
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
        self.counters = Counters(self.files)
        self.shared: Counter[int] = Counter()
        """How many responses of each file stand in other files too."""
        self.merged: dict[tuple[int | None, int, str | None], Spend] = {}

    def spends(self) -> list[Spend]:
        """Each response once, then what only the counters know."""
        out: list[Spend] = []
        covered: dict[tuple[int, str | None], list[Settled]] = {}
        single, shared = self.copies()
        rest: list[Settled] = self.joined(shared)
        for found in single:
            file, _, response, place = found
            if place.printed or response.extras or response.reported is not None:
                rest.append(Settled(Copy(*found), response, response.ended, response.reported))
            else:
                self._plain_spend(file, response, place, out)
        for settled in rest:
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

    def _plain_spend(self, file: Filed, response: Response, place: Place, out: list[Spend]) -> None:
        """A response that stands in one file only: almost all do."""
        when, charge = response.when, response.charge
        nanos = cost(charge, when, self.prices)
        if self.slot is None:
            spend = self._empty(file, place, when, charge.model, nanos)
            out.append(spend)
        else:
            start = None if when is None else when // self.slot * self.slot
            key = (start, id(place), charge.model)
            spend = self.merged.get(key)
            if spend is None:
                spend = self.merged[key] = self._empty(file, place, start, charge.model, nanos)
                out.append(spend)
        spend.add(charge, nanos, response.ended)

    def _empty(self, file: Filed, place: Place, when: int | None, model: str | None, nanos: int | None) -> Spend:
        project = place.project or file.project
        spend = Spend(when, place.session, project, place.branch, place.agent, model)
        spend.nanos = None if nanos is None else 0
        return spend

    # One response, however many files tell of it

    def copies(self) -> tuple[list[Found], list[list[Copy]]]:
        """The responses that one file tells of, and those of which the message id stands in several places."""
        seen: dict[str, Found] = {}
        shared: dict[str, list[Copy]] = {}
        wanted = wanted_places(self.files)
        for file in self.files:
            places = [place if wanted(place) else None for place in file.digest.places]
            for number, response in enumerate(file.digest.responses):
                place = places[response.place]
                if place is None:
                    continue
                found = (file, number, response, place)
                first = seen.setdefault(response.id, found)
                if first is not found:
                    shared.setdefault(response.id, [Copy(*first)]).append(Copy(*found))
        for id in shared:
            del seen[id]
        return list(seen.values()), list(shared.values())

    def joined(self, shared: list[list[Copy]]) -> list[Settled]:
        """Each response that several rows tell of, once."""
        for copies in shared:
            self.shared.update({id(copy.file) for copy in copies})
        return [self._join(group) for copies in shared for group in gather(copies)]

    def _join(self, copies: list[Copy]) -> Settled:
        first = min(copies, key=self._age)
        self.counters.note_copies(first, copies)
        best = max(copies, key=worth).response
        reported = [copy.response.reported for copy in copies if copy.response.reported is not None]
        ended = any(copy.response.ended for copy in copies)
        return Settled(first, best, ended, best.reported if best.reported is not None else max(reported, default=None))

    def _age(self, copy: Copy) -> tuple[object, ...]:
        """Orders copies: the original first.

        A fork has the times of what it copies, so that its file must tell: when it was begun, whether all it holds is
        in other files too (then these went on from it), how much it holds.
        """
        file, place, when = copy.file, copy.place, copy.response.when
        count = len(file.digest.responses)
        begun = file.digest.began
        return (
            place.printed,
            when is None,
            when or 0,
            place.copied,
            place.source,
            begun is None,
            begun or 0,
            count > self.shared[id(file)],
            count,
            place.agent == SIDECHAIN,
            file.path,
        )

    def _spent(self, settled: Settled) -> Iterator[Spend]:
        best, first = settled.best, settled.first
        spend = self._spend(first, best.charge)
        spend.responses, spend.unconfirmed, spend.reported = 1, int(not settled.ended), settled.reported
        yield spend
        for extra in best.extras:
            yield self._spend(first, extra)

    def _spend(self, copy: Copy, charge: Charge, *, long: bool | None = None) -> Spend:
        place, file, when = copy.place, copy.file, copy.response.when
        nanos = cost(charge, when, self.prices, long=long)
        project = place.project or (file.digest.folder if place.printed else None) or file.project
        return Spend(when, place.session, project, place.branch, place.agent, charge.model, 0, *charge.counts, nanos)

    # What the counters say

    def _reported(self, file: Filed, session: str | None) -> Iterator[Spend]:
        names = {self._plain(r.charge.model): r.charge.model for r in file.digest.responses}
        for part in self.counters.reported(file, session):
            at = _last_before(file, session, part.reading.after)
            for model, nanos in _by_model(part):
                yield self._note(file, session, at, names.get(self._plain(model), model), nanos)

    def _note(self, file: Filed, session: str | None, at: Copy | None, model: str | None, nanos: int) -> Spend:
        if at is None:
            folder = file.digest.folder or file.project
            return Spend(file.digest.began, session, folder, None, None, model, reported=nanos)
        spend = self._spend(at, Charge(model))
        spend.session, spend.agent, spend.nanos, spend.reported = session, None, None, nanos
        return spend

    def _printed(self, file: Filed, session: str | None, rows: list[Settled]) -> Iterator[Spend]:
        """The tokens of a printed session: its counter's where that says any, for the rows' own are stubs."""
        rows.sort(key=lambda row: row.first.number)
        stretches = self.counters.chain(file, session, printed=True)
        totals, whole = _totals(stretches, rows)
        last = max((part.reading.after for part in stretches), default=0)
        names = {self._plain(name): name for name in totals}
        by_model: dict[str | None, list[Settled]] = {name: [] for name in totals}
        for row in rows:
            name = names.get(self._plain(row.best.charge.model), "")
            if name in by_model and row.first.number < last and (whole or row.first.place.agent is None):
                by_model[name].append(row)
            else:
                yield from self._spent(row)
        for name, model in totals.items():
            yield from self._share_out(file, session, name, model, by_model[name])

    def _share_out(
        self, file: Filed, session: str | None, name: str | None, model: ModelReading, rows: list[Settled]
    ) -> Iterator[Spend]:
        """A model's total over its responses: each what its row says, the first what no row does."""
        if not rows:
            place = msgspec.structs.replace(NOWHERE, session=session, printed=True)
            lone = Copy(file, 0, Response("", None, 0, file.digest.began), place)
            yield self._spend(lone, _charge(model, name, 0, 0))
            return
        known = [row.best.charge for row in rows]
        kept = _charge(model, known[0].model, sum(c.write_5m for c in known), sum(c.write_1h for c in known))
        rest = [a - sum(b) for a, *b in zip(kept.counts, *(charge.counts for charge in known), strict=True)]
        rates = self.prices.rates(known[0].model, None)
        over = rates.over if rates is not None and rates.long is not None else 1 << 62
        long = sum(charge.prompt > over for charge in known) * 2 > len(known)
        if len(rows) == 1 or min(rest) < 0:
            rest = list(kept.counts)
            known = [Charge(charge.model, mode=charge.mode) for charge in known]
        for n, (row, share) in enumerate(zip(rows, known, strict=True)):
            spend = self._spend(row.first, share)
            if n == 0 and any(rest):
                spend.join(self._spend(row.first, Charge(share.model, *rest, mode=share.mode), long=long))
            spend.responses, spend.reported = 1, row.reported
            yield spend

    def _plain(self, model: str | None) -> str | None:
        """What two ids of one model have in common."""
        known = self.prices.name(model)
        return known.model if known else read_name(model).model if model else None


def _last_before(file: Filed, session: str | None, after: int) -> Copy | None:
    """The response of the main thread that came last before a reading."""
    digest = file.digest
    for number in range(min(after, len(digest.responses)) - 1, -1, -1):
        response = digest.responses[number]
        place = digest.places[response.place]
        if place.session == session and place.agent is None:
            return Copy(file, number, response, place)
    return None


def _by_model(part: Stretch) -> list[tuple[str | None, int]]:
    """A stretch's cost by model; what rounding leaves goes with the dearest."""
    spent = part.cost or 0
    costs = {name: model.cost for name, model in part.models.items() if model.cost}
    if not costs:
        return [(next(iter(part.models), None), spent)]
    dearest = max(costs, key=lambda name: costs[name] or 0)
    rest = spent - sum(nanos or 0 for nanos in costs.values())
    return [(name, (nanos or 0) + (rest if name == dearest else 0)) for name, nanos in costs.items()]


def _totals(stretches: list[Stretch], rows: list[Settled]) -> tuple[dict[str | None, ModelReading], bool]:
    """All that a file's stretches counted, by model; and whether that is more than the main thread."""
    out: dict[str | None, ModelReading] = {}
    whole = True
    for part in stretches:
        models: dict[str | None, ModelReading] = {**part.models}
        if not part.reading.by_model and part.reading.turn is not None:
            turn, whole = part.reading.turn, False
            main = [row for row in rows if row.first.place.agent is None and row.first.number < part.reading.after]
            writes = (turn.write_5m + turn.write_1h, turn.write_5m, turn.write_1h)
            model = main[-1].best.charge.model if main else None
            models = {model: ModelReading(turn.input, turn.output, turn.read, *writes, turn.searches)}
        for name, model in models.items():
            out[name] = out[name].plus(model) if name in out else model
    return out, whole


def _charge(model: ModelReading, name: str | None, known_5m: int, known_1h: int) -> Charge:
    """A model's total as a charge; the life of its cache writes, where it has none, is that of the rows."""
    if model.write_1h is not None:
        hour = min(model.write_1h, model.write)
    else:
        hour = min(known_1h, model.write)
    return Charge(name, model.input, model.output, model.write - hour, hour, model.read, model.searches)
