"""Joined transcripts: a file together with the records that only its earlier states have.

A joined file is read like any other: the file's own lines, and between them each line that a rewrite has dropped, where
it stood: after what it followed and before what followed it. So whatever reads transcripts reads all of a session, and
needs no idea of states; what must tell them apart asks for the origin of a record. Nothing that is dropped is copied:
it is read from where it is. Where that is, is worked out once and remembered.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import threading
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import accumulate
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.states import EarlierState, OtherStates
from reread.records.decode import RecordOrigin
from reread.records.lines import ReadAt
from reread.storage.atomic import remove_unfinished, write_atomic
from reread.storage.file_times import is_settled
from reread.storage.frames import ZstdFrame, parse_map
from reread.storage.kept_file import SUFFIX as KEPT_SUFFIX
from reread.storage.kept_file import KeptFile, is_file, read_map_file, read_stub
from reread.storage.pooled_file import PooledFile
from reread.storage.read_at_file import ReadAtFile
from reread.storage.safe_open import make_own_folder, open_regular, read_own
from reread.storage.user_paths import cache_folder

NAME, SUFFIX, FORMAT = "joins", ".join", 3
LARGEST = 1 << 28
"""Bytes that a saved plan may have."""
REMEMBERED = 4096
"""Plans that are remembered."""
MOST_SAVED = 2000
"""Plans that are saved; those not made for longest are deleted."""

CHUNK = 1 << 20
OWN = -1
"""Stands for the file itself among the states."""
WORTH_SAVING = 1 << 18
"""A plan that says nothing is saved if so many bytes were read to make it."""

FileIdentity = tuple[int, int, int, int, int]
"""Device, inode and size, and when the file and its status were modified."""


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


class _Question(msgspec.Struct, frozen=True, array_like=True):
    """A file in some state, and what it may have to be joined with."""

    path: str
    identity: FileIdentity
    states: list[EarlierState]
    rivals: list[tuple[str, FileIdentity]]


class SavedPlan(msgspec.Struct, frozen=True, array_like=True):
    """A plan, and what it was made for."""

    format: int
    asked: _Question
    proof: bytes
    """A hash of all bytes that the file had."""
    plan: JoinPlan


def status_joined(path: str, status: os.stat_result, others: OtherStates) -> os.stat_result:
    """Return the status of a file with the size of all that its states have, and an identity of this join."""
    plan = _plan(path, status, others)
    return _joined_status(status, plan) if plan.pieces else status


def open_joined(path: str, others: OtherStates) -> JoinedFile | None:
    """Open a file together with what its states have; None if it has all of that."""
    file = PooledFile(path)
    try:
        plan = _plan(path, file.status(), others)
        if plan.pieces or plan.damage:
            return JoinedFile(path, file, plan)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _joined_status(status: os.stat_result, plan: JoinPlan) -> os.stat_result:
    fields = list(status)
    inode = hashlib.blake2b(plan.mark + str(status.st_ino).encode(), digest_size=8).digest()
    fields[stat.ST_INO] = int.from_bytes(inode, "big") >> 1  # what is derived of the file depends on all its states
    fields[stat.ST_SIZE] = status.st_size - plan.rest + sum(piece.size for piece in plan.pieces)
    names = ("st_atime", "st_mtime", "st_ctime", "st_atime_ns", "st_mtime_ns", "st_ctime_ns")
    return os.stat_result(fields, {name: getattr(status, name) for name in names})


class JoinedFile(ReadAtFile):
    """A file together with what only its earlier states have, read at any offset."""

    def __init__(self, path: str, file: PooledFile, plan: JoinPlan) -> None:
        self.path = path
        self.file = file
        """The file itself, or what is kept of it."""
        self.plan = plan
        self._others: dict[int, PooledFile | None] = {}
        self._lock = threading.Lock()
        self._pieces = [*plan.pieces, JoinedPiece(OWN, plan.rest, 0, plan.rest_line)]
        self._starts = list(accumulate((piece.size for piece in plan.pieces), initial=0))
        self._lines = list(accumulate((piece.lines for piece in plan.pieces), initial=1))

    @property
    def size(self) -> int:
        return self.status().st_size

    def status(self) -> os.stat_result:
        status = self.file.status()
        return _joined_status(status, self.plan) if self.plan.pieces else status

    @property
    def own_size(self) -> int:
        """Bytes of the file itself."""
        return self.file.size

    def read_own(self, offset: int, length: int) -> bytes:
        """Return bytes of the file itself."""
        return self._read(OWN, offset, length)

    def read_at(self, offset: int, length: int) -> bytes:
        found: list[bytes] = []
        index = bisect_right(self._starts, offset) - 1
        while length > 0 and index < len(self._pieces):
            piece, skip = self._pieces[index], offset - self._starts[index]
            is_rest = index == len(self._pieces) - 1
            count = length if is_rest else min(length, piece.size - skip)
            data = self._piece(piece, skip, count)
            found.append(data)
            if is_rest:
                break
            offset, length, index = offset + count, length - count, index + 1
        return found[0] if len(found) == 1 else b"".join(found)

    def _piece(self, piece: JoinedPiece, skip: int, count: int) -> bytes:
        if not piece.bare:
            return self._read(piece.state, piece.offset + skip, count)
        data = self._read(piece.state, piece.offset, piece.length)
        return (data.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")[skip : skip + count]

    def _read(self, state: int, offset: int, length: int) -> bytes:
        """Return bytes of a state; what can no longer be read of an earlier one is blank."""
        if state == OWN:
            return self.file.read_at(offset, length)
        try:
            other = self._other(state)
            data = other.read_at(offset, length) if other is not None else b""
        except OSError:
            data = b""
        return data if len(data) == length else data.ljust(length - 1) + b"\n"

    def _other(self, state: int) -> PooledFile | None:
        """Return the file of an earlier state; None if it is gone."""
        with self._lock:
            if state not in self._others:
                self._others[state] = None
                with suppress(OSError):
                    self._others[state] = PooledFile(self.plan.states[state].path)
            return self._others[state]

    def origin(self, line: int, offset: int) -> RecordOrigin:
        """Return where a record really is that is on a line and at an offset of the joined file."""
        index = bisect_right(self._starts, offset) - 1
        piece = self._pieces[index]
        number = piece.line + line - self._lines[index] if piece.line else 0
        state = self.plan.states[piece.state].path if piece.state != OWN else None
        return RecordOrigin(number, piece.offset + offset - self._starts[index], state)

    def origin_of_line(self, line: int) -> RecordOrigin:
        """Return where a line of the joined file really is."""
        index = bisect_right(self._lines, line) - 1
        return self.origin(line, self._starts[index])

    def own_start(self, offset: int) -> int | None:
        """Return where a place of the joined file is in the file itself; None if it is in an earlier state."""
        index = bisect_right(self._starts, offset) - 1
        piece = self._pieces[index]
        return piece.offset + offset - self._starts[index] if piece.state == OWN else None

    def own_end(self, size: int) -> int:
        """Return how many bytes of the file itself the first bytes of the joined file have."""
        index = bisect_right(self._starts, size) - 1
        own = [piece.offset + piece.length for piece in self._pieces[:index] if piece.state == OWN]
        at = self.own_start(size)
        return at if at is not None else max(own, default=0)

    def dropped_counts(self) -> dict[str, int]:
        """Return how many records only each earlier state has, by its file."""
        return {self.plan.states[number].path: count for number, count in sorted(self.plan.counts.items())}

    def close(self) -> None:
        if not self.closed:
            super().close()
            for file in (self.file, *(other for other in self._others.values() if other is not None)):
                file.close()


_plans: dict[str, tuple[_Question, JoinPlan]] = {}
"""The plans of files as they were last seen."""


def _plan(path: str, status: os.stat_result, others: OtherStates) -> JoinPlan:
    """Return how a file in some state is joined with others, as it was found out before or by reading all of them."""
    rivals = list[tuple[str, FileIdentity]]()
    for rival in others.rivals:
        with suppress(OSError):
            rivals.append((rival, _identity(os.stat(rival))))  # noqa: PTH116
    asked = _Question(os.path.abspath(path), _identity(status), others.states, rivals)  # noqa: PTH100
    known = _plans.get(asked.path)
    if known is not None and known[0] == asked:
        return known[1]
    settled = is_settled(max(status.st_mtime_ns, status.st_ctime_ns))
    try:
        with closing(open_regular(path)) as file:
            plan = _find_plan(asked, positional_reader(file), settled=settled)
    except OSError:  # the file itself is gone or damaged: whoever reads it will see
        return JoinPlan([], [])
    if settled:
        while len(_plans) >= REMEMBERED:
            with suppress(KeyError, StopIteration, RuntimeError):  # another thread was faster
                del _plans[next(iter(_plans))]
        _plans[asked.path] = asked, plan
    return plan


def _identity(status: os.stat_result) -> FileIdentity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _find_plan(asked: _Question, read: ReadAt, *, settled: bool) -> JoinPlan:
    """Return the plan that was saved, if it still holds, or make one."""
    saved = _read_saved(asked.path)
    if saved is not None and saved.asked == asked:
        return saved.plan
    plan = _grown_plan(saved, asked, read) if saved is not None else None
    if plan is None:
        size = asked.identity[2]
        mine = [state for state in asked.states if not _begins_with(read, size, state)]
        mine = [state for state in mine if not (state.generation and _is_of_others(state, asked.rivals))]
        plan = _made_plan(read, mine) if mine else JoinPlan([], [])
        if not settled or not (mine or size * len(asked.states) >= WORTH_SAVING):
            return plan
    if settled:
        _save(SavedPlan(FORMAT, asked, _proof(asked.identity[2], read), plan))
    return plan


def _made_plan(read: ReadAt, states: list[EarlierState]) -> JoinPlan:
    from reread.disk.join_plan import make_plan  # most files begin with what was kept of them

    return make_plan(read, states)


def _grown_plan(saved: SavedPlan, asked: _Question, read: ReadAt) -> JoinPlan | None:
    """Return the plan of a file that has only grown since one was saved; None if that does not hold."""
    from reread.disk.join_plan import grown_plan  # most files begin with what was kept of them

    before, now, plan = saved.asked.identity, asked.identity, saved.plan
    is_same = before[:2] == now[:2] and (saved.asked.states, saved.asked.rivals) == (asked.states, asked.rivals)
    if not is_same or now[2] <= before[2] or plan.fixed_size != -1 or _proof(before[2], read) != saved.proof:
        return None
    return grown_plan(plan, read) if plan.states else plan


def _begins_with(read: ReadAt, size: int, state: EarlierState) -> bool:
    """True if a file of some size has all that it had in another state, and at most more at its end."""
    try:
        frames = _frames(state.path) if state.path.endswith(KEPT_SUFFIX) else None
        if frames:  # their hashes say what the bytes are, so that nothing is unpacked or fetched
            return frames[-1].raw_end <= size and _proof(frames[-1].raw_end, read) == frames[-1].prefix_hash
        with closing(open_regular(state.path)) as other:
            return all(read(at, len(data)) == data for at, data in chunks(positional_reader(other), 0))
    except OSError:  # it is damaged: what can be read of it is read
        return False


def _frames(kept: str) -> list[ZstdFrame] | None:
    """Return the frames of a kept file by its map; None if that is missing or does not fit."""
    data = read_map_file(kept)
    frames = parse_map(data) if data is not None else None
    is_whole = frames and (frames[-1].packed_end == os.lstat(kept).st_size or read_stub(kept) is not None)
    return frames if is_whole else None


def _is_of_others(state: EarlierState, rivals: list[tuple[str, FileIdentity]]) -> bool:
    """True if what is kept under the name of a file is that of another file of its name."""
    for path, identity in rivals:
        with suppress(OSError), closing(open_regular(path)) as file:
            if _begins_with(positional_reader(file), identity[2], state):
                return True
    return False


def _proof(size: int, read: ReadAt) -> bytes:
    """Return a hash of the first bytes of a file."""
    found, at = hashlib.sha256(), 0
    while at < size and (data := read(at, min(CHUNK, size - at))):
        found.update(data)
        at += len(data)
    return found.digest()


def chunks(read: ReadAt, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield all bytes from an offset on, each piece with its own."""
    while data := read(at, CHUNK):
        yield at, data
        at += len(data)


