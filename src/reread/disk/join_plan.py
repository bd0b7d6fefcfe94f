"""How the states of a transcript are joined: which records each has that the file itself has not, and where they stood.

A record is the same in two states if its uuid and type are; without a uuid, if its bytes are. The newest one counts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import msgspec

from reread.disk.states import EarlierState
from reread.records.arrays import is_array
from reread.records.decode import Decoder, Record
from reread.records.lines import ReadAt
from reread.storage.kept_file import KeptFile, open_regular, reader_of

CHUNK = 1 << 20
OWN = -1
"""Stands for the file itself among the states."""
LAST_WINS = frozenset(
    {
        *("agent-color", "agent-name", "agent-setting", "ai-title", "custom-title", "last-prompt", "mode"),
        *("permission-mode", "pr-link", "tag", "task-summary", "worktree-state"),
    }
)
"""Types of which the last record counts: a dropped one stands before those that the file has now."""


class JoinedPiece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Bytes of a joined file that are together in one state."""

    state: int
    """The number of the state, or OWN."""
    offset: int
    length: int
    line: int
    """The number of the first line there; 0 if it is not known."""
    lines: int = 1
    bare: bool = False
    """True if they are one record and not a whole line: a line end is added, and those within become blanks."""

    @property
    def size(self) -> int:
        """Bytes that it has in the joined file."""
        return self.length + self.bare


class JoinPlan(msgspec.Struct, frozen=True, array_like=True):
    """How the states of a file are joined."""

    states: list[EarlierState]
    pieces: list[JoinedPiece]
    """All but the last piece, which is the rest of the file, and grows with it. Empty if nothing was dropped."""
    rest: int = 0
    """Where that begins in the file."""
    rest_line: int = 1
    covered: int = 0
    """Bytes of the file that were read to make this: whole lines."""
    keys: list[bytes] = []
    """The keys of all that was dropped."""
    counts: dict[int, int] = {}
    """How many of them each state has."""
    damage: list[tuple[str, str]] = []
    """The states that could not be read whole, and why."""
    fixed_size: int = -1
    """The size that the file must have, if something follows a last line without an end; else -1."""

    @property
    def mark(self) -> bytes:
        """A value that tells this plan from any other of the same file."""
        shown = ([state.path for state in self.states], self.pieces, self.rest, self.fixed_size)
        return hashlib.blake2b(msgspec.msgpack.encode(shown), digest_size=8).digest()


class _Entry(NamedTuple):
    """A record of one state."""

    key: bytes
    has_uuid: bool
    type: str
    state: int
    line: int
    start: int
    """Where its line begins."""
    offset: int
    length: int
    whole: bool
    """True if it is a line, with its end."""


class _StateEntries(NamedTuple):
    """The records of one state, each once, and what could not be read."""

    entries: list[_Entry]
    covered: int
    """Bytes in whole lines."""
    size: int
    lines: int = 0
    damage: str = ""


def grown_plan(plan: JoinPlan, read: ReadAt) -> JoinPlan | None:
    """Return the plan of a file that has grown since it was made; None if what is new was dropped before."""
    new, dropped = _decode(chunks(read, plan.covered), OWN), set(plan.keys)
    if not dropped.isdisjoint(entry.key for entry in new.entries):
        return None
    return msgspec.structs.replace(plan, covered=max(plan.covered, new.covered))


def make_plan(read: ReadAt, states: list[EarlierState]) -> JoinPlan:
    """Read all states, and find the place of each record that the file does not have."""
    own = _decode(chunks(read, 0), OWN)
    joined, damage = own.entries, list[tuple[str, str]]()
    for number in reversed(range(len(states))):
        earlier = _read_state(states[number], number)
        if earlier.damage:
            damage.append((states[number].path, earlier.damage))
        joined = _join(joined, earlier.entries)
    dropped = [entry for entry in joined if entry.state != OWN]
    if not dropped:
        return JoinPlan(states, [], covered=own.covered, damage=damage)
    is_document = bool(is_array(read(0, CHUNK)))
    if is_document:  # records of an array may follow its end, but not stand between its lines
        joined = [*own.entries, *dropped]
    ends_open = own.size > own.covered or is_document
    pieces: list[JoinedPiece] = []
    at, line = 0, 1
    next_own = _next_own(joined)
    for index, entry in enumerate(joined):
        if entry.state == OWN:
            continue
        following = next_own[index]
        start = following.start if following is not None and not is_document else own.size
        if start > at:
            next_line = following.line if start < own.size and following is not None else own.lines + 1
            is_open = start == own.size and ends_open
            pieces.append(JoinedPiece(OWN, at, start - at, line, next_line - line))
            if is_open:
                pieces.append(JoinedPiece(OWN, own.size, 0, 0, 0, bare=True))
            at, line = start, next_line
        _add_piece(pieces, entry)
    fixed = own.size if ends_open and at == own.size else -1
    keys, counts = [entry.key for entry in dropped], Counter(entry.state for entry in dropped)
    return JoinPlan(states, pieces, at, line, own.covered, keys, counts, damage, fixed)


def _next_own(joined: Sequence[_Entry]) -> list[_Entry | None]:
    """Return, for each record, the next one that the file itself has."""
    found: list[_Entry | None] = []
    following: _Entry | None = None
    for entry in reversed(joined):
        if entry.state == OWN:
            following = entry
        found.append(following)
    return found[::-1]


