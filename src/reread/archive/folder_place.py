"""An archive in a folder of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from reread.archive.prune import delete, tidy
from reread.archive.restore import KeptVersion
from reread.archive.sync import Progress, Sync
from reread.archive.sync_state import FOLDER, SyncState
from reread.archive.verify import KeptEntry, KeptProblem, kept_sizes, verify
from reread.disk import layout
from reread.disk.lock import lock
from reread.disk.regular import make_private_folder, open_descriptor
from reread.errors import NotFound, Unwritable

LOCK_NAME = "lock"
Waiting = Callable[[], None]
"""Called once if another process writes, which has to be waited for."""


class ArchivePlace(Protocol):
    """Where an archive is."""

    folder: Path
    """The folder with what this machine keeps: the files, or their stubs."""
    name: str
    """The place as a person names it."""

    def folders(self) -> list[Path]:
        """Return the folders of all machines that keep sessions there; raise NotFound if there is none."""
        ...

    def reader(self) -> Sync:
        """Return what knows which files have changed."""
        ...

    def writer(
        self, wait: float, progress: Progress | None = None, waiting: Waiting | None = None
    ) -> AbstractContextManager[Sync]:
        """Be the only writer for a while."""
        ...

    def verify(self, progress: Progress | None) -> Iterator[KeptEntry | KeptProblem]:
        """Read everything."""
        ...

    def delete(self, versions: Sequence[KeptVersion], wait: float) -> None:
        """Delete what this machine keeps."""
        ...

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the path of each kept file's original, and the size of what is kept of it."""
        ...


class FolderPlace:
    """A folder with kept files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name: str = str(folder)

    def folders(self) -> list[Path]:
        return [self._existing()]

    def reader(self) -> Sync:
        return Sync(self.folder)

    @contextmanager
    def writer(self, wait: float, progress: Progress | None = None, waiting: Waiting | None = None) -> Generator[Sync]:
        with self._locked(wait, waiting):
            sync = Sync(self.folder, progress=progress)
            tidy(self.folder)
            yield sync

    def verify(self, progress: Progress | None) -> Iterator[KeptEntry | KeptProblem]:
        yield from verify(self._existing(), progress)

    def delete(self, versions: Sequence[KeptVersion], wait: float) -> None:
        with self._locked(wait):
            delete(self.folder, versions)
            state = SyncState(self.folder)
            state.drop_names({os.fsencode(version.name) for version in versions})
            state.save()

    def sizes(self) -> Iterator[tuple[str, int]]:
        for folder, name, size in kept_sizes(self.folder):
            yield os.path.join(folder, name), size

    def _existing(self) -> Path:
        if not os.path.lexists(self.folder):
            raise NotFound(f"Nothing is kept in {self.name}; run `reread keep`, or name another folder with --to.")
        return layout.require_folder(self.folder)

    @contextmanager
    def _locked(self, wait: float, waiting: Waiting | None = None) -> Generator[None]:
        """Be the only writer for a while."""
        try:
            make_private_folder(self.folder / FOLDER)
            descriptor = open_descriptor(self.folder / FOLDER / LOCK_NAME, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise Unwritable.at(self.folder, error) from error
        try:
            if not lock(descriptor, wait=wait, waiting=waiting):
                raise Unwritable(f"Another process is writing into {self.folder}; try again later.")
            yield
        finally:
            os.close(descriptor)
