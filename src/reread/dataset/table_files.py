"""The files of tables, in a folder or in a bucket: they appear whole or not at all, and never change.

Files are written in a folder of this machine. If the tables are in a bucket, that folder is in the cache: what was
written is then put as a whole, and what others have put is fetched once.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO

from reread.errors import Unreadable, Unwritable
from reread.storage.bucket import BucketStore
from reread.storage.byte_store import ByteStore, StoreError
from reread.storage.folder import FolderStore
from reread.storage.safe_open import NotRegular
from reread.storage.user_paths import bucket_folder_name, bucket_url, cache_folder, expand_path, is_bucket_url

FOLDER = "tables"
LOCK = "_reread/lock-"
ORPHAN_SECONDS = 24 * 3600.0
"""A file in a bucket that no manifest names is deleted at this age: its writer is still at work, or was killed."""
CHUNK = 8 << 20
FETCHES = 8
"""How many files are fetched at once."""


def table_files(folder: str | Path) -> TableFiles:
    """Return the files in a folder, or below the address of one in a bucket, that a person names."""
    if not is_bucket_url(folder):
        return TableFiles(expand_path(folder))
    url = bucket_url(folder)
    store = BucketStore(url)
    with _saying(Unreadable, url):
        store.require()
    return TableFiles(cache_folder() / FOLDER / bucket_folder_name(url), store)


class TableFiles:
    """The files of tables in a folder of this machine, or in a bucket with a folder for what was fetched or written."""

    def __init__(self, folder: str | Path, bucket: BucketStore | None = None) -> None:
        self.folder: Path = Path(folder).absolute()
        self._here = FolderStore(self.folder)
        self._bucket = bucket
        self.store: ByteStore = bucket or self._here

    def names(self, below: str) -> list[str]:
        """Return the names of all files below a folder, temporary ones included."""
        with _saying(Unreadable, self.location(below)):
            return [found.name for found in self.store.list(below)]

    def open(self, name: str) -> IO[bytes]:
        """Open a regular file for reading at any offset, else raise Unreadable; it stays readable if it is deleted."""
        self.fetch([name])
        try:
            return self._here.open(name)
        except NotRegular as error:
            raise Unreadable.at(self.folder / name, error) from error

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file, and return True; False if there is one with this name."""
        with _saying(Unwritable, self.location(name)):
            return self.store.create(name, data)

    def write(self, name: str) -> IO[bytes]:
        """Open a new file for writing; `publish` gives it its name."""
        return self._here.stage(name)

    def publish(self, name: str) -> None:
        """Give a file that was written its name."""
        self._here.publish(name)
        if self._bucket is not None:
            with _saying(Unwritable, self.location(name)), self._here.open(name) as file:
                self._bucket.put_whole(name, iter(lambda: file.read(CHUNK), b""))

    def delete(self, name: str) -> None:
        """Delete a file if it is there and nothing prevents it."""
        with suppress(OSError):  # on Windows, a reader may still have it open; a later writer deletes it
            self._here.delete(name)
        if self._bucket is not None:
            self._bucket.drop(name)

    def sweep(self, below: str, named: Collection[str]) -> set[str]:
        """Delete what writers that were killed left below a folder; return the names of all files that were there.

        In a folder, nobody else writes while this one has the lock; in a bucket, only what is old was left.
        """
        with _saying(Unreadable, self.location(below)):
            found = self.store.list(below)
        for state in found:
            if state.name not in named and (self._bucket is None or _is_old(state.modified / 1e9)):
                self.delete(state.name)
        return {state.name for state in found}

    def fetch(self, names: Iterable[str]) -> None:
        """Bring files to this machine, for engines that read them; raise FileNotFoundError if one is gone."""
        if self._bucket is None:
            return
        missing = [name for name in names if not _has_content(self.path(name))]
        with _saying(Unreadable, self.location("")), ThreadPoolExecutor(FETCHES) as pool:
            for _ in pool.map(self._fetch, missing, [self._bucket] * len(missing)):
                pass

    def _fetch(self, name: str, bucket: BucketStore) -> None:
        offset = 0
        try:
            with self._here.stage(name) as file:
                while piece := bucket.read(name, offset, CHUNK):
                    file.write(piece)
                    offset += len(piece)
            self._here.publish(name)
        except BaseException:
            self._here.delete(name)
            raise

    def forget(self, named: Iterable[str]) -> None:
        """Delete what was fetched a while ago and is not named any more."""
        kept = frozenset(named)
        for found in self._here.list("") if self._bucket is not None else ():
            if found.name not in kept and not found.name.startswith(LOCK) and _is_old(found.modified / 1e9):
                with suppress(OSError):  # another process has deleted it
                    self._here.delete(found.name)

    def path(self, name: str) -> str:
        """Return the path of a file that was fetched."""
        return self._here.location(name)

    def location(self, name: str) -> str:
        """Return the path or address of a file, as a person names it."""
        return self.store.location(name)

    def locked(self, machine: str, wait: float) -> AbstractContextManager[bool]:
        """Be the only writer for a machine on this one; False if another does not end within the wait.

        A writer elsewhere that has the same name is noticed by `create`.
        """
        return self._here.locked(f"{LOCK}{machine}", wait)


def _is_old(modified: float) -> bool:
    return time.time() - modified > ORPHAN_SECONDS


def _has_content(path: str) -> bool:
    """True if a file was fetched; one that the system lost in a crash is empty."""
    try:
        return Path(path).stat().st_size > 0
    except OSError:
        return False


@contextmanager
def _saying(kind: type[Unreadable | Unwritable], location: str) -> Generator[None]:
    """Raise an error that names the address if a bucket refuses."""
    try:
        yield
    except StoreError as error:
        raise kind.at(location, error) from error
