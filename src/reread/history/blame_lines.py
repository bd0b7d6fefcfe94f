"""Who wrote each line: go through the versions of a file in all sessions, in the order of time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from math import inf
from typing import NamedTuple

from reread.history.line_trace import Lines, TracedVersion, differing_ranges, hash_lines

NO_LINES = hash_lines(array("Q"))
DEEPEST = 20
"""So many renames are followed."""


class LineOrigin(NamedTuple):
    """The version that a line comes from."""

    session: str
    version: TracedVersion


Watch = Callable[["LineBlame", float], None]
"""Called before each version with its time in milliseconds, and at the end with infinity."""
TracesOf = Callable[[str], Iterable[tuple[str, Sequence[TracedVersion]]]]
"""Returns the sessions that changed the file with this path, and its versions in each."""


class LineBlame:
    """The lines of a file at one moment, each with the version that it comes from."""

    def __init__(
        self, traces_of: TracesOf, path: str, *, until: int | None = None, depth: int = 0, watch: Watch | None = None
    ) -> None:
        """Go through the versions of a file, at most to some time."""
        self.lines: list[int] = []
        self.origins: list[LineOrigin | None] = []
        """None for a line that no session wrote."""
        self._traces_of = traces_of
        self._depth = depth
        self._hash: bytes | None = None
        self._hints: dict[int, LineOrigin] = {}
        """The lines that versions added whose text is not known."""
        seen: set[str] = set()
        for time, _, session, number, trace in _in_order(traces_of(path)):
            version = trace[number]
            if watch is not None:
                watch(self, time)
            if until is not None and version.time > until:
                break
            if version.call is not None and version.call in seen:
                continue  # a session that was resumed or forked repeats what it had
            seen.update([version.call] if version.call is not None else [])
            self._add(LineOrigin(session, version), trace, number)
        if watch is not None:
            watch(self, inf)

    def copy(self) -> LineBlame:
        """Return the lines as they are now, to be compared with others."""
        copied = copy(self)
        copied.lines, copied.origins, copied._hints = [*self.lines], [*self.origins], {**self._hints}
        return copied

    @property
    def hash(self) -> bytes | None:
        """A hash of all lines; None if a version that is not known changed them."""
        return self._hash

    def _add(self, origin: LineOrigin, trace: Sequence[TracedVersion], number: int) -> None:
        version = origin.version
        if version.after is not None and version.after == self._hash:
            return  # another session has told of it
        if version.after == NO_LINES:
            return  # deleted: if the file is here again, something else restored it
        if version.after is None:
            if version.own:
                self._hints |= dict.fromkeys(
                    (line for change in version.changes for line in _lines(change.added)), origin
                )
            self._hash = None
            return
        if version.origin is not None and self._depth < DEEPEST:
            source = LineBlame(self._traces_of, version.origin, until=version.time, depth=self._depth + 1)
            self.lines, self.origins = source.lines, source.origins
            self._meet([line for change in version.changes for line in _lines(change.added)])
        else:
            if version.before is None:
                self.lines, self.origins = [], []
            elif version.before != self._hash:
                self._meet(lines_before(trace, number))
            self._apply(origin)
        self._hash = version.after

    def _apply(self, origin: LineOrigin) -> None:
        by = origin if origin.version.own else None
        for change in origin.version.changes:  # the last one first
            added = _lines(change.added)
            self.lines[change.start : change.start + change.removed] = added
            self.origins[change.start : change.start + change.removed] = [by] * len(added)

    def _meet(self, lines: Lines) -> None:
        """Go on with lines that something else made of those known; none of the new ones is by a session."""
        for start, end, new_start, new_end in reversed(differing_ranges(self.lines, lines)):
            new = [self._hints.get(line) for line in lines[new_start:new_end]]
            self.lines[start:end] = lines[new_start:new_end]
            self.origins[start:end] = new
        self._hints.clear()

    def of(self, lines: array[int]) -> list[LineOrigin | None]:
        """Return where each of these lines comes from."""
        if hash_lines(lines) != self._hash:
            self._meet(lines)
        return self.origins


def lines_before(trace: Sequence[TracedVersion], number: int) -> list[int]:
    """Return the lines before a version, made from the nearest version that has them."""
    first = number
    while first > 0 and trace[first].base is None:
        first -= 1
    lines = list(_lines(trace[first].base or b""))
    for version in trace[first:number]:
        for change in version.changes:
            lines[change.start : change.start + change.removed] = _lines(change.added)
    return lines


def _in_order(
    traces: Iterable[tuple[str, Sequence[TracedVersion]]],
) -> list[tuple[int, int, str, int, Sequence[TracedVersion]]]:
    """Return all versions by time; in a session each is at least as late as the one before."""
    out: list[tuple[int, int, str, int, Sequence[TracedVersion]]] = []
    for order, (session, trace) in enumerate(traces):
        latest = 0
        for number, version in enumerate(trace):
            latest = max(latest, version.time)
            out.append((latest, order, session, number, trace))
    return sorted(out, key=lambda row: (row[0], row[1], row[3]))


def _lines(data: bytes) -> array[int]:
    lines = array("Q")
    lines.frombytes(data)
    return lines
