"""Who wrote the lines that commits add: the state of each file at the moment of a commit, as sessions made it.

A line is certain if it stands in the file as sessions left it before the commit: exactly the committed text, or lines
of it that something else left as they were. Everything else is a guess, and says which: a line that a session wrote
in this or another file (moved), the same but for blanks, quotes and breaks (reformatted), a line of a command that may
have written it. The time of a commit may be that of a rebase, so that both of its times are tried.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from reread.attribution.project_traces import ProjectTraces
from reread.git.repository import FileLines, GitCommit
from reread.history.blame_lines import LineBlame, LineOrigin
from reread.history.file_text import FileText
from reread.history.line_trace import gist_number, hash_lines, line_numbers

BLAME, AMBIGUOUS, MOVED, REFORMATTED, COMMAND = "blame", "ambiguous", "moved", "reformatted", "command"
"""The evidence for a line; only the first is certain."""
MOST_JOINED = 8
"""So many lines are taken for one that a formatter has broken."""
LEAST_LETTERS, LEAST_TELLING = 4, 12
"""A line with fewer letters and digits says nothing by itself, or may be anyone's if several wrote it."""
LEAST_MOVED, LEAST_SHARE, MOST_HOMES = 3, 0.1, 3
"""So many lines, and this share of those that are not explained, make it likely that a file had another's name."""
MOST_RENAMES = 20
EMPTY = gist_number(b"")


class LineSource(NamedTuple):
    """The turn that wrote a line, and how that is known."""

    session: str
    """The session's file."""
    turn: int | None
    evidence: str

    @property
    def guess(self) -> bool:
        """True if it is not certain."""
        return self.evidence != BLAME


class CommandLine(NamedTuple):
    """A line of a command that may have written it to a file."""

    session: str
    turn: int
    time: int


class CommittedFile(NamedTuple):
    """A file of a commit, with its text after it."""

    commit: GitCommit
    file: FileLines
    text: str
    numbers: array[int]
    """The number of each line of it."""
    hash: bytes

    @classmethod
    def of(cls, commit: GitCommit, file: FileLines, text: str) -> CommittedFile:
        """Return a file with the numbers of its lines."""
        numbers = line_numbers(text)
        return cls(commit, file, text, numbers, hash_lines(numbers))

    @property
    def committed(self) -> int:
        """The end of the second in which it was committed, in milliseconds since 1970."""
        return self.commit.committed * 1000 + 999

    @property
    def authored(self) -> int:
        """The same of the second in which it was first committed."""
        return self.commit.authored * 1000 + 999


Sources = list[LineSource | None]
"""The source of each added line, in the order of the ranges."""


