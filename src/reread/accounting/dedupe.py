"""Find the rows that are copies of one API response, in any number of files.

A message id proves nothing by itself, because gateways reuse them; a request id does, but not every row has one. So
rows with a request id are joined by it, the others by what they share with each other, and then each set of these joins
at most one request. That needs disjoint sets: a row can tie two others together that have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from reread.accounting.digest import CALL_RESULT, OWN_ROW, PROGRESS, SIDECHAIN, FileDigest, FileResponse, ResponseOrigin
from reread.accounting.rows import row_rank


class ResponseCopy(msgspec.Struct, gc=False):
    """A response as one file has it."""

    file: FileDigest
    response: FileResponse
    origin: ResponseOrigin


def file_links(file: FileDigest) -> Iterator[tuple[str, str | None]]:
    """Yield the responses, sessions and agents that a file names: what it may have in common with others.

    What counts of a file depends on no file that is not linked to it, over whatever other files.
    """
    digest = file.digest
    agents = {file.agent, *(origin.agent for origin in digest.origins)} - {None, SIDECHAIN}
    yield from (("agent", agent) for agent in agents)
    yield from (("response", id) for id in (*digest.ids, *(response.id for response in digest.special)))
    yield ("session", file.session)
    yield from (("session", reading.session) for reading in digest.readings)
    yield from (("session", origin.session) for origin in digest.origins)


def origin_filter(files: Sequence[FileDigest]) -> Callable[[ResponseOrigin], bool]:
    """Return a test for origins whose responses count: second-hand ones only if the agent's own rows are missing."""
    origins = [origin for file in files for origin in file.digest.origins]
    own = {(origin.session, origin.agent) for origin in origins if origin.source == OWN_ROW}
    own |= {(file.session, file.agent) for file in files}
    own_agents = {agent for _, agent in own}
    progress_agents = {origin.agent for origin in origins if origin.source == PROGRESS}
    stream_counters = {reading.session for file in files for reading in file.digest.readings if reading.streamed}

    def call_result_counts(origin: ResponseOrigin) -> bool:
        # Sidechain rows that name no agent: such a session has the rows of its agents in its own file.
        has_inline_rows = (origin.session, SIDECHAIN) in own
        has_rows = origin.agent != SIDECHAIN and (origin.agent in own_agents or origin.agent in progress_agents)
        in_counter = origin.streamed and origin.session in stream_counters
        return not has_inline_rows and not has_rows and not in_counter

    tests: dict[int, Callable[[ResponseOrigin], bool]] = {
        OWN_ROW: lambda origin: True,
        PROGRESS: lambda origin: (origin.session, origin.agent) not in own,
        CALL_RESULT: call_result_counts,
    }
    return lambda origin: tests[origin.source](origin)


def copy_rank(copy: ResponseCopy) -> tuple[object, ...]:
    """Return the sort key of a copy: the greatest counts, by the rule of `best_row`.

    The later copy is the one with the later time. What follows only makes the choice independent of the order of files.
    """
    response, charge = copy.response, copy.response.charge
    content = (charge.model or "", charge.mode, str(response.extras))
    return (row_rank(response.ended, charge.output), response.time_ms or 0, charge.counts, content)


def group_copies(copies: list[ResponseCopy]) -> list[list[ResponseCopy]]:
    """Group the copies with one message id into responses.

    Copies with the same request id are one response. A copy without one belongs to the copies that share its session,
    its uuid, or its time and usage.
    """
    groups = _UnionFind(len(copies))
    with_request: dict[object, int] = {}
    for n in sorted(range(len(copies)), key=lambda n: _precedence(copies[n])):
        request = copies[n].response.request
        for key in _shared_keys(copies[n]) if request else ():
            with_request.setdefault(key, n)
        for key in [("request", request)] if request else _shared_keys(copies[n]):
            groups.join(key, n)
    matches: dict[int, list[int]] = {}
    for n, copy in enumerate(copies):
        if copy.response.request is None:
            found = (with_request[key] for key in _shared_keys(copy) if key in with_request)
            matches.setdefault(groups.root(n), []).extend(found)
    # What has no request id may match several requests. It joins one of them only: a copy must not make one response
    # of two that were paid for.
    for root, found in matches.items():
        if found:
            groups.union(min(found, key=lambda n: _precedence(copies[n])), root)
    out: dict[int, list[ResponseCopy]] = {}
    for n, copy in enumerate(copies):
        out.setdefault(groups.root(n), []).append(copy)
    return _drop_replays(list(out.values()))


