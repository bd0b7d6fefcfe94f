"""Count each response once over all files, and add what only the client's cost counters know."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from reread.accounting.billing import Charge, UsageEntry
from reread.accounting.cost_counters import CounterDelta, CounterReading, ModelCounters
from reread.accounting.counter_deltas import CounterDeltas
from reread.accounting.dedupe import ForkPoints, ResponseCopy, copy_rank, group_copies, origin_filter
from reread.accounting.digest import (
    ANY_REQUEST,
    CALL_RESULT,
    SIDECHAIN,
    FileDigest,
    FileResponse,
    ResponseOrigin,
)
from reread.accounting.prices import Prices, parse_model_id

UNKNOWN_ORIGIN = ResponseOrigin(None, None, None, None)


class ResolvedResponse(msgspec.Struct, gc=False):
    """A response with all its copies merged."""

    first: ResponseCopy
    """The original copy: the response belongs to its origin."""
    best: FileResponse
    """The copy whose usage counts."""
    reported_nanos: int | None


def resolve(files: Sequence[FileDigest], prices: Prices) -> list[UsageEntry]:
    """Return the usage entries of some files together, in whatever order the files are given."""
    return _Resolver(files, prices).entries()


class _Resolver:
    def __init__(self, files: Sequence[FileDigest], prices: Prices) -> None:
        self.files = sorted(files, key=lambda file: file.path)
        self.prices = prices
        self.counts = origin_filter(self.files)
        in_transcripts = {
            origin.session
            for file in files
            for origin in file.digest.origins
            if not origin.streamed and origin.source != CALL_RESULT
        }
        streamed = {reading.session for file in files for reading in file.digest.readings if reading.streamed}
        self.counter_sessions = streamed - in_transcripts
        """The sessions whose tokens come from the counter of a stream."""
        self.counters = CounterDeltas(self.files)
        self.fork_points = ForkPoints()
        self.originals: dict[int, dict[int, ResponseCopy]] = {}
        """By `id` of the file digest and index: the originals in transcripts of streamed responses."""

    def entries(self) -> list[UsageEntry]:
        """Return the entries of each response, then of what only the counters know."""
        out: list[UsageEntry] = []
        in_counters: dict[tuple[int, str | None], list[ResolvedResponse]] = {}
        single, shared = self.copies(self.files)
        for resolved in self.merge(single, shared):
            origin = resolved.first.origin
            if resolved.reported_nanos is not None and self.counters.has_cost(origin.session):
                resolved.reported_nanos = None
            if origin.streamed and origin.session in self.counter_sessions:
                in_counters.setdefault((id(resolved.first.file), origin.session), []).append(resolved)
            else:
                out += self._response_entries(resolved)
        for file in self.files:
            for session in dict.fromkeys(reading.session for reading in file.digest.readings):
                out += self._cost_entries(file, session)
                if session in self.counter_sessions:
                    out += self._counter_entries(file, session, in_counters.pop((id(file), session), []))
        for resolved in chain.from_iterable(in_counters.values()):
            out += self._response_entries(resolved)
        return out

    # Responses and their copies

    def _copy(self, file: FileDigest, response: FileResponse) -> ResponseCopy | None:
        origin = file.digest.origins[response.origin_index]
        return ResponseCopy(file, response, origin) if self.counts(origin) else None

    def copies(self, files: list[FileDigest]) -> tuple[list[ResponseCopy], list[list[ResponseCopy]]]:
        """Return the responses whose message id occurs once, and the others grouped by message id."""
        by_id: dict[str, list[ResponseCopy]] = {}
        for file in files:
            for response in file.digest.responses():
                copy = self._copy(file, response)
                if copy is not None:
                    by_id.setdefault(response.id, []).append(copy)
        single = [copies[0] for copies in by_id.values() if len(copies) == 1]
        return single, [copies for copies in by_id.values() if len(copies) > 1]

    def merge(self, single: list[ResponseCopy], shared: list[list[ResponseCopy]]) -> list[ResolvedResponse]:
        """Return each response once, however many copies it has."""
        groups = [group for copies in shared for group in group_copies(copies)]
        if groups:
            self.fork_points = ForkPoints(groups, single)
        return [*map(self._merge_copies, groups), *map(_single_copy, single)]

    def _merge_copies(self, copies: list[ResponseCopy]) -> ResolvedResponse:
        sessions = self.fork_points.sessions(copies)
        first = min(copies, key=lambda copy: self._original_key(copy, sessions))
        self.counters.add_copies(first, copies)
        for copy in copies:
            if copy.origin.streamed and not first.origin.streamed:
                self.originals.setdefault(id(copy.file), {})[copy.response.index] = first
        best = max(copies, key=copy_rank).response
        reported = best.reported_nanos
        if reported is None:
            costs = (copy.response.reported_nanos for copy in copies)
            reported = max((nanos for nanos in costs if nanos is not None), default=None)
        return ResolvedResponse(first, best, reported)

    def _original_key(self, copy: ResponseCopy, sessions: int) -> tuple[object, ...]:
        """Sort key for the copies that some sessions have: the original comes first.

        A fork keeps the times of the rows it copies. So the rest decides: when the file was started; whether the
        session's counter was read before it diverged from the others (then they continued from it, as they did if it
        never diverged); when it diverged; how much the file holds.
        """
        file, origin, time_ms = copy.file, copy.origin, copy.response.time_ms
        start_ms, fork_times = file.digest.start_ms, self.fork_points.times(origin.session, sessions)
        readings = (reading.time_ms for reading in file.digest.readings if reading.session == origin.session)
        first_reading = next((reading_ms for reading_ms in readings if reading_ms is not None), None)
        return (
            origin.streamed,
            time_ms is None,
            time_ms or 0,
            origin.forked,
            origin.source,
            start_ms is None,
            start_ms or 0,
            any(fork_times) and (first_reading is None or first_reading >= fork_times[0]),
            fork_times,
            len(file.digest.ids),
            origin.agent == SIDECHAIN,
            file.path,
        )

    def _response_entries(self, resolved: ResolvedResponse) -> Iterator[UsageEntry]:
        best, first = resolved.best, resolved.first
        entry = self._entry(first, best.charge)
        entry.responses, entry.unconfirmed, entry.reported_nanos = 1, int(not best.ended), resolved.reported_nanos
        yield entry
        for extra in best.extras:
            yield self._entry(first, extra)

    def _entry(self, copy: ResponseCopy, charge: Charge) -> UsageEntry:
        """Return the entry of a charge that belongs to the origin of a copy, without counting a response."""
        origin, file, response = copy.origin, copy.file, copy.response
        project = origin.project or (file.digest.cwd if origin.streamed else None) or file.project
        where = (file.path, response.time_ms, origin.session, project, origin.branch, origin.agent)
        entry = UsageEntry(*where, charge.model, charge.mode, charge.prompt, 0, *charge.counts)
        entry.message, entry.request = (
            response.id or None,
            None if response.request == ANY_REQUEST else response.request,
        )
        return entry

    # Counters

    def _cost_entries(self, file: FileDigest, session: str | None) -> Iterator[UsageEntry]:
        """Yield the costs that the counters in a file report, by model."""
        digest = file.digest
        deltas = self.counters.cost_deltas(file, session)
        models = dict.fromkeys(response.charge.model for response in digest.responses()) if deltas else ()
        names = {self._base_model(model): model for model in models}
        for delta in deltas:
            origin, time_ms = self._reading_origin(file, delta.reading)
            project = origin.project or digest.cwd or file.project
            for model, nanos in _costs_by_model(delta):
                name = model if model in models else names.get(self._base_model(model), model)
                where = (file.path, time_ms, session, project, origin.branch, None)
                yield UsageEntry(*where, name, reported_nanos=nanos)

    def _counter_entries(
        self, file: FileDigest, session: str | None, responses: list[ResolvedResponse]
    ) -> Iterator[UsageEntry]:
        """Yield the entries of a streamed session: its tokens are those of the counter, for its rows are stubs."""
        coming = deque(sorted(responses, key=lambda resolved: resolved.first.response.index))
        waiting: list[ResolvedResponse] = []
        for delta in self.counters.deltas(file, session, streamed=True):
            while coming and coming[0].first.response.index < delta.reading.after:
                waiting.append(coming.popleft())
            models = _counters_by_model(delta, waiting)
            counted = self._responses_by_model(models, waiting, whole=delta.reading.by_model)
            for name, counters in models.items():
                yield from self._distribute(file, delta.reading, name, counters, counted[name])
            done = {id(resolved) for group in counted.values() for resolved in group}
            waiting = [resolved for resolved in waiting if id(resolved) not in done]
        for resolved in chain(waiting, coming):
            yield from self._response_entries(resolved)

    def _responses_by_model(
        self, models: dict[str | None, ModelCounters], responses: list[ResolvedResponse], *, whole: bool
    ) -> dict[str | None, list[ResolvedResponse]]:
        """Return the responses that counters include, by model; unless `whole`, these are the main thread's."""
        names = {self._base_model(name): name for name in models}
        out: dict[str | None, list[ResolvedResponse]] = {name: [] for name in models}
        for resolved in responses:
            name = names.get(self._base_model(resolved.best.charge.model), "")
            if name in out and (whole or resolved.first.origin.agent is None):
                out[name].append(resolved)
        return out

    def _distribute(
        self,
        file: FileDigest,
        reading: CounterReading,
        name: str | None,
        counters: ModelCounters,
        responses: list[ResolvedResponse],
    ) -> Iterator[UsageEntry]:
        """Yield a model's counters as entries: each response gets what its row states, the first one the rest."""
        if not responses:
            origin, time_ms = self._reading_origin(file, reading)
            origin = msgspec.structs.replace(origin, session=reading.session, streamed=True)
            copy = ResponseCopy(file, FileResponse(0, None, 0, time_ms), origin)
            yield self._entry(copy, _counter_charge(counters, name, 0))
            return
        charges = [resolved.best.charge for resolved in responses]
        model = charges[0].model
        counted = _counter_charge(counters, model, sum(charge.write_1h for charge in charges))
        rest = [a - sum(b) for a, *b in zip(counted.counts, *(charge.counts for charge in charges), strict=True)]
        prompts = sorted((charge.prompt for charge in charges), reverse=True)
        if len(responses) == 1 or min(rest) < 0:
            rest = list(counted.counts)
            charges = [Charge(charge.model, mode=charge.mode) for charge in charges]
        for n, (resolved, charge) in enumerate(zip(responses, charges, strict=True)):
            entry = self._entry(resolved.first, charge)
            entry.responses, entry.reported_nanos = 1, resolved.reported_nanos
            yield entry
            if n == 0 and any(rest):
                more = self._entry(resolved.first, Charge(charge.model, *rest, mode=charge.mode))
                more.prompt = prompts[len(prompts) // 2]  # billed as most of the prompts are
                yield more

    def _reading_origin(self, file: FileDigest, reading: CounterReading) -> tuple[ResponseOrigin, int | None]:
        """Return origin and time for the cost of a reading: those of the main thread's last response before it."""
        originals = self.originals.get(id(file), {})
        for index in range(reading.after - 1, -1, -1) if originals else ():
            original = originals.get(index)
            if original is not None and original.origin.session == reading.session and original.origin.agent is None:
                return original.origin, original.response.time_ms
        if reading.origin_index is None:
            return UNKNOWN_ORIGIN, file.digest.start_ms
        return file.digest.origins[reading.origin_index], reading.time_ms

    def _base_model(self, model: str | None) -> str | None:
        """Return the part of a model id that all ids of the model share."""
        known = self.prices.name(model)
        return known.model if known else parse_model_id(model).model if model else None


def _single_copy(copy: ResponseCopy) -> ResolvedResponse:
    return ResolvedResponse(copy, copy.response, copy.response.reported_nanos)


def _costs_by_model(delta: CounterDelta) -> list[tuple[str | None, int]]:
    """Return the cost of a delta by model; what rounding leaves goes to the most expensive one."""
    total = delta.cost_nanos or 0
    costs = {name: model.cost_nanos for name, model in delta.models.items() if model.cost_nanos}
    if not costs:
        return [(next(iter(delta.models), None), total)]
    most_expensive = max(costs, key=lambda name: costs[name])
    rest = total - sum(costs.values())
    return [(name, nanos + (rest if name == most_expensive else 0)) for name, nanos in costs.items()]


def _counters_by_model(delta: CounterDelta, responses: list[ResolvedResponse]) -> dict[str | None, ModelCounters]:
    """Return the counters of a delta by model.

    A client that states only what the main thread used in a turn has one counter, for the last model of that thread.
    """
    turn = delta.reading.turn
    if delta.reading.by_model or turn is None or not any(turn.counts):
        return {**delta.models}
    main = [resolved.best.charge.model for resolved in responses if resolved.first.origin.agent is None]
    writes = (turn.write_5m + turn.write_1h, turn.write_5m, turn.write_1h)
    return {main[-1] if main else None: ModelCounters(turn.input, turn.output, turn.read, *writes, turn.searches)}


def _counter_charge(counters: ModelCounters, model: str | None, known_1h: int) -> Charge:
    """Return a model's counters as a charge; one-hour cache writes they do not state are those that rows state."""
    write_1h = min(known_1h if counters.write_1h is None else counters.write_1h, counters.write)
    write_5m = counters.write - write_1h
    return Charge(model, counters.input, counters.output, write_5m, write_1h, counters.read, counters.searches)