class CommitLines:
    """Finds the sources of added lines."""

    def __init__(
        self,
        traces: ProjectTraces,
        commands: Callable[[], Mapping[int, Sequence[CommandLine]]],
        renamed: Mapping[str, str],
    ) -> None:
        """Find lines in the files of a repository; `renamed` has what git knows of the old names of files."""
        self._traces = traces
        self._commands = commands
        self._renamed = renamed
        self._events: dict[str, _Events] = {}

    def sources(self, files: Sequence[CommittedFile]) -> Iterator[tuple[CommittedFile, Sources]]:
        """Yield each file with the source of each line that its commit adds."""
        asked: dict[str, list[CommittedFile]] = defaultdict(list)
        for one in files:
            for name in self._names(one.file):
                asked[name].append(one)
        states = {name: _States(self._traces, name, ones) for name, ones in asked.items()}
        for one in files:
            yield one, self._sources(one, {name: states[name] for name in self._names(one.file)})

    def _names(self, file: FileLines) -> list[str]:
        """Return the names under which sessions may know a file: its own, and those before it was renamed."""
        names = [file.path, file.old_path]
        while len(names) < MOST_RENAMES and names[-1] in self._renamed:
            names.append(self._renamed[names[-1]])
        return [name for name in dict.fromkeys(names) if name in self._traces]

    def _sources(self, one: CommittedFile, states: Mapping[str, _States]) -> Sources:
        numbers = one.numbers
        lines = one.text.encode("utf-8", "surrogatepass").split(b"\n")
        added = [n for first, last in one.file.ranges for n in range(first - 1, min(last, len(numbers)))]
        found: list[Sources] = []
        for state in states.values():
            found += [_certain(numbers, lines, added, origins, exact) for origins, exact in state.of(one)]
        found.sort(key=lambda sources: sum(source is None for source in sources))
        best: Sources = [_first(known) for known in zip(*found, strict=True)] if found else [None] * len(added)
        if None in best:
            self._guess(one, numbers, lines, added, best, list(states))
        return best

    def _guess(
        self,
        one: CommittedFile,
        numbers: array[int],
        lines: Sequence[bytes],
        added: Sequence[int],
        found: Sources,
        names: Sequence[str],
    ) -> None:
        """Look for lines that are not explained elsewhere than in the state of the file."""
        known = [self._events_of(name) for name in self._with_origins(names)]
        self._guess_from(known, one, numbers, lines, added, found)
        # The file may have had names that git does not know of: those of the files that sessions wrote its lines to.
        # Lines that a formatter broke are in none of them, so that all lines of the file are asked after the open ones.
        left = [numbers[line] for line, source in zip(added, found, strict=True) if source is None]
        asked = ((left, LEAST_LETTERS), (numbers, LEAST_TELLING)) if any(n >> 32 != EMPTY for n in left) else ()
        for some, least in asked:
            moved = [self._events_of(name) for name in self._likely_homes(some, names)]
            self._guess_from(moved, one, numbers, lines, added, found, least)
        for at, line in enumerate(added):
            if found[at] is None and _letters(lines[line]) >= LEAST_TELLING:
                found[at] = self._moved(numbers[line], one.committed)
        _fill_gaps(added, found, lines)

    def _likely_homes(self, numbers: Iterable[int], known: Sequence[str]) -> list[str]:
        """Return other files to which sessions wrote the most of some lines, if that is no accident."""
        gists = {number >> 32 for number in numbers} - {EMPTY}
        homes = Counter(name for gist in gists for name in self._homes.get(gist, ()) if name not in known)
        least = max(LEAST_MOVED, len(gists) * LEAST_SHARE)
        return [name for name, count in homes.most_common(MOST_HOMES) if count >= least]

    def _guess_from(
        self,
        events: Sequence[_Events],
        one: CommittedFile,
        numbers: array[int],
        lines: Sequence[bytes],
        added: Sequence[int],
        found: Sources,
        least: int = LEAST_LETTERS,
    ) -> None:
        """Look for lines in what sessions wrote to some files; as they are, if they have so many letters at least."""
        counts = Counter(numbers)
        at = 0
        while at < len(added):
            source, length = found[at], 1
            if source is None and _says_something(lines[added[at]]):
                number = numbers[added[at]]
                if _letters(lines[added[at]]) >= least:
                    source = _first(each.line(number, counts[number], one.committed) for each in events)
                if source is None:
                    source, length = self._reformatted(added, found, at, lines, events, one.committed)
                source = source or self._commanded(number, one.committed)
            if source is not None:
                found[at : at + length] = [source] * length
            at += length

    def _moved(self, number: int, until: int) -> LineSource | None:
        """Return who wrote a line to another file, if sessions wrote it only once."""
        names = self._homes.get(number >> 32, ())
        known = [source for name in names if (source := self._events_of(name).line(number, 1, until)) is not None]
        return known[0] if len(known) == 1 else None

    def _reformatted(
        self,
        added: Sequence[int],
        found: Sources,
        at: int,
        lines: Sequence[bytes],
        events: Sequence[_Events],
        until: int,
    ) -> tuple[LineSource | None, int]:
        joined = b""
        for length in range(1, MOST_JOINED + 1):
            last = at + length - 1
            if last >= len(added) or added[last] != added[at] + length - 1 or found[last] is not None:
                break
            joined += lines[added[last]]
            number, gist = line_numbers(joined.decode("utf-8", "surrogatepass"))[0], gist_number(joined)
            source = _first(each.gist(number, gist, until) for each in events)
            if source is not None:
                return source, length + _closing(added, found, last, lines)
        return None, 1

    def _commanded(self, number: int, until: int) -> LineSource | None:
        known = [line for line in self._commands().get(number, ()) if line.time <= until]
        return LineSource(known[-1].session, known[-1].turn, COMMAND) if known else None

    def _with_origins(self, names: Sequence[str]) -> list[str]:
        """Return names of a file with those from which sessions renamed it."""
        out = list(names)
        for name in out:
            if len(out) < MOST_RENAMES:
                out += [origin for origin in self._events_of(name).origins if origin not in out]
        return out

    def _events_of(self, name: str) -> _Events:
        if name not in self._events:
            self._events[name] = _Events(self._traces.own_versions(name))
            origins = map(self._traces.relative, self._events[name].paths)
            self._events[name].origins = [origin for origin in origins if origin is not None]
        return self._events[name]

    @cached_property
    def _homes(self) -> Mapping[int, Sequence[str]]:
        """The names of the files to which sessions wrote a line, by what it says."""
        found: dict[int, list[str]] = defaultdict(list)
        for name in self._traces.names:
            for gist in self._events_of(name).gists:
                found[gist].append(name)
        return found