def _precedence(copy: ResponseCopy) -> tuple[bool, str]:
    """Sort key for the requests that a copy without one may belong to: the main thread's first."""
    return (copy.origin.agent is not None, copy.response.request or "")


def _shared_keys(copy: ResponseCopy) -> Iterator[object]:
    """Yield the keys that a copy without a request id shares with other copies of its response."""
    response = copy.response
    yield ("session", copy.origin.session)
    yield from response.copy_keys or ([response.uuid] if response.uuid else [])
    if response.time_ms is not None:
        yield (response.time_ms, response.charge.counts)


class _UnionFind:
    """Disjoint sets of the numbers from 0 to count."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._first: dict[object, int] = {}

    def root(self, n: int) -> int:
        """Return the number that represents the set of a number."""
        while self._parents[n] != n:
            self._parents[n] = self._parents[self._parents[n]]
            n = self._parents[n]
        return n

    def union(self, a: int, b: int) -> None:
        """Merge the sets of two numbers."""
        self._parents[self.root(b)] = self.root(a)

    def join(self, key: object, n: int) -> None:
        """Merge the set of a number with those of the other numbers that have the same key."""
        self.union(self._first.setdefault(key, n), n)


def _drop_replays(groups: list[list[ResponseCopy]]) -> list[list[ResponseCopy]]:
    """Drop responses of agents that replay a message of the main thread under another request id."""
    main = [group for group in groups if any(copy.origin.agent is None for copy in group)]
    sessions = {copy.origin.session for group in main for copy in group}
    return [group for group in groups if group in main or not any(copy.origin.session in sessions for copy in group)]


class ForkPoints:
    """The times at which sessions with common responses diverged. A set of sessions is a bit mask.

    Many forks of one session share many responses. Times are kept by the set of sessions that share a response, not by
    pairs of sessions: there are few different sets.
    """

    def __init__(self, shared: Iterable[list[ResponseCopy]] = (), single: Iterable[ResponseCopy] = ()) -> None:
        self._bits: dict[str | None, int] = {}
        self._first: dict[str | None, dict[int, int]] = {}
        """For each session: by the sessions that share a response with it, the time of the first such response."""
        self._departures: dict[str | None, list[tuple[int, int]]] = {}
        """For each session: the times at which others diverged, in order, then 0 with those that never did."""
        self._times: dict[tuple[str | None, int], tuple[int, int]] = {}
        for copies in shared:
            sessions = self.sessions(copies)
            for copy in copies:
                self._add(copy, sessions)
        for copy in single:
            if copy.origin.session in self._bits:
                self._add(copy, self._bits[copy.origin.session])

    def sessions(self, copies: list[ResponseCopy]) -> int:
        """Return the sessions that have a response, as a bit mask."""
        mask = 0
        for copy in copies:
            mask |= self._bits.setdefault(copy.origin.session, 1 << len(self._bits))
        return mask

    def _add(self, copy: ResponseCopy, sessions: int) -> None:
        time_ms = copy.response.time_ms
        if time_ms is not None:
            first = self._first.setdefault(copy.origin.session, {})
            first[sessions] = min(time_ms, first.get(sessions, time_ms))

    def times(self, session: str | None, sessions: int) -> tuple[int, int]:
        """Return when a session diverged from the first and from the last of others; 0 if it never did."""
        if (session, sessions) not in self._times:
            departures, others = self._departures_from(session), sessions & ~self._bits[session]
            first = next((time_ms for time_ms, gone in departures if gone & others), 0)
            last = next((time_ms for time_ms, gone in reversed(departures) if gone & others), 0)
            self._times[session, sessions] = (first, last)
        return self._times[session, sessions]

    def _departures_from(self, session: str | None) -> list[tuple[int, int]]:
        if session not in self._departures:
            departures = self._departures[session] = []
            together = (1 << len(self._bits)) - 1
            by_time = sorted((time_ms, sessions) for sessions, time_ms in self._first.get(session, {}).items())
            for time_ms, sessions in by_time:
                if gone := together & ~sessions:
                    departures.append((time_ms, gone))
                    together &= sessions
            departures.append((0, together))
        return self._departures[session]