def positional_reader(file: io.FileIO | KeptFile) -> ReadAt:
    """Return a function that reads an open file by offset."""
    if isinstance(file, KeptFile):
        return file.read_at
    if hasattr(os, "pread"):
        return lambda offset, length: os.pread(file.fileno(), length, offset)
    lock = threading.Lock()

    def read(offset: int, length: int) -> bytes:
        with lock:
            file.seek(offset)
            return file.read(length) or b""

    return read


def _saved_path(path: str) -> Path:
    name = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return cache_folder() / NAME / f"{name}{SUFFIX}"


def _read_saved(path: str) -> SavedPlan | None:
    try:
        found = msgspec.msgpack.decode(read_own(_saved_path(path), LARGEST), type=SavedPlan)
    except (OSError, *jsontext.DECODE_ERRORS):
        return None
    return found if (found.format, found.asked.path) == (FORMAT, path) else None


def _save(saved: SavedPlan) -> None:
    """Save a plan; without it, it is made again."""
    target = _saved_path(saved.asked.path)
    with suppress(OSError, UnicodeError):
        make_own_folder(cache_folder())
        make_own_folder(target.parent)
        write_atomic(target, [msgspec.msgpack.encode(saved)], follow=False)
        target.chmod(0o600)
        if not is_file(saved.asked.path):  # it was deleted meanwhile, and what was known of it forgotten
            target.unlink(missing_ok=True)
        remove_unfinished(target.parent)
        others = list(target.parent.glob(f"*{SUFFIX}"))
        if len(others) > MOST_SAVED:
            for other in sorted(others, key=lambda one: one.stat().st_mtime)[:-MOST_SAVED]:
                other.unlink(missing_ok=True)
