"""A folder with the files of tables, which appear whole or not at all, and never change."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from reread.disk.atomic import write_atomic
from reread.disk.layout import expand_path
from reread.disk.lock import lock
from reread.disk.regular import NotRegular, make_private_folder, open_descriptor, open_regular, read_settings
from reread.errors import Unreadable, Unwritable

TEMPORARY = ".tmp-"
"""How the name of a file begins that is being written."""
LOCK = "_reread/lock-"
LARGEST_SMALL = 1 << 28
"""Bytes that a manifest may have: that of a million transcripts is smaller."""


class TablePlace(Protocol):
    """A folder, or something like one, such as a bucket."""

    def names(self, below: str) -> Iterator[str]:
        """Yield the names of all files below a folder, temporary ones included."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a small file; raise FileNotFoundError if there is none."""
        ...

    def open(self, name: str) -> IO[bytes]:
        """Open a regular file for reading at any offset, else raise Unreadable; it stays readable if it is deleted."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file, and return True; False if there is one with this name."""
        ...

    def write(self, name: str) -> IO[bytes]:
        """Open a new file for writing; `publish` gives it its name."""
        ...

    def publish(self, name: str) -> None:
        """Give a file that was written its name."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file if it is there and nothing prevents it."""
        ...

    def sweep(self, below: str, named: Collection[str]) -> set[str]:
        """Delete what writers that were killed left below a folder: files that are not named, and that nobody writes.

        Return the names of all files that it found, by the writer that `locked` let in.
        """
        ...

    def fetch(self, names: Iterable[str]) -> None:
        """Bring files to this machine, for engines that read them; raise FileNotFoundError if one is gone."""
        ...

    def forget(self, named: Iterable[str]) -> None:
        """Delete what was fetched a while ago and is not named any more."""
        ...

    def path(self, name: str) -> str:
        """Return the path of a file that was fetched."""
        ...

    def location(self, name: str) -> str:
        """Return the path or address of a file, as a person names it."""
        ...

    def locked(self, machine: str, wait: float) -> AbstractContextManager[bool]:
        """Be the only writer for a machine for a while; False if another one is, and does not end within the wait."""
        ...


class LocalPlace:
    """A folder of this machine."""

    def __init__(self, folder: str | Path) -> None:
        self.folder: Path = expand_path(folder).absolute()
        self._written: dict[str, Path] = {}
        """The temporary files by the names that they will have."""

    def names(self, below: str) -> Iterator[str]:
        """Yield the names of all files below a folder, temporary ones included."""
        for folder, _, files in os.walk(self.folder / below):
            inner = Path(folder).relative_to(self.folder).as_posix()
            yield from (f"{inner}/{file}" for file in files)

    def read(self, name: str) -> bytes:
        """Return the content of a small file; raise FileNotFoundError if there is none."""
        return read_settings(self.folder / name, LARGEST_SMALL)

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading at any offset; it stays readable if it is deleted."""
        try:
            return open_regular(self.folder / name)  # pyright: ignore[reportReturnType]
        except NotRegular as error:
            raise Unreadable.at(self.folder / name, error) from error

    def create(self, name: str, data: bytes) -> bool:
        """Write a small file, and return True; False if there is one with this name."""
        path = self.folder / name
        temporary = self._temporary(path)
        write_atomic(temporary, [data], sync=True)
        try:
            os.link(temporary, path)  # unlike a rename, it replaces nothing
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                return False
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        return True

    def write(self, name: str) -> IO[bytes]:
        """Open a new file for writing; `publish` gives it its name."""
        path = self.folder / name
        self._written[name] = temporary = self._temporary(path)
        return os.fdopen(open_descriptor(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")

    def publish(self, name: str) -> None:
        """Give a file that was written its name."""
        self._written[name].replace(self.folder / name)
        del self._written[name]

    def delete(self, name: str) -> None:
        """Delete a file if it is there and nothing prevents it."""
        path = self._written.pop(name, self.folder / name)
        with suppress(OSError):  # on Windows, a reader may still have it open; a later writer deletes it
            path.unlink()

    def sweep(self, below: str, named: Collection[str]) -> set[str]:
        """Delete all files below a folder that are not named, for nobody else writes now."""
        found = set(self.names(below))
        for name in found.difference(named):
            self.delete(name)
        return found

    def fetch(self, names: Iterable[str]) -> None:
        """Do nothing: the files are here."""

    def forget(self, named: Iterable[str]) -> None:
        """Do nothing: these are no copies."""

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.folder / name)

    def location(self, name: str) -> str:
        """Return the path of a file."""
        return self.path(name)

    @contextmanager
    def locked(self, machine: str, wait: float) -> Generator[bool]:
        """Be the only writer for a machine for a while; False if another one is, and does not end within the wait."""
        path = self.folder / f"{LOCK}{machine}"
        try:
            make_private_folder(path.parent)
            descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise Unwritable.at(path, error) from error
        try:
            yield lock(descriptor, wait=wait)
        finally:
            os.close(descriptor)

    def _temporary(self, path: Path) -> Path:
        make_private_folder(path.parent)
        return path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
