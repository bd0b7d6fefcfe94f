"""How files are joined with their other states, found out once: whether they begin with them, and if not, the plan.

What was found out is remembered in memory, and on disk as soon as finding it again would take a while.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.join_plan import CHUNK, JoinPlan, chunks, grown_plan, make_plan
from reread.disk.states import EarlierState, OtherStates
from reread.storage.atomic import remove_unfinished, write_atomic
from reread.storage.frames import ZstdFrame, parse_map
from reread.storage.kept_file import is_file, open_regular, read_map_file, read_stub, reader_of
from reread.storage.kept_names import SUFFIX as KEPT_SUFFIX
from reread.storage.kept_names import is_settled
from reread.storage.read_at_file import ReadAt
from reread.storage.safe_open import make_own_folder, read_own
from reread.storage.user_paths import cache_folder

NAME, SUFFIX, FORMAT = "joins", ".join", 3
LARGEST = 1 << 28
"""Bytes that a saved plan may have."""
REMEMBERED = 4096
"""Plans that are remembered."""
MOST_SAVED = 2000
"""Plans that are saved; those not made for longest are deleted."""
WORTH_SAVING = 1 << 18
"""A plan that says nothing is saved if so many bytes were read to make it."""

FileIdentity = tuple[int, int, int, int, int]
"""Device, inode and size, and when the file and its status were modified."""


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


_plans: dict[str, tuple[_Question, JoinPlan]] = {}
"""The plans of files as they were last seen."""


def find_plan(path: str, status: os.stat_result, others: OtherStates) -> JoinPlan:
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
            plan = _read_plan(asked, reader_of(file), settled=settled)
    except OSError:  # the file itself is gone or damaged: whoever reads it will see
        return JoinPlan([], [])
    if settled:
        if len(_plans) >= REMEMBERED:
            _plans.clear()
        _plans[asked.path] = asked, plan
    return plan


def _identity(status: os.stat_result) -> FileIdentity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_plan(asked: _Question, read: ReadAt, *, settled: bool) -> JoinPlan:
    """Return the plan that was saved, if it still holds, or make one."""
    saved = _read_saved(asked.path)
    if saved is not None and saved.asked == asked:
        return saved.plan
    size = asked.identity[2]
    plan, proof = _grown_plan(saved, asked, read) if saved is not None else (None, b"")
    if plan is None:
        mine = [state for state in asked.states if not _begins_with(read, size, state)]
        mine = [state for state in mine if not (state.generation and _is_of_others(state, asked.rivals))]
        plan = make_plan(read, mine) if mine else JoinPlan([], [])
        if not settled or not (mine or size * len(asked.states) >= WORTH_SAVING):
            return plan
    if settled:
        _save(SavedPlan(FORMAT, asked, proof or _proofs(read, size)[0], plan))
    return plan


def _grown_plan(saved: SavedPlan, asked: _Question, read: ReadAt) -> tuple[JoinPlan | None, bytes]:
    """Return the plan of a file that has only grown since one was saved, None if that does not hold, and its proof."""
    before, now, plan = saved.asked.identity, asked.identity, saved.plan
    is_same = before[:2] == now[:2] and (saved.asked.states, saved.asked.rivals) == (asked.states, asked.rivals)
    if not is_same or now[2] <= before[2] or plan.fixed_size != -1:
        return None, b""
    then, proof = _proofs(read, before[2], now[2])
    if then != saved.proof:
        return None, proof
    return grown_plan(plan, read) if plan.states else plan, proof


def _begins_with(read: ReadAt, size: int, state: EarlierState) -> bool:
    """True if a file of some size has all that it had in another state, and at most more at its end."""
    try:
        frames = _frames(state.path) if state.path.endswith(KEPT_SUFFIX) else None
        if frames:  # their hashes say what the bytes are, so that nothing is unpacked or fetched
            return frames[-1].raw_end <= size and _proofs(read, frames[-1].raw_end) == [frames[-1].prefix_hash]
        with closing(open_regular(state.path)) as other:
            return all(read(at, len(data)) == data for at, data in chunks(reader_of(other), 0))
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
            if _begins_with(reader_of(file), identity[2], state):
                return True
    return False


def _proofs(read: ReadAt, *sizes: int) -> list[bytes]:
    """Return hashes of so many first bytes of a file, the fewest first."""
    hashed, at, found = hashlib.sha256(), 0, list[bytes]()
    for size in sizes:
        while at < size and (data := read(at, min(CHUNK, size - at))):
            hashed.update(data)
            at += len(data)
        found.append(hashed.digest())
    return found


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
