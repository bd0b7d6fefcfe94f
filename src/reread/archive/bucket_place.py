"""An archive in a bucket: each machine writes a part of its own, and whoever may reads all of them."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from reread.archive.bucket_destination import OBJECTS, BucketDestination
from reread.archive.folder_place import Waiting
from reread.archive.restore import KeptVersion
from reread.archive.sync import Progress, Sync
from reread.archive.sync_state import FOLDER, SyncState
from reread.archive.verify import KeptEntry, KeptProblem, kept_files, verify
from reread.disk.atomic import write_atomic
from reread.disk.kept import read_stub
from reread.disk.lock import lock
from reread.disk.machine import machine_id
from reread.disk.mirror import keeping_note, machine_state, mirrored_folders, open_lock
from reread.disk.regular import make_private_folder
from reread.disk.stub import store_at
from reread.disk.user_paths import MACHINES
from reread.errors import Misuse, Unreadable, Unwritable


class BucketPlace:
    """What this machine keeps in a bucket, and what others do, to be read."""

    def __init__(self, mirror: Path, url: str) -> None:
        self.name = url
        self._mirror = mirror
        self._machine = machine_id()
        self.folder: Path = mirror / self._machine

    def folders(self) -> list[Path]:
        return mirrored_folders(self._mirror)

    def reader(self) -> Sync:
        mirrored_folders(self._mirror)
        return Sync(self.folder, state=self._state())

    @contextmanager
    def writer(self, wait: float, progress: Progress | None = None, waiting: Waiting | None = None) -> Generator[Sync]:
        with self._destination(wait, waiting) as destination:
            yield Sync(self.folder, progress=progress, state=self._state(), destination=destination)

    def verify(self, progress: Progress | None) -> Iterator[KeptEntry | KeptProblem]:
        needed: set[str] = set()
        for folder in self.folders():
            for path, _, _ in kept_files(folder):
                stub = read_stub(path)
                needed |= {piece.name for piece in stub.pieces} if stub is not None else set()
            for found in verify(folder, progress):
                yield self._named(found, folder)
        try:
            there = [found.name for found in store_at(self.name).objects(MACHINES)]
        except OSError as error:
            raise Unreadable.at(self.name, error) from error
        for name in there:
            if f"/{OBJECTS}/" in name and name not in needed:
                text = "no manifest names it: a run is going on, or was killed; `--prune` deletes it"
                yield KeptProblem("info", f"{self.name}/{name}", text)

    def _named(self, found: KeptEntry | KeptProblem, folder: Path) -> KeptEntry | KeptProblem:
        """Return what was found with names as in the bucket, not as in the mirror."""
        if isinstance(found, KeptEntry):
            return msgspec.structs.replace(found, name=os.path.join(folder.name, found.name))
        path = os.path.relpath(found.path, self._mirror)
        return msgspec.structs.replace(found, path=f"{self.name}/{MACHINES}/{path}")

    def delete(self, versions: Sequence[KeptVersion], wait: float) -> None:
        others = [version.path for version in versions if not Path(version.path).is_relative_to(self.folder)]
        if others:
            machine = Path(others[0]).relative_to(self._mirror).parts[0]
            raise Misuse(f"Another machine keeps that session; run it on {machine}, or with REREAD_MACHINE={machine}.")
        with self._destination(wait) as destination:
            with self._saying_where():
                destination.delete(version.path for version in versions)
            state = self._state()
            state.drop_names({os.fsencode(version.name) for version in versions})
            state.save()

    def sizes(self) -> Iterator[tuple[str, int]]:
        for folder in self.folders():
            for path, name, generation in kept_files(folder):
                stub = read_stub(path)
                yield name if generation == 1 else "", stub.packed_size if stub is not None else 0

    def _state(self) -> SyncState:
        folder = machine_state(self._mirror, self._machine)
        with suppress(OSError):  # whoever writes into it will say why
            make_private_folder(folder / FOLDER)
        return SyncState(folder)

    @contextmanager
    def _destination(self, wait: float, waiting: Waiting | None = None) -> Generator[BucketDestination]:
        """Be the only process of this machine that writes into the bucket; put the manifest at the end."""
        try:
            descriptor = open_lock(self._mirror, self._machine)
        except OSError as error:
            raise Unwritable.at(self._mirror, error) from error
        note = keeping_note(self._mirror, self._machine)
        try:
            if not lock(descriptor, wait=wait, waiting=waiting):
                raise Unwritable(f"Another process is writing into {self.name}; try again later.")
            write_atomic(note, [b""])
            with self._saying_where():
                store = store_at(self.name)
                store.require()
                destination = BucketDestination(store, self._mirror, self._machine)
            try:
                yield destination
            finally:
                with self._saying_where():
                    destination.flush()
        finally:
            with suppress(OSError):
                note.unlink()
            os.close(descriptor)

    @contextmanager
    def _saying_where(self) -> Generator[None]:
        """Raise Unwritable with the address if the bucket refuses."""
        try:
            yield
        except OSError as error:
            raise Unwritable.at(self.name, error) from error
