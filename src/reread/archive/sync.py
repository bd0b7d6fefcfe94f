"""Copy what changed into an archive: new bytes are appended, and a file that shrank or differs begins a generation."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from reread.archive.source_files import SPECIAL, SourceFile
from reread.archive.sync_state import KeptState, SourceState, SyncRow, SyncState
from reread.storage.byte_store import StoreError
from reread.storage.frames import FRAME_SIZE, FrameBuilder, Hash
from reread.storage.kept_bucket import KeptBucket
from reread.storage.kept_copy import QUICK_LEVEL, KeptCopy, KeptFolder, Write
from reread.storage.kept_names import generation_path, kept_in
from reread.storage.read_at_file import ReadAt, reader
from reread.storage.safe_open import NotRegular, check_regular, make_private_folder, open_no_link

ATTEMPTS = 4
"""How often a file is copied that changes while it is."""
QUIET_SECONDS = 24 * 3600.0
"""A file that was not written to for so long is packed anew."""
SAVE_SECONDS = 5.0
"""How often what was seen is saved during a long run."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors after which no other file can be written either."""

Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""
Outcome = Literal["new", "grown", "rewritten", "unchanged", "skipped", "failed"]


class FileOutcome(msgspec.Struct, frozen=True):
    """The outcome for a file."""

    path: str
    name: str
    """Its path in the archive."""
    session: str
    outcome: Outcome
    size: int = 0
    """Bytes of the file."""
    added: int = 0
    """Raw bytes that were added."""
    packed: int = 0
    """Bytes that they take in the archive."""
    generation: int = 0
    note: str = ""
    """Why it was skipped, what failed, or what was found on the way."""


class _SourceChanged(Exception):
    """The source was rewritten while it was copied."""


