"""Settlement: of all that several files say of usage, each response once, and what the client's counters add."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from reread.charges import Charge, Sum, Usage, cost
from reread.digests import OWN, RETOLD, SIDECHAIN, SUMMED, Filed, Place, Response
from reread.prices import Prices, read_name
from reread.readings import ModelReading, Reading, Stretch, stated, stretch

PER_PROCESS = (2, 1, 220)
"""Up to this version a counter began anew with each process; later it goes on through resumes and forks."""
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
NOWHERE = Place(None, None, None, None)


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
    nanos: int | None = None
    """What the tokens cost; None where their model has no price."""
    reported: int | None = None
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
        if self.nanos is not None:
            sum.nanos += self.nanos
            sum.priced = True
        elif self.reported is None or self.responses:
            sum.pay(self.model, None)
        if self.reported is not None:
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
        if other.nanos is not None:
            self.nanos = (self.nanos or 0) + other.nanos
        if other.reported is not None:
            self.reported = (self.reported or 0) + other.reported


class Copy(msgspec.Struct, gc=False):
    """One file's word on a response."""

    file: Filed
    number: int
    """The how-manieth response of the file it is."""
    response: Response
    place: Place


class Settled(msgspec.Struct, gc=False):
    """A response with all its copies joined."""

    first: Copy
    """The copy that says where it belongs."""
    best: Response
    """The one whose row counts."""
    ended: bool
    reported: int | None


def settle(files: Sequence[Filed], prices: Prices) -> list[Spend]:
    """Everything that was spent, by the files together; their order does not matter."""
    return list(_Settlement(sorted(files, key=lambda file: file.path), prices).spends())


def responses(files: Sequence[Filed], prices: Prices) -> list[Settled]:
    """Each response that the files tell of, once."""
    return list(_Settlement(sorted(files, key=lambda file: file.path), prices).responses())


def spent(files: Sequence[Filed], prices: Prices) -> Usage:
    """What the files say was spent, in all."""
    out = Sum()
    for spend in settle(files, prices):
        spend.add_to(out)
    return out.usage()


class _Settlement:
    def __init__(self, files: list[Filed], prices: Prices) -> None:
        self.files = files
        self.prices = prices
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
        self.counters = _Counters(files)
        self.shared: Counter[int] = Counter()
        """How many responses of each file stand in other files too."""

    def spends(self) -> Iterator[Spend]:
        """Each response once, then what only the counters know."""
        covered: dict[tuple[int, str | None], list[Settled]] = {}
        for settled in self.responses():
            place = settled.first.place
            if settled.reported is not None and self.counters.know_cost(place.session):
                settled.reported = None
            if place.printed and place.session in self.metered:
                covered.setdefault((id(settled.first.file), place.session), []).append(settled)
            else:
                yield from self._spent(settled)
        for file in self.files:
            for session in dict.fromkeys(reading.session for reading in file.digest.readings):
                yield from self._reported(file, session)
                if session in self.metered:
                    yield from self._printed(file, session, covered.pop((id(file), session), []))
        for rows in covered.values():
            for settled in rows:
                yield from self._spent(settled)

    # One response, however many files tell of it

    def responses(self) -> Iterator[Settled]:
        """Each response once, wherever it stands."""
        seen: dict[str, Copy] = {}
        shared: dict[str, list[Copy]] = {}
        wanted = _wanted(self.files)
        for file in self.files:
            places = [place if wanted(place) else None for place in file.digest.places]
            for number, response in enumerate(file.digest.responses):
                place = places[response.place]
                if place is None:
                    continue
                copy = Copy(file, number, response, place)
                first = seen.setdefault(response.id, copy)
                if first is not copy:
                    shared.setdefault(response.id, [first]).append(copy)
        for copies in shared.values():
            self.shared.update({id(copy.file) for copy in copies})
        for response_id, copy in seen.items():
            if response_id not in shared:
                yield Settled(copy, copy.response, copy.response.ended, copy.response.reported)
        for copies in shared.values():
            yield from map(self._join, _gather(copies))

    def _join(self, copies: list[Copy]) -> Settled:
        first = min(copies, key=self._age)
        self.counters.note_copies(first, copies)
        best = max(copies, key=_worth).response
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


