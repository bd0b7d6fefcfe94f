"""Differences between the readings of a client's cost counter, along the lineage of a session.

A reading is a running total, so what it adds is its difference to the reading before. That one may be in the same file,
in an earlier file of the session, or in a session that this one was forked from: with a wrong one, costs are counted
twice or not at all. A reading that follows none is the beginning of a counter, and counts whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reread.accounting.cost_counters import CounterDelta, CounterReading, counter_delta, stated_delta
from reread.accounting.dedupe import ResponseCopy
from reread.accounting.digest import OWN_ROW, FileDigest, FileResponse

PER_PROCESS = (2, 1, 220)
"""Up to this version each process starts a new counter; later versions carry it through resumes and forks."""
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class CounterDeltas:
    """All counter readings by session, and what each one adds to the one before it."""

    def __init__(self, files: list[FileDigest]) -> None:
        self.ancestors: dict[str | None, set[str | None]] = {}
        """For each session, the sessions whose rows it copied."""
        self.copies: set[tuple[int, int]] = set()
        """Responses that are copies: `id` of the file digest, index of the response."""
        self.readings: dict[tuple[str | None, bool], list[tuple[FileDigest, CounterReading]]] = {}
        """By session and whether they were streamed: readings in the order of the files."""
        for file in sorted(files, key=lambda file: (file.digest.start_ms or 0, file.path)):
            for reading in file.digest.readings:
                self.readings.setdefault((reading.session, reading.streamed), []).append((file, reading))

    def add_copies(self, first: ResponseCopy, copies: list[ResponseCopy]) -> None:
        """Learn from the copies of a response which session descends from which."""
        for copy in copies:
            if copy.origin.session != first.origin.session:
                self.ancestors.setdefault(copy.origin.session, set()).add(first.origin.session)
                self.copies.add((id(copy.file), copy.response.index))

    def has_cost(self, session: str | None) -> bool:
        """True if some reading states the cost of a session."""
        readings = (*self.readings.get((session, False), ()), *self.readings.get((session, True), ()))
        return any(reading.cost_nanos is not None for _, reading in readings)

    def cost_deltas(self, file: FileDigest, session: str | None) -> list[CounterDelta]:
        """Return the costs that the readings of a file report and no other file does."""
        # A stream and the transcript of the same session read one counter: counting both would double the cost.
        deltas = self.deltas(file, session, streamed=False)
        if (session, False) in self.readings:
            deltas += self._stream_remainder(file, session)
        else:
            deltas += self.deltas(file, session, streamed=True)
        return [delta for delta in deltas if delta.cost_nanos is not None]

    def _stream_remainder(self, file: FileDigest, session: str | None) -> list[CounterDelta]:
        """Return what a stream counted after the last reading in the session's transcript."""
        _, last = max(self.readings[(session, False)], key=_cost_of)
        stream, highest = max(self.readings.get((session, True), ()), key=_cost_of, default=(None, last))
        is_more = (highest.cost_nanos or 0) > (last.cost_nanos or 0)
        return [counter_delta(highest, last)] if stream is file and is_more and highest.follows(last) else []

    def deltas(self, file: FileDigest, session: str | None, *, streamed: bool) -> list[CounterDelta]:
        """Return what each reading of a session in a file adds to the reading before it."""
        out: list[CounterDelta] = []
        previous: CounterReading | None = None
        one_process = streamed and is_per_process(file.digest.client_version)
        for reading in file.digest.readings:
            if reading.streamed != streamed or self._is_repeated(file, reading):
                continue
            if reading.session != session:  # the process goes on counting when it changes the session
                previous = reading if one_process else previous
                continue
            base = self._base(file, reading) if previous is None else previous
            continues = base is not None and reading.follows(base) and _same_start(reading, base)
            out.append(stated_delta(reading) or counter_delta(reading, base if continues else None))
            previous = reading
        return out

    def _is_repeated(self, file: FileDigest, reading: CounterReading) -> bool:
        """True if an earlier file has the same reading."""
        for other, earlier in self.readings[(reading.session, reading.streamed)]:
            if other is file:
                return False
            if _is_copy(earlier, reading):
                return True
        return False

    def _base(self, file: FileDigest, reading: CounterReading) -> CounterReading | None:
        """Return the reading before the first one of a file: that of an earlier file or of an ancestor."""
        if reading.streamed and is_per_process(file.digest.client_version):
            return None
        lineage = list(self._lineage(file, reading))
        start_ms, own_prompt = self._own_part(file, reading) if lineage else (None, 0)
        found: list[tuple[FileDigest, CounterReading]] = []
        for other, earlier in lineage:
            # A counter only grows. So the base is no reading made after this session began on its own, and none that,
            # with the prompts of this session alone, is already more than what is read here.
            is_later = start_ms is not None and (earlier.time_ms or 0) > start_ms
            if not is_later and reading.follows(earlier) and _same_start(reading, earlier):
                known = reading.prompt is not None and earlier.prompt is not None
                if not known or (earlier.prompt or 0) + own_prompt <= (reading.prompt or 0):
                    found.append((other, earlier))
        return max(found, key=_cost_of)[1] if found else None  # the latest, because a counter only grows

    def _lineage(self, file: FileDigest, reading: CounterReading) -> Iterator[tuple[FileDigest, CounterReading]]:
        """Yield the readings from which a counter may have continued."""
        for other, earlier in self.readings[(reading.session, reading.streamed)]:
            if other is file:
                break
            yield other, earlier
        for ancestor in self.ancestors.get(reading.session, ()):
            for streamed in (False, True):
                yield from self.readings.get((ancestor, streamed), ())

    def _own_part(self, file: FileDigest, reading: CounterReading) -> tuple[int | None, int]:
        """Return when the session's own responses in a file begin, and their prompt tokens before a reading."""
        digest = file.digest
        own: dict[str, FileResponse] = {}
        for index, response in enumerate(digest.responses()[: reading.after]):
            origin = digest.origins[response.origin_index]
            is_copy = (id(file), index) in self.copies
            if origin.session == reading.session and origin.source == OWN_ROW and not is_copy:
                own.setdefault(response.id, response)
        start_ms = next((response.time_ms for response in own.values() if response.time_ms is not None), None)
        prompt = sum(response.charge.prompt for response in own.values())
        return start_ms, max(prompt, reading.turn.prompt if reading.turn is not None else 0)


def _cost_of(found: tuple[FileDigest, CounterReading]) -> int:
    return found[1].cost_nanos or 0


def _same_start(a: CounterReading, b: CounterReading) -> bool:
    return a.start is None or b.start is None or a.start == b.start


def _is_copy(a: CounterReading, b: CounterReading) -> bool:
    if a.uuid or b.uuid:
        return a.uuid == b.uuid
    return (a.cost_nanos, a.models, a.start, a.after) == (b.cost_nanos, b.models, b.start, b.after)


def is_per_process(client_version: str | None) -> bool:
    """True if each process of this client version starts a new counter."""
    found = _VERSION.match(client_version or "")
    return found is not None and tuple(map(int, found.groups())) <= PER_PROCESS