def _closing(added: Sequence[int], found: Sources, last: int, lines: Sequence[bytes]) -> int:
    """Return how many lines with nothing but brackets follow one, which a formatter made of its end."""
    count = 0
    for at in range(last + 1, len(added)):
        line = lines[added[at]]
        if (
            added[at] != added[last] + at - last
            or found[at] is not None
            or not line.strip()
            or gist_number(line) != EMPTY
        ):
            break
        count += 1
    return count


def _first(sources: Iterable[LineSource | None]) -> LineSource | None:
    return next((source for source in sources if source is not None), None)


def _says_something(line: bytes) -> bool:
    return _letters(line) >= LEAST_LETTERS


def _letters(line: bytes) -> int:
    return len(line[:200].translate(None, NO_LETTERS))


NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())


def _certain(
    numbers: array[int],
    lines: Sequence[bytes],
    added: Sequence[int],
    origins: Sequence[LineOrigin | None],
    exact: bool,
) -> Sources:
    """Return the sources of added lines in a state.

    Which of several equal lines is whose is not certain if something else changed the file, nor ever of a short one:
    a blank line that is added beside another is found before or after it.
    """
    wanted = {numbers[line] for line in added}
    makers: dict[int, set[tuple[str, int | None] | None]] = defaultdict(set)
    for number, origin in zip(numbers, origins, strict=True):
        if number in wanted:
            makers[number].add((origin.session, origin.version.turn) if origin is not None else None)
    out: Sources = []
    for line in added:
        origin = origins[line]
        several = len(makers[numbers[line]]) > 1 and (not exact or _letters(lines[line]) < LEAST_TELLING)
        evidence = AMBIGUOUS if several else BLAME
        out.append(LineSource(origin.session, origin.version.turn, evidence) if origin is not None else None)
    return out