def _wanted(files: Sequence[Filed]) -> Callable[[Place], bool]:
    """Whether the responses of a place count: second-hand ones only where the agent's own are missing."""
    places = [place for file in files for place in file.digest.places]
    own = {(place.session, place.agent) for place in places if place.source == OWN}
    own |= {(file.session, file.agent) for file in files}
    agents = {agent for _, agent in own}
    retold = {place.agent for place in places if place.source == RETOLD}
    metered = {reading.session for file in files for reading in file.digest.readings if reading.printed}

    def summed(place: Place) -> bool:
        if place.agent == SIDECHAIN:
            return (place.session, SIDECHAIN) not in own
        told = place.agent in agents or place.agent in retold
        return not told and not (place.printed and place.session in metered)

    tests: dict[int, Callable[[Place], bool]] = {
        OWN: lambda place: True,
        RETOLD: lambda place: (place.session, place.agent) not in own,
        SUMMED: summed,
    }
    return lambda place: tests[place.source](place)


def _gather(copies: list[Copy]) -> list[list[Copy]]:
    """Copies of one message id as responses: the same request, or without one the same session or a proof."""
    groups = _Joined(len(copies))
    named: dict[object, int] = {}
    for n in sorted(range(len(copies)), key=lambda n: _precedence(copies[n])):
        request = copies[n].response.request
        for mark in _marks(copies[n]) if request else ():
            named.setdefault(mark, n)
        for mark in [("request", request)] if request else _marks(copies[n]):
            groups.join(mark, n)
    found: dict[int, list[int]] = {}
    for n, copy in enumerate(copies):
        if copy.response.request is None:
            found.setdefault(groups.root(n), []).extend(named[mark] for mark in _marks(copy) if mark in named)
    for root, others in found.items():
        if others:
            groups.union(min(others, key=lambda n: _precedence(copies[n])), root)
    out: dict[int, list[Copy]] = {}
    for n, copy in enumerate(copies):
        out.setdefault(groups.root(n), []).append(copy)
    return _without_replays(list(out.values()))


def _precedence(copy: Copy) -> tuple[bool, str]:
    """Of several requests under one id, a row that names none goes with the main thread's, and with one for good."""
    return (copy.place.agent is not None, copy.response.request or "")


def _marks(copy: Copy) -> Iterator[object]:
    """What a row without a request id has in common with the others of its response, or their copies."""
    response = copy.response
    yield ("session", copy.place.session)
    yield from response.proofs or ([response.uuid] if response.uuid else [])
    if response.when is not None:
        yield (response.when, response.charge.counts)


class _Joined:
    """Numbers in groups that grow together."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))
        self._first: dict[object, int] = {}

    def root(self, n: int) -> int:
        """The number that stands for a group."""
        while self._above[n] != n:
            self._above[n] = self._above[self._above[n]]
            n = self._above[n]
        return n

    def union(self, a: int, b: int) -> None:
        """Make one group of two."""
        self._above[self.root(b)] = self.root(a)

    def join(self, mark: object, n: int) -> None:
        """Put a number with the others of that mark."""
        self.union(self._first.setdefault(mark, n), n)


def _without_replays(groups: list[list[Copy]]) -> list[list[Copy]]:
    """Drop what an agent's file replays of the main thread under another request."""
    mains = [group for group in groups if any(copy.place.agent is None for copy in group)]
    told = {copy.place.session for group in mains for copy in group}
    return [group for group in groups if group in mains or not any(copy.place.session in told for copy in group)]


def _worth(copy: Copy) -> tuple[object, ...]:
    """Orders rows: the one that ended, then the one with more output, then the later one."""
    response = copy.response
    said = (str(response.charge), str(response.extras))
    return (response.ended, response.output, response.when or 0, response.charge.counts, said)


