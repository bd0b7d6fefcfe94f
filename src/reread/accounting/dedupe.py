"""Copies: which rows, in whatever files, are one API response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from reread.accounting.digest import OWN, RETOLD, SIDECHAIN, SUMMED, FileDigest, FileResponse, Origin


class ResponseCopy(msgspec.Struct, gc=False):
    """One file's word on a response."""

    file: FileDigest
    response: FileResponse
    place: Origin


def wanted_places(files: Sequence[FileDigest]) -> Callable[[Origin], bool]:
    """Whether the responses of a place count: second-hand ones only where the agent's own are missing."""
    places = [place for file in files for place in file.digest.places]
    own = {(place.session, place.agent) for place in places if place.source == OWN}
    own |= {(file.session, file.agent) for file in files}
    agents = {agent for _, agent in own}
    retold = {place.agent for place in places if place.source == RETOLD}
    metered = {reading.session for file in files for reading in file.digest.readings if reading.printed}

    def summed(place: Origin) -> bool:
        # Rows of agents that do not say whose they are: such a session has its agents' rows in its own file.
        inline = (place.session, SIDECHAIN) in own
        told = place.agent != SIDECHAIN and (place.agent in agents or place.agent in retold)
        return not inline and not told and not (place.printed and place.session in metered)

    tests: dict[int, Callable[[Origin], bool]] = {
        OWN: lambda place: True,
        RETOLD: lambda place: (place.session, place.agent) not in own,
        SUMMED: summed,
    }
    return lambda place: tests[place.source](place)


def group_copies(copies: list[ResponseCopy]) -> list[list[ResponseCopy]]:
    """Copies of one message id as responses: the same request, or without one the same session or a proof."""
    groups = _UnionFind(len(copies))
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
    out: dict[int, list[ResponseCopy]] = {}
    for n, copy in enumerate(copies):
        out.setdefault(groups.root(n), []).append(copy)
    return _without_replays(list(out.values()))


def _precedence(copy: ResponseCopy) -> tuple[bool, str]:
    """Of several requests under one id, a row that names none goes with the main thread's, and with one for good."""
    return (copy.place.agent is not None, copy.response.request or "")


def _marks(copy: ResponseCopy) -> Iterator[object]:
    """What a row without a request id has in common with the others of its response, or their copies."""
    response = copy.response
    yield ("session", copy.place.session)
    yield from response.proofs or ([response.uuid] if response.uuid else [])
    if response.when is not None:
        yield (response.when, response.charge.counts)


class _UnionFind:
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


def _without_replays(groups: list[list[ResponseCopy]]) -> list[list[ResponseCopy]]:
    """Drop what an agent's file replays of the main thread under another request."""
    mains = [group for group in groups if any(copy.place.agent is None for copy in group)]
    told = {copy.place.session for group in mains for copy in group}
    return [group for group in groups if group in mains or not any(copy.place.session in told for copy in group)]


def row_rank(copy: ResponseCopy) -> tuple[object, ...]:
    """Orders rows: the one that ended, then the one with more output, then the later one."""
    response, charge = copy.response, copy.response.charge
    said = (charge.model or "", charge.mode, str(response.extras))
    return (response.ended, charge.output, response.when or 0, charge.counts, said)


class ForkPoints:
    """When sessions with responses in common went their own ways. A set of sessions is a number: a bit for each."""

    def __init__(self, shared: Iterable[list[ResponseCopy]] = (), single: Iterable[ResponseCopy] = ()) -> None:
        self._bits: dict[str | None, int] = {}
        self._first: dict[str | None, dict[int, int]] = {}
        """Of each session, by those that have a response too, when the first such response was."""
        self._left: dict[str | None, list[tuple[int, int]]] = {}
        """When which others parted from a session, the first first; at the end, with 0, those that never did."""
        self._known: dict[tuple[str | None, int], tuple[int, int]] = {}
        for copies in shared:
            sessions = self.sessions(copies)
            for copy in copies:
                self._note(copy, sessions)
        for copy in single:
            if copy.place.session in self._bits:
                self._note(copy, self._bits[copy.place.session])

    def sessions(self, copies: list[ResponseCopy]) -> int:
        """The sessions that have a response."""
        found = 0
        for copy in copies:
            found |= self._bits.setdefault(copy.place.session, 1 << len(self._bits))
        return found

    def _note(self, copy: ResponseCopy, sessions: int) -> None:
        when = copy.response.when
        if when is not None:
            first = self._first.setdefault(copy.place.session, {})
            first[sessions] = min(when, first.get(sessions, when))

    def when(self, session: str | None, sessions: int) -> tuple[int, int]:
        """When a session parted from the first of some others, and from the last of them; 0 for never."""
        if (session, sessions) not in self._known:
            left, others = self._left_by(session), sessions & ~self._bits[session]
            first = next((when for when, gone in left if gone & others), 0)
            last = next((when for when, gone in reversed(left) if gone & others), 0)
            self._known[session, sessions] = (first, last)
        return self._known[session, sessions]

    def _left_by(self, session: str | None) -> list[tuple[int, int]]:
        if session not in self._left:
            left = self._left[session] = []
            together = (1 << len(self._bits)) - 1
            for when, sessions in sorted((when, sessions) for sessions, when in self._first.get(session, {}).items()):
                if gone := together & ~sessions:
                    left.append((when, gone))
                    together &= sessions
            left.append((0, together))
        return self._left[session]