class Sync:
    """One run: the only writer of an archive, for as long as its lock is held."""

    def __init__(
        self,
        archive: Path,
        *,
        progress: Progress | None = None,
        state: SyncState | None = None,
        destination: KeptFolder | KeptBucket | None = None,
    ) -> None:
        """Write into a folder, or with a destination, to where the folder's stubs lead."""
        self.archive = archive
        self._top = os.path.join(archive, "")
        self._state = state or SyncState(archive)
        self._destination = destination or KeptFolder()
        self._progress = progress or _ignore
        self._kept: dict[str, dict[str, int]] = {}
        """The newest generation of each file in the folders that were looked at."""

    def pending(self, files: Iterable[SourceFile]) -> Iterator[FileOutcome]:
        """Yield what a run would do with each file, by its size and times; nothing is read."""
        for file in files:
            status, row = file.status, self._state.get(file.path)
            if file.skipped:
                yield _outcome(file, "skipped", note=file.skipped)
            elif status is None:
                yield _outcome(file, "failed", note="it is gone")
            elif self._is_unchanged(file, row, status):
                yield _outcome(file, "unchanged", status.st_size)
            elif not self._newest(file):
                yield _outcome(file, "new", status.st_size, status.st_size)
            else:
                known = row.source.size if row is not None else 0
                outcome = "grown" if status.st_size >= known else "rewritten"
                added = status.st_size - known if outcome == "grown" else status.st_size
                yield _outcome(file, outcome, status.st_size, added)

    def run(self, files: Iterable[SourceFile]) -> Iterator[FileOutcome]:
        """Keep files; yield what became of each. It stops at an error that concerns all of them."""
        saved = time.monotonic()
        try:
            for file in files:
                if file.skipped:
                    yield _outcome(file, "skipped", note=file.skipped)
                    continue
                try:
                    outcome = self._keep(file)
                except OSError as error:
                    yield self._failed(file, error)
                    if error.errno in FULL or isinstance(error, StoreError):
                        return
                    continue
                yield outcome
                if time.monotonic() - saved > SAVE_SECONDS:
                    self._destination.save()
                    self._state.save()
                    saved = time.monotonic()
        finally:
            with suppress(OSError):  # on a full disk, files are examined again next time
                self._state.save()

    def _failed(self, file: SourceFile, error: OSError) -> FileOutcome:
        reason = error.strerror or str(error)
        if isinstance(error, NotRegular) or error.errno in (errno.ELOOP, errno.EMLINK):
            return _outcome(file, "skipped", note=SPECIAL)
        where = f"{error.filename}: " if error.filename not in (None, file.path) else ""
        return _outcome(file, "failed", note=where + reason)

    def _path(self, file: SourceFile, generation: int) -> str:
        return generation_path(f"{self._top}{file.name}", generation)

    def _is_unchanged(self, file: SourceFile, row: SyncRow | None, status: os.stat_result) -> bool:
        """True if neither the file nor what is kept of it has changed since the last run."""
        if row is None or row.source != SourceState.of(status) or row.name != os.fsencode(file.name):
            return False
        try:
            return row.kept == KeptState.of(os.lstat(self._path(file, row.generation)))
        except OSError:
            return False

    def _keep(self, file: SourceFile) -> FileOutcome:
        row = self._state.get(file.path)
        status = file.status
        if status is not None and self._is_unchanged(file, row, status):
            if row is not None and not row.repacked and time.time() - row.written > QUIET_SECONDS:
                self._repack(file, row)
            return _outcome(file, "unchanged", status.st_size)
        descriptor = open_no_link(file.path)
        try:
            check_regular(os.fstat(descriptor).st_mode, file.path)
            make_private_folder(Path(self._path(file, 1)).parent)
            for _ in range(ATTEMPTS):
                with suppress(_SourceChanged):
                    return self._copy(file, descriptor, self._copies(file, row))
        finally:
            os.close(descriptor)
        raise OSError(errno.EAGAIN, "it changes faster than it can be copied; run `reread keep` again", file.path)

    def _copies(self, file: SourceFile, row: SyncRow | None) -> list[KeptCopy]:
        """Return the generations that the file may continue: the one that it was kept in before, then the newest.

        They differ only if another source is kept under the same name.
        """
        wanted = dict.fromkeys([row.generation if row is not None else 0, self._newest(file)])
        there = [number for number in wanted if number and os.path.lexists(self._path(file, number))]
        return [self._destination.examine(self._path(file, number), number) for number in there]

    def _newest(self, file: SourceFile) -> int:
        """Return the newest generation of a file, or 0; a folder is listed once, and what was added since is tried."""
        folder, name = os.path.split(f"{self._top}{file.name}")
        if folder not in self._kept:
            self._kept[folder] = {original: numbers[-1] for original, numbers in kept_in(folder).items()}
        generation = self._kept[folder].get(name, 0)
        while os.path.lexists(self._path(file, generation + 1)):
            generation += 1
        return generation

    def _copy(self, file: SourceFile, descriptor: int, copies: list[KeptCopy]) -> FileOutcome:
        """Copy what is new; raise _SourceChanged if the file was rewritten meanwhile, and leave all as it was."""
        read, before = reader(descriptor), os.fstat(descriptor)
        state, size = SourceState.of(before), before.st_size
        copy, prefix = self._continued(copies, read, size)
        note = "; ".join(_complaint(one, continued=one is copy) for one in copies if one.damage or not one.map_is_right)
        destination = self._destination
        if copy is not None and copy.raw_size == size:
            if not copy.map_is_right:
                destination.finish(copy.path, copy.frames, 0)
            builder, target, generation = FrameBuilder(QUICK_LEVEL, copy.frames, prefix), copy.path, copy.generation
            self._ensure_same(descriptor, state, read, builder)
            outcome: Outcome = "unchanged"
        elif copy is not None:
            builder, target, generation = FrameBuilder(QUICK_LEVEL, copy.frames, prefix), copy.path, copy.generation
            with destination.append(copy) as write:
                self._write(builder, read, size, write)
                self._ensure_same(descriptor, state, read, builder)
            added = len(builder.frames) - len(copy.frames)
            destination.finish(target, builder.frames, added if copy.map_is_right else 0)
            outcome = "grown"
        else:
            generation = self._newest(file) + 1
            builder, target = FrameBuilder(QUICK_LEVEL), self._path(file, generation)
            with destination.create(target) as write:
                self._write(builder, read, size, write)
                self._ensure_same(descriptor, state, read, builder)
            destination.finish(target, builder.frames, 0)
            outcome = "new" if generation == 1 else "rewritten"
        destination.set_time(target, before.st_mtime_ns)
        self._remember(file, state, generation, target, wrote=outcome != "unchanged")
        start = (copy.raw_size, copy.packed_size) if copy is not None else (0, 0)
        added, packed = builder.raw_size - start[0], builder.packed_size - start[1]
        return _outcome(file, outcome, size, added, packed, generation, note)

    def _continued(self, copies: list[KeptCopy], read: ReadAt, size: int) -> tuple[KeptCopy | None, Hash | None]:
        """Return the copy that the source begins with, and a hash that was fed its bytes; None if there is none."""
        for copy in copies:
            if copy.damage or not copy.frames or copy.raw_size > size:
                continue
            prefix = self._hash(read, copy.raw_size)
            if prefix.digest() == copy.frames[-1].prefix_hash:
                return copy, prefix
        return None, None

    def _hash(self, read: ReadAt, size: int) -> Hash:
        """Return a hash of the first bytes of a source."""
        prefix, at = hashlib.sha256(), 0
        while at < size and (data := read(at, min(FRAME_SIZE, size - at))):
            prefix.update(data)
            at += len(data)
            self._progress(len(data))
        return prefix

    def _write(self, builder: FrameBuilder, read: ReadAt, size: int, write: Write) -> None:
        """Write the frames that are missing; an empty file has an empty one."""
        while builder.raw_size < size or not builder.frames:
            data = read(builder.raw_size, min(FRAME_SIZE, size - builder.raw_size))
            if not data and size:
                raise _SourceChanged  # it shrank
            write(builder.add(data))
            self._progress(len(data))

    def _ensure_same(self, descriptor: int, state: SourceState, read: ReadAt, builder: FrameBuilder) -> None:
        """Raise _SourceChanged unless the source still has the bytes that were copied."""
        if SourceState.of(os.fstat(descriptor)) != state:
            digest = builder.frames[-1].prefix_hash
            if self._hash(read, builder.raw_size).digest() != digest:
                raise _SourceChanged

    def _remember(self, file: SourceFile, state: SourceState, generation: int, target: str, *, wrote: bool) -> None:
        kept, name = KeptState.of(os.lstat(target)), os.fsencode(file.name)
        before = self._state.get(file.path)
        written = time.time() if wrote or before is None else before.written
        repacked = before is not None and before.repacked and not wrote
        if not state.is_settled():
            state = msgspec.structs.replace(state, changed=-1)  # no file is in this state: it is examined again
        known = (before.generation, *before.earlier) if before is not None and before.name == name else ()
        earlier = tuple(sorted({*known} - {generation}))
        row = SyncRow(name, state, generation, kept, written, repacked, earlier)
        self._state.put(file.path, row)

    def _repack(self, file: SourceFile, row: SyncRow) -> None:
        """Pack a quiet file anew."""
        path = self._path(file, row.generation)
        self._destination.repack(path, row.generation)
        kept = KeptState.of(os.lstat(path))
        self._state.put(file.path, msgspec.structs.replace(row, kept=kept, repacked=True))


def _outcome(
    file: SourceFile,
    outcome: Outcome,
    size: int = 0,
    added: int = 0,
    packed: int = 0,
    generation: int = 0,
    note: str = "",
) -> FileOutcome:
    return FileOutcome(file.path, file.name, file.session, outcome, size, added, packed, generation, note)


def _ignore(count: int) -> None:
    """Show no progress."""


def _complaint(copy: KeptCopy, *, continued: bool) -> str:
    """Return what was found wrong with a kept file."""
    if continued:
        return f"the map of {copy.path} was missing or wrong and was made again"
    return f"{copy.path}: {copy.damage or copy.doubt or 'its map is missing'}; left as it is"