class _Counters:
    """The client's counters by session, and what each reading adds to the one before it."""

    def __init__(self, files: list[Filed]) -> None:
        self.ancestors: dict[str | None, set[str | None]] = {}
        """The sessions from which each has rows."""
        self.copied: set[tuple[int, int]] = set()
        """Responses that stand in a file as copies: the file, the how-manieth."""
        self.readings: dict[tuple[str | None, bool], list[tuple[Filed, Reading]]] = {}
        for file in sorted(files, key=lambda file: (file.digest.began or 0, file.path)):
            for reading in file.digest.readings:
                self.readings.setdefault((reading.session, reading.printed), []).append((file, reading))

    def note_copies(self, first: Copy, copies: list[Copy]) -> None:
        """Learn from a response that several files hold which session comes from which."""
        for copy in copies:
            if copy.place.session != first.place.session:
                self.ancestors.setdefault(copy.place.session, set()).add(first.place.session)
                self.copied.add((id(copy.file), copy.number))

    def know_cost(self, session: str | None) -> bool:
        """Whether some counter says what a session cost."""
        both = (*self.readings.get((session, False), ()), *self.readings.get((session, True), ()))
        return any(reading.cost is not None for _, reading in both)

    def reported(self, file: Filed, session: str | None) -> list[Stretch]:
        """What a file's readings say was paid, and no other file's does."""
        found = self.chain(file, session, printed=False)
        written = self.readings.get((session, False), ())
        found += self._beyond(file, session) if written else self.chain(file, session, printed=True)
        return [part for part in found if part.cost is not None]

    def _beyond(self, file: Filed, session: str | None) -> list[Stretch]:
        """Of a session whose transcript has readings, what was printed after the last of them."""
        _, last = max(self.readings[(session, False)], key=_amount)
        where, top = max(self.readings.get((session, True), ()), key=_amount, default=(None, last))
        fresh = where is file and (top.cost or 0) > (last.cost or 0) and top.follows(last)
        return [stretch(top, last)] if fresh else []

    def chain(self, file: Filed, session: str | None, *, printed: bool) -> list[Stretch]:
        """What each reading of a file adds to the one before it."""
        out: list[Stretch] = []
        before: Reading | None = None
        one_process = printed and _is_per_process(file.digest.client)
        for reading in file.digest.readings:
            if reading.printed != printed or self._told_before(file, reading):
                continue
            if reading.session != session:
                before = reading if one_process else before
                continue
            base = self._base(file, reading) if before is None else before
            goes_on = base is not None and reading.follows(base) and _same_start(reading, base)
            out.append(stated(reading) or stretch(reading, base if goes_on else None))
            before = reading
        return out

    def _told_before(self, file: Filed, reading: Reading) -> bool:
        """Whether another file, which comes first, has this very reading."""
        for other, earlier in self.readings[(reading.session, reading.printed)]:
            if other is file:
                return False
            if _is_copy(earlier, reading):
                return True
        return False

    def _base(self, file: Filed, reading: Reading) -> Reading | None:
        """Where the counter stood before a file's first reading: at an earlier file's, or an ancestor's."""
        if reading.printed and _is_per_process(file.digest.client):
            return None
        begun, spent = self._own(file, reading)
        found: list[tuple[Filed, Reading]] = []
        for other, earlier in self._lineage(file, reading):
            later = begun is not None and (_time(other, earlier) or 0) > begun
            if not later and reading.follows(earlier) and _same_start(reading, earlier):
                known = reading.prompt is not None and earlier.prompt is not None
                if not known or (earlier.prompt or 0) + spent <= (reading.prompt or 0):
                    found.append((other, earlier))
        return max(found, key=_amount)[1] if found else None

    def _lineage(self, file: Filed, reading: Reading) -> Iterator[tuple[Filed, Reading]]:
        for other, earlier in self.readings[(reading.session, reading.printed)]:
            if other is file:
                break
            yield other, earlier
        for ancestor in self.ancestors.get(reading.session, ()):
            for printed in (False, True):
                yield from self.readings.get((ancestor, printed), ())

    def _own(self, file: Filed, reading: Reading) -> tuple[int | None, int]:
        """When a session's own part of a file begins, and the prompt tokens its rows show before a reading."""
        digest = file.digest
        rows: dict[str, Response] = {}
        for number, response in enumerate(digest.responses[: reading.after]):
            place = digest.places[response.place]
            if place.session == reading.session and place.source == OWN and (id(file), number) not in self.copied:
                rows.setdefault(response.id, response)
        begun = next((response.when for response in rows.values() if response.when is not None), None)
        shown = sum(response.charge.prompt for response in rows.values())
        return begun, max(shown, reading.turn.prompt if reading.turn is not None else 0)


def _amount(found: tuple[Filed, Reading]) -> int:
    return found[1].cost or 0


def _time(file: Filed, reading: Reading) -> int | None:
    """About when a counter was read: at the last response before."""
    return file.digest.responses[reading.after - 1].when if reading.after else None


def _same_start(a: Reading, b: Reading) -> bool:
    return a.start is None or b.start is None or a.start == b.start


def _is_copy(a: Reading, b: Reading) -> bool:
    if a.uuid or b.uuid:
        return a.uuid == b.uuid
    return (a.cost, a.models, a.start, a.after) == (b.cost, b.models, b.start, b.after)


def _is_per_process(client: str | None) -> bool:
    found = _VERSION.match(client or "")
    return found is not None and tuple(map(int, found.groups())) <= PER_PROCESS


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
