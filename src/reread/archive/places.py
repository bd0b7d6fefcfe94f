"""Where an archive is: a folder of this machine, or a bucket in which each machine writes a part of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from reread.archive.prune import Delete, Origins, delete_files, forget_rows, origins_in
from reread.archive.restore import KeptVersion
from reread.archive.sync import Progress, Sync
from reread.archive.sync_state import FOLDER, SyncState, state_files
from reread.archive.verify import KeptEntry, KeptProblem, kept_files, verify
from reread.disk import layout
from reread.disk.machine import machine_id
from reread.errors import Misuse, NotFound, Unreadable, Unwritable
from reread.storage.atomic import remove_unfinished, write_atomic
from reread.storage.bucket import store_at
from reread.storage.bucket_mirror import keeping_note, machine_state, mirrored_folders, open_lock
from reread.storage.kept_bucket import OBJECTS, KeptBucket
from reread.storage.kept_file import read_stub
from reread.storage.lock import lock
from reread.storage.safe_open import make_private_folder, open_descriptor
from reread.storage.user_paths import MACHINES

LOCK_NAME = "lock"
Waiting = Callable[[], None]
"""Called once if another process writes, which has to be waited for."""


class FolderPlace:
    """A folder with kept files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """The files that this machine keeps, or their stubs."""
        self.name: str = str(folder)
        """The place as a person names it."""
        self._states: Path = folder
        """The folder with what machines have noted of their files."""

    def folders(self) -> list[Path]:
        """Return the folders of all machines that keep sessions there; raise NotFound if there is none."""
        if not os.path.lexists(self.folder):
            raise NotFound(f"Nothing is kept in {self.name}; run `reread keep`, or name another folder with --to.")
        return [layout.require_folder(self.folder)]

    def reader(self) -> Sync:
        """Return what knows which files have changed."""
        return Sync(self.folder)

    @contextmanager
    def writer(self, wait: float, progress: Progress | None = None, waiting: Waiting | None = None) -> Generator[Sync]:
        """Be the only writer for a while."""
        with self.locked(wait, waiting):
            sync = Sync(self.folder, progress=progress)
            remove_unfinished(self.folder, below=True)
            yield sync

    def verify(self, progress: Progress | None) -> Iterator[KeptEntry | KeptProblem]:
        """Read everything."""
        yield from verify(self.folders()[0], progress)

    @contextmanager
    def pruning(self, wait: float) -> Generator[Delete]:
        """Be the only writer for a while, to delete some of what this machine keeps."""
        with self.locked(wait):
            yield self._delete

    def _delete(self, versions: Sequence[KeptVersion]) -> None:
        with self._saying_where():
            forget_rows(self.folder, state_files(self._states), (version.path for version in versions))
            delete_files(self.folder, versions)

    def delete_unnamed(self, objects: Sequence[str], wait: float) -> None:
        """Do nothing: a folder has no objects."""

    def origins(self) -> Origins:
        """Return which sources the files that this machine keeps come from."""
        return origins_in(self.folder, state_files(self._states))

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the path of each kept file's original, below its folder, and its size."""
        for path, name, _ in kept_files(self.folder):
            with suppress(FileNotFoundError):  # deleted since
                yield name, os.lstat(path).st_size

    def _open_lock(self) -> int:
        make_private_folder(self._states / FOLDER)
        return open_descriptor(self._states / FOLDER / LOCK_NAME, os.O_RDWR | os.O_CREAT)

    @contextmanager
    def locked(self, wait: float, waiting: Waiting | None = None) -> Generator[None]:
        """Be the only process of this machine that writes."""
        with self._saying_where():
            descriptor = self._open_lock()
        try:
            if not lock(descriptor, wait=wait, waiting=waiting):
                raise Unwritable(f"Another process is writing into {self.name}; try again later.")
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _saying_where(self) -> Generator[None]:
        """Raise Unwritable with the place if it refuses."""
        try:
            yield
        except OSError as error:
            raise Unwritable.at(error.filename or self.name, error) from error


