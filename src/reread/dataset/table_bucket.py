"""Tables in a bucket: files are written here and then put as a whole, and fetched once, because they never change."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Collection, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO

from reread.dataset.place import LOCK, LocalPlace, TablePlace
from reread.disk.object_store import ObjectStore, StoreError
from reread.disk.user_paths import bucket_folder_name, bucket_url, cache_folder, is_bucket_url
from reread.errors import Unreadable, Unwritable

FOLDER = "tables"
ORPHAN_SECONDS = 24 * 3600.0
"""A file that no manifest names is deleted at this age: a writer that is still at work has put it, or was killed."""
CLAIM = ".claim-"
CLAIM_SECONDS = 30.0
"""An older claim is that of a writer that was killed."""
CLAIM_WAIT = 90.0
"""How long to wait for the claims of others."""
CHUNK = 8 << 20
FETCHES = 8
"""How many files are fetched at once."""


def table_place(folder: str | Path) -> TablePlace:
    """Return the place that a person names: a folder or the address of one in a bucket."""
    return TableBucket(bucket_url(folder)) if is_bucket_url(folder) else LocalPlace(folder)


class TableBucket:
    """A folder of tables in a bucket; the files that were fetched, or not put yet, are in the cache of this machine."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store = ObjectStore(url)
        self._can_delete = True
        self._here = LocalPlace(cache_folder() / FOLDER / bucket_folder_name(url))
        with _reading(url):
            self._store.require()

    def names(self, below: str) -> Iterator[str]:
        """Yield the names of all objects below a folder."""
        with _reading(self.location(below)):
            yield from [found.name for found in self._store.objects(below)]

    def read(self, name: str) -> bytes:
        """Return an object; raise FileNotFoundError if there is none."""
        with _reading(self.location(name)):
            return self._store.read(name)

    def open(self, name: str) -> IO[bytes]:
        """Fetch a file and open it; it stays readable if it is deleted."""
        self.fetch([name])
        return self._here.open(name)

    def create(self, name: str, data: bytes) -> bool:
        """Put a small object, and return True; False if there is one with this name.

        pyarrow cannot put an object on the condition that there is none. So a writer puts a claim first, and then looks
        for other claims: of two writers, at least the later one sees the other's, and gives way.
        """
        claim = f"{name}{CLAIM}{secrets.token_hex(8)}"
        end = time.monotonic() + CLAIM_WAIT
        with _writing(self.location(name)):
            while time.monotonic() < end:
                try:
                    self._store.write(claim, b"claim")
                    if not self._has_rivals(name, claim):
                        if self._store.states([name]):
                            return False
                        self._store.write(name, data)
                        return True
                finally:
                    self._drop(claim)
                time.sleep(random.uniform(0.1, 1.0))
        return False

    def _has_rivals(self, name: str, claim: str) -> bool:
        """True if others claim a name; claims of writers that were killed are deleted."""
        claims = {
            state.name: state.modified
            for state in self._store.objects(name.rpartition("/")[0])
            if CLAIM in state.name.rpartition("/")[2]
        }
        now = claims.pop(claim, None)  # by the clock of the store
        if now is None:
            return True
        old = {other for other, modified in claims.items() if now - modified > CLAIM_SECONDS * 1e9}
        for other in old:
            self._drop(other)
        return any(other.startswith(name + CLAIM) for other in claims.keys() - old)

    def write(self, name: str) -> IO[bytes]:
        """Open a new file for writing; `publish` puts it."""
        return self._here.write(name)

    def publish(self, name: str) -> None:
        """Put a file that was written; it is as if it were fetched."""
        self._here.publish(name)
        with _writing(self.location(name)), self._here.open(name) as file:
            self._store.write_pieces(name, iter(lambda: file.read(CHUNK), b""))

    def delete(self, name: str) -> None:
        """Delete a file if it is there and nothing prevents it."""
        self._here.delete(name)
        self._drop(name)

    def _drop(self, name: str) -> None:
        """Delete an object, unless that failed before: without a connection it would take long, again and again."""
        try:
            if self._can_delete:
                self._store.delete(name)
        except FileNotFoundError:
            pass
        except StoreError:
            self._can_delete = False

    def sweep(self, below: str, named: Collection[str]) -> set[str]:
        """Delete files that no manifest names and that are old; return the names of all."""
        with _reading(self.location(below)):
            found = self._store.objects(below)
        for state in found:
            if state.name not in named and _is_old(state.modified / 1e9):
                self.delete(state.name)
        return {state.name for state in found}

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch the files that are not here yet; raise FileNotFoundError if one is gone."""
        missing = [name for name in names if not _has_content(self.path(name))]
        with _reading(self.url), ThreadPoolExecutor(FETCHES) as pool:
            for _ in pool.map(self._fetch, missing):
                pass

    def _fetch(self, name: str) -> None:
        source, offset = self._store.open(name), 0
        try:
            with self._here.write(name) as file:
                while piece := source.read_at(offset, CHUNK):
                    file.write(piece)
                    offset += len(piece)
            self._here.publish(name)
        except BaseException:
            self._here.delete(name)
            raise

    def forget(self, named: Iterable[str]) -> None:
        """Delete old copies on this machine of files that are not named any more."""
        kept = frozenset(named)
        for name in self._here.names(""):
            with suppress(OSError):  # another process has deleted it
                if name not in kept and not name.startswith(LOCK) and _is_old(Path(self.path(name)).stat().st_mtime):
                    self._here.delete(name)

    def path(self, name: str) -> str:
        """Return the path of a file that was fetched."""
        return self._here.path(name)

    def location(self, name: str) -> str:
        """Return the address of a file."""
        return f"{self.url}/{name}" if name else self.url

    def locked(self, machine: str, wait: float) -> AbstractContextManager[bool]:
        """Be the only writer on this machine; one elsewhere that has the same name is noticed by `create`."""
        return self._here.locked(machine, wait)


def _is_old(modified: float) -> bool:
    return time.time() - modified > ORPHAN_SECONDS


def _has_content(path: str) -> bool:
    """True if a file was fetched; one that the system lost in a crash is empty."""
    try:
        return Path(path).stat().st_size > 0
    except OSError:
        return False


@contextmanager
def _reading(location: str) -> Generator[None]:
    try:
        yield
    except StoreError as error:
        raise Unreadable.at(location, error) from error


@contextmanager
def _writing(location: str) -> Generator[None]:
    try:
        yield
    except StoreError as error:
        raise Unwritable.at(location, error) from error
