"""Joined transcripts: a file together with the records that only its earlier states have.

A joined file is read like any other: the file's own lines, and between them each line that a rewrite has dropped, where
it stood: after what it followed and before what followed it. So whatever reads transcripts reads all of a session, and
needs no idea of states; what must tell them apart asks for the origin of a record. Nothing that is dropped is copied:
it is read from where it is.
"""

from __future__ import annotations

import hashlib
import os
import threading
from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate

from reread.disk.join_plan import OWN, JoinedPiece, JoinPlan
from reread.disk.joins import find_plan
from reread.disk.states import OtherStates
from reread.records.decode import RecordOrigin
from reread.storage.pooled_file import PooledFile
from reread.storage.read_at_file import ReadAtFile, restated


def status_joined(path: str, status: os.stat_result, others: OtherStates) -> os.stat_result:
    """Return the status of a file with the size of all that its states have, and an identity of this join."""
    plan = find_plan(path, status, others)
    return _joined_status(status, plan) if plan.pieces else status


def open_joined(path: str, others: OtherStates) -> JoinedFile | None:
    """Open a file together with what its states have; None if it has all of that."""
    file = PooledFile(path)
    try:
        plan = find_plan(path, file.status(), others)
        if plan.pieces or plan.damage:
            return JoinedFile(path, file, plan)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _joined_status(status: os.stat_result, plan: JoinPlan) -> os.stat_result:
    size = status.st_size - plan.rest + sum(piece.size for piece in plan.pieces)
    inode = hashlib.blake2b(plan.mark + str(status.st_ino).encode(), digest_size=8).digest()
    return restated(status, size, int.from_bytes(inode, "big") >> 1)  # what is derived depends on all its states


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

    def close(self) -> None:
        if not self.closed:
            super().close()
            for file in (self.file, *(other for other in self._others.values() if other is not None)):
                file.close()