class BucketPlace(FolderPlace):
    """The files that this machine and others keep in a bucket; the folder is a mirror with stubs, to read them."""

    def __init__(self, mirror: Path, url: str) -> None:
        self._mirror, self._machine = mirror, machine_id()
        super().__init__(mirror / self._machine)
        self.name = url
        self._states = machine_state(mirror, self._machine)

    def folders(self) -> list[Path]:
        return mirrored_folders(self._mirror)

    def reader(self) -> Sync:
        mirrored_folders(self._mirror)
        return Sync(self.folder, state=self._state())

    @contextmanager
    def writer(self, wait: float, progress: Progress | None = None, waiting: Waiting | None = None) -> Generator[Sync]:
        with self._bucket(wait, waiting) as bucket:
            yield Sync(self.folder, progress=progress, state=self._state(), destination=bucket)

    def verify(self, progress: Progress | None) -> Iterator[KeptEntry | KeptProblem]:
        needed: set[str] = set()
        for folder in self.folders():
            for path, _, _ in kept_files(folder):
                stub = read_stub(path)
                needed |= {piece.name for piece in stub.pieces} if stub is not None else set()
            for found in verify(folder, progress):
                yield self._named(found, folder)
        try:
            there = [found.name for found in store_at(self.name).list(MACHINES)]
        except OSError as error:
            raise Unreadable.at(self.name, error) from error
        for name in there:
            if f"/{OBJECTS}/" in name and name not in needed:
                text = "no manifest names it: a run is going on, or was killed; `--prune` deletes it after a day"
                yield KeptProblem("info", f"{self.name}/{name}", text)

    def _named(self, found: KeptEntry | KeptProblem, folder: Path) -> KeptEntry | KeptProblem:
        """Return what was found with names as in the bucket, not as in the mirror."""
        if isinstance(found, KeptEntry):
            return msgspec.structs.replace(found, name=os.path.join(folder.name, found.name))
        path = os.path.relpath(found.path, self._mirror)
        return msgspec.structs.replace(found, path=f"{self.name}/{MACHINES}/{path}")

    @contextmanager
    def pruning(self, wait: float) -> Generator[Delete]:
        with self._bucket(wait) as bucket:

            def delete(versions: Sequence[KeptVersion]) -> None:
                others = [one.path for one in versions if not Path(one.path).is_relative_to(self.folder)]
                if others:
                    machine = Path(others[0]).relative_to(self._mirror).parts[0]
                    raise Misuse(
                        f"Another machine keeps that session; run it on {machine}, or with REREAD_MACHINE={machine}."
                    )
                gone = [version.path for version in versions]
                with self._saying_where():
                    forget_rows(self.folder, state_files(self._states), gone)
                    bucket.delete(gone)

            yield delete

    def delete_unnamed(self, objects: Sequence[str], wait: float) -> None:
        with self._saying_where():
            store = store_at(self.name)
            if store.stat(objects):
                with self._bucket(wait) as bucket:
                    bucket.delete_unnamed(objects)

    def sizes(self) -> Iterator[tuple[str, int]]:
        for folder in self.folders():
            for path, name, _ in kept_files(folder):
                stub = read_stub(path)
                yield name, stub.packed_size if stub is not None else 0

    def _state(self) -> SyncState:
        with suppress(OSError):  # whoever writes into it will say why
            make_private_folder(self._states / FOLDER)
        return SyncState(self._states)

    def _open_lock(self) -> int:
        return open_lock(self._mirror, self._machine)

    @contextmanager
    def _bucket(self, wait: float, waiting: Waiting | None = None) -> Generator[KeptBucket]:
        """Be the only process of this machine that writes into the bucket; put the manifest at the end."""
        note = keeping_note(self._mirror, self._machine)
        with self.locked(wait, waiting):
            try:
                write_atomic(note, [b""])
                with self._saying_where():
                    store = store_at(self.name)
                    store.require()
                    bucket = KeptBucket(store, self._mirror, self._machine)
                try:
                    yield bucket
                finally:
                    with self._saying_where():
                        bucket.flush()
            finally:
                with suppress(OSError):
                    note.unlink()
