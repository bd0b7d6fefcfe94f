"""Counters: the client's own, by session and along its lineage, and what each reading adds to the one before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reread.accounting.cost_counters import CounterDelta, CounterReading, counter_delta, stated_delta
from reread.accounting.dedupe import ResponseCopy
from reread.accounting.digest import OWN, FileDigest, FileResponse

PER_PROCESS = (2, 1, 220)
"""Up to this version a counter began anew with each process; later it goes on through resumes and forks."""
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class CounterDeltas:
    """The client's counters by session, and what each reading adds to the one before it."""

    def __init__(self, files: list[FileDigest]) -> None:
        self.ancestors: dict[str | None, set[str | None]] = {}
        """The sessions from which each has rows."""
        self.copied: set[tuple[int, int]] = set()
        """Responses that stand in a file as copies: the file, the how-manieth."""
        self.readings: dict[tuple[str | None, bool], list[tuple[FileDigest, CounterReading]]] = {}
        for file in sorted(files, key=lambda file: (file.digest.began or 0, file.path)):
            for reading in file.digest.readings:
                self.readings.setdefault((reading.session, reading.printed), []).append((file, reading))

    def note_copies(self, first: ResponseCopy, copies: list[ResponseCopy]) -> None:
        """Learn from a response that several files hold which session comes from which."""
        for copy in copies:
            if copy.place.session != first.place.session:
                self.ancestors.setdefault(copy.place.session, set()).add(first.place.session)
                self.copied.add((id(copy.file), copy.response.number))

    def know_cost(self, session: str | None) -> bool:
        """Whether some counter says what a session cost."""
        both = (*self.readings.get((session, False), ()), *self.readings.get((session, True), ()))
        return any(reading.cost is not None for _, reading in both)

    def reported(self, file: FileDigest, session: str | None) -> list[CounterDelta]:
        """What a file's readings say was paid, and no other file's does."""
        found = self.chain(file, session, printed=False)
        written = self.readings.get((session, False), ())
        found += self._beyond(file, session) if written else self.chain(file, session, printed=True)
        return [part for part in found if part.cost is not None]

    def _beyond(self, file: FileDigest, session: str | None) -> list[CounterDelta]:
        """Of a session whose transcript has readings, what was printed after the last of them."""
        _, last = max(self.readings[(session, False)], key=_amount)
        where, top = max(self.readings.get((session, True), ()), key=_amount, default=(None, last))
        fresh = where is file and (top.cost or 0) > (last.cost or 0) and top.follows(last)
        return [counter_delta(top, last)] if fresh else []

    def chain(self, file: FileDigest, session: str | None, *, printed: bool) -> list[CounterDelta]:
        """What each reading of a file adds to the one before it."""
        out: list[CounterDelta] = []
        before: CounterReading | None = None
        one_process = printed and is_per_process(file.digest.client)
        for reading in file.digest.readings:
            if reading.printed != printed or self._told_before(file, reading):
                continue
            if reading.session != session:
                before = reading if one_process else before
                continue
            base = self._base(file, reading) if before is None else before
            goes_on = base is not None and reading.follows(base) and _same_start(reading, base)
            out.append(stated_delta(reading) or counter_delta(reading, base if goes_on else None))
            before = reading
        return out

    def _told_before(self, file: FileDigest, reading: CounterReading) -> bool:
        """Whether another file, which comes first, has this very reading."""
        for other, earlier in self.readings[(reading.session, reading.printed)]:
            if other is file:
                return False
            if _is_copy(earlier, reading):
                return True
        return False

    def _base(self, file: FileDigest, reading: CounterReading) -> CounterReading | None:
        """Where the counter stood before a file's first reading: at an earlier file's, or an ancestor's."""
        if reading.printed and is_per_process(file.digest.client):
            return None
        lineage = list(self._lineage(file, reading))
        begun, spent = self._own(file, reading) if lineage else (None, 0)
        found: list[tuple[FileDigest, CounterReading]] = []
        for other, earlier in lineage:
            later = begun is not None and (earlier.when or 0) > begun
            if not later and reading.follows(earlier) and _same_start(reading, earlier):
                known = reading.prompt is not None and earlier.prompt is not None
                if not known or (earlier.prompt or 0) + spent <= (reading.prompt or 0):
                    found.append((other, earlier))
        return max(found, key=_amount)[1] if found else None

    def _lineage(self, file: FileDigest, reading: CounterReading) -> Iterator[tuple[FileDigest, CounterReading]]:
        for other, earlier in self.readings[(reading.session, reading.printed)]:
            if other is file:
                break
            yield other, earlier
        for ancestor in self.ancestors.get(reading.session, ()):
            for printed in (False, True):
                yield from self.readings.get((ancestor, printed), ())

    def _own(self, file: FileDigest, reading: CounterReading) -> tuple[int | None, int]:
        """When a session's own part of a file begins, and the prompt tokens its rows show before a reading."""
        digest = file.digest
        rows: dict[str, FileResponse] = {}
        for number, response in enumerate(digest.responses()[: reading.after]):
            place = digest.places[response.place]
            if place.session == reading.session and place.source == OWN and (id(file), number) not in self.copied:
                rows.setdefault(response.id, response)
        begun = next((response.when for response in rows.values() if response.when is not None), None)
        shown = sum(response.charge.prompt for response in rows.values())
        return begun, max(shown, reading.turn.prompt if reading.turn is not None else 0)


def _amount(found: tuple[FileDigest, CounterReading]) -> int:
    return found[1].cost or 0


def _same_start(a: CounterReading, b: CounterReading) -> bool:
    return a.start is None or b.start is None or a.start == b.start


def _is_copy(a: CounterReading, b: CounterReading) -> bool:
    if a.uuid or b.uuid:
        return a.uuid == b.uuid
    return (a.cost, a.models, a.start, a.after) == (b.cost, b.models, b.start, b.after)


def is_per_process(client: str | None) -> bool:
    """Whether a client of that version counts anew in each process."""
    found = _VERSION.match(client or "")
    return found is not None and tuple(map(int, found.groups())) <= PER_PROCESS