def _add_piece(pieces: list[JoinedPiece], entry: _Entry) -> None:
    """Add a record that was dropped, to the last piece if it follows it in the same state."""
    last = pieces[-1] if pieces else None
    if last is not None and entry.whole and last.state == entry.state and not last.bare:
        follows = last.offset + last.length == entry.offset and last.line + last.lines == entry.line
        if follows and bool(last.line) == bool(entry.line):
            pieces[-1] = JoinedPiece(last.state, last.offset, last.length + entry.length, last.line, last.lines + 1)
            return
    pieces.append(JoinedPiece(entry.state, entry.offset, entry.length, entry.line, 1, bare=not entry.whole))


def _join(newer: list[_Entry], older: list[_Entry]) -> list[_Entry]:
    """Return the records of a newer state and those that only an older one has, each where it stood.

    It stands before everything that followed it, and right after what it followed.
    """
    places = {entry.key: index for index, entry in reversed(list(enumerate(newer)))}
    if all(entry.key in places for entry in older):
        return newer
    anchors = [places.get(entry.key) if entry.has_uuid else None for entry in older]
    if not any(anchor is not None for anchor in anchors):  # session state moves about, so it counts only by itself
        anchors = [places.get(entry.key) for entry in older]
    limits = _least_after(anchors, len(newer))
    first_of_type = {entry.type: index for index, entry in reversed(list(enumerate(newer)))}
    inserted: dict[int, list[_Entry]] = {}
    at = 0
    for entry, anchor, limit in zip(older, anchors, limits, strict=True):
        if anchor is not None:
            at = max(at, anchor + 1)
        elif entry.key not in places:
            most = first_of_type.get(entry.type, limit) if entry.type in LAST_WINS else limit
            inserted.setdefault(min(at, limit, most), []).append(entry)
    out: list[_Entry] = []
    for index in range(len(newer) + 1):
        out += inserted.get(index, ())
        out += newer[index : index + 1]
    return out


def _least_after(values: Sequence[int | None], most: int) -> list[int]:
    """Return, for each value, the least of those that follow it."""
    found: list[int] = []
    for value in reversed(values):
        found.append(most)
        most = most if value is None else min(most, value)
    return found[::-1]


def chunks(read: ReadAt, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield all bytes from an offset on, each piece with its own."""
    while data := read(at, CHUNK):
        yield at, data
        at += len(data)


def _decode(chunks: Iterator[tuple[int, bytes]], state: int) -> _StateEntries:
    """Return the records in consecutive bytes, each once; lines are counted from the first."""
    decoder, seen, entries = Decoder(), set[bytes](), list[_Entry]()
    base, size = None, 0
    for at, data in chunks:
        base = at if base is None else base
        size = at + len(data)
        _add_entries(entries, decoder.feed(data), decoder, seen, state, base)
    base = base or 0
    covered = base + decoder.size
    _add_entries(entries, decoder.flush(), decoder, seen, state, base)
    return _StateEntries(entries, covered, size, len(decoder.starts))


def _add_entries(
    entries: list[_Entry], records: list[Record], decoder: Decoder, seen: set[bytes], state: int, base: int
) -> None:
    for record in records:
        envelope = record.envelope
        uuid = envelope.uuid
        identity = f"{envelope.type} {uuid}".encode("utf-8", "surrogatepass") if uuid else record.raw
        key = hashlib.blake2b(identity, digest_size=12, person=b"uuid" if uuid else b"").digest()
        if key in seen:
            continue
        seen.add(key)
        start = decoder.starts[record.line - 1] if record.line <= len(decoder.starts) else record.offset
        whole = start == record.offset and record.body.endswith(b"\n")
        entries.append(
            _Entry(key, bool(uuid), record.type, state, record.line, base + start, base + record.offset,
                   len(record.body), whole)
        )  # fmt: skip


def _read_state(state: EarlierState, number: int) -> _StateEntries:
    """Return the records of an earlier state, as far as it can be read."""
    try:
        with closing(open_regular(state.path)) as file:
            if isinstance(file, KeptFile):
                return _read_frames(file, number)
            return _decode(chunks(reader_of(file), 0), number)
    except OSError as error:
        return _StateEntries([], 0, 0, damage=_reason(error))


def _read_frames(file: KeptFile, number: int) -> _StateEntries:
    """Return the records in the frames that can be read; lines after one that cannot be have no number."""
    runs: list[list[tuple[int, bytes]]] = [[]]
    damage = ""
    for start, end in file.frames():
        try:
            runs[-1].append((start, file.read_at(start, end - start)))
        except OSError as error:
            damage = damage or _reason(error)
            runs.append([])
    entries: list[_Entry] = []
    for run in filter(None, runs):
        after_gap = run[0][0] > 0
        found = _decode(_whole_lines(run) if after_gap else iter(run), number)
        last = found.entries[-1:] if damage and run is not runs[-1] else []
        cut = [entry for entry in last if not entry.whole]  # the frame that has its end cannot be read
        kept = [entry for entry in found.entries if entry not in cut]
        entries += [entry._replace(line=0) for entry in kept] if after_gap else kept
    unique = {entry.key: entry for entry in reversed(entries)}
    return _StateEntries(sorted(unique.values(), key=lambda entry: entry.offset), 0, 0, damage=damage)


def _whole_lines(run: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield bytes from the first line on that begins in them."""
    begun = False
    for start, data in run:
        at = 0 if begun else data.find(b"\n") + 1
        if begun or at:
            begun = True
            yield start + at, data[at:]


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