def _fill_gaps(added: Sequence[int], found: Sources, lines: Sequence[bytes]) -> None:
    """Give lines that say nothing to the turn whose reformatted lines they follow or stand between."""
    following: LineSource | None = None
    after: Sources = [None] * len(added)
    for at in range(len(added) - 1, -1, -1):
        after[at] = following if at + 1 < len(added) and added[at + 1] == added[at] + 1 else None
        following = found[at] if found[at] is not None or _says_something(lines[added[at]]) else after[at]
    for at, line in enumerate(added):
        before = found[at - 1] if at and added[at - 1] == line - 1 else None
        if found[at] is not None or before is None or _says_something(lines[line]):
            continue
        next_one = after[at]
        if next_one is None:
            is_between = before.evidence == REFORMATTED and bool(lines[line].strip())
        else:
            is_between = before[:2] == next_one[:2] and REFORMATTED in (before.evidence, next_one.evidence)
        if is_between:
            found[at] = LineSource(before.session, before.turn, REFORMATTED)


class _States:
    """The lines of a file at the moments of some commits."""

    def __init__(self, traces: ProjectTraces, name: str, files: Sequence[CommittedFile]) -> None:
        self._moments = sorted({time for one in files for time in (one.committed, one.authored)})
        self._at: dict[int, LineBlame] = {}
        self._hashes = {one.hash for one in files}
        self._exact: dict[bytes, list[tuple[float, LineBlame]]] = defaultdict(list)
        self._next = 0
        self._time = 0.0
        LineBlame(traces.traces_of, name, watch=self._watch)

    def _watch(self, blame: LineBlame, time: float) -> None:
        end = bisect_right(self._moments, time - 1, self._next) if time > 0 else self._next
        passed = self._moments[self._next : end]
        is_wanted = blame.hash in self._hashes
        if passed or is_wanted:
            copy = blame.copy()
            self._at |= dict.fromkeys(passed, copy)
            if is_wanted and blame.hash is not None:
                self._exact[blame.hash].append((self._time, copy))
        self._next, self._time = end, time

    def of(self, one: CommittedFile) -> Iterator[tuple[Sequence[LineOrigin | None], bool]]:
        """Yield where each line may come from, and whether the state is exactly the committed one; the best first."""
        exact = [blame for time, blame in self._exact.get(one.hash, ()) if time <= one.committed]
        if exact:
            yield exact[-1].origins, True
            return
        for time in dict.fromkeys((one.committed, one.authored)):
            yield self._at[time].copy().of(one.numbers), False


class _Events:
    """The lines that sessions wrote, by their numbers."""

    def __init__(self, versions: Iterable[LineOrigin]) -> None:
        self._lines: dict[int, list[LineOrigin]] = defaultdict(list)
        self.gists: dict[int, LineOrigin] = {}
        self.paths: list[str] = []
        """The paths from which the file was renamed, as sessions know them."""
        self.origins: list[str] = []
        """The same below the repository."""
        seen: set[str] = set()
        for origin in sorted(versions, key=lambda origin: origin.version.time):
            call = origin.version.call
            if call is not None and call in seen:
                continue  # a session that was resumed or forked repeats what it had
            seen.update([call] if call is not None else [])
            if origin.version.origin is not None:
                self.paths.append(origin.version.origin)
                continue
            for change in origin.version.changes:
                lines = array("Q")
                lines.frombytes(change.added)
                for line in lines:
                    self._lines[line].append(origin)
                    self.gists.setdefault(line >> 32, origin)

    def line(self, number: int, count: int, until: int) -> LineSource | None:
        """Return who wrote a line, if sessions wrote it at least as often as it is there."""
        known = [origin for origin in self._lines.get(number, ()) if origin.version.time <= until]
        return _source(known[-1], MOVED) if known and len(known) >= count else None

    def gist(self, number: int, gist: int, until: int) -> LineSource | None:
        """Return who wrote a line that says the same in another form."""
        known = self.gists.get(gist) if number not in self._lines else None
        return _source(known, REFORMATTED) if known is not None and known.version.time <= until else None


def _source(origin: LineOrigin, evidence: str) -> LineSource:
    return LineSource(origin.session, origin.version.turn, evidence)


def committed_text(data: bytes) -> str:
    """Return the text of a file as sessions know it."""
    return FileText.from_bytes(data).text
