"""A folder as a byte store; its files can also be written piece by piece, and get their names later."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from reread.errors import Unwritable
from reread.storage.atomic import name_unless_taken, write_atomic
from reread.storage.byte_store import TEMPORARY, ObjectState
from reread.storage.lock import lock
from reread.storage.safe_open import make_private_folder, open_descriptor, open_plain, read_settings


class FolderStore:
    """The files below a folder; what is created is private."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._staged: dict[str, Path] = {}
        """The temporary files by the names that they will have."""

    def list(self, below: str) -> Sequence[ObjectState]:
        return sorted(self._walk(below))

    def _walk(self, below: str) -> Iterator[ObjectState]:
        try:
            entries = [*os.scandir(self.folder / below)]
        except OSError:
            return
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(name)
                else:
                    status = entry.stat(follow_symlinks=False)
                    yield ObjectState(name, status.st_size, status.st_mtime_ns)
            except FileNotFoundError:  # deleted since
                continue

    def folders(self, below: str) -> Sequence[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self.folder / below) if entry.is_dir())
        except FileNotFoundError:
            return ()

    def stat(self, names: Iterable[str]) -> dict[str, ObjectState]:
        found: dict[str, ObjectState] = {}
        for name in names:
            try:
                status = os.stat(self.folder / name)  # noqa: PTH116
            except (FileNotFoundError, NotADirectoryError):
                continue
            found[name] = ObjectState(name, status.st_size, status.st_mtime_ns)
        return found

    def read(self, name: str, offset: int, length: int) -> bytes:
        with open_plain(self.folder / name) as file:
            file.seek(offset)
            return file.read(length)

    def read_whole(self, name: str, largest: int) -> bytes:
        return read_settings(self.folder / name, largest)

    def put_whole(self, name: str, pieces: Iterable[bytes]) -> None:
        path = self.folder / name
        make_private_folder(path.parent)
        write_atomic(path, pieces, sync=True)

    def create(self, name: str, data: bytes) -> bool:
        path = self.folder / name
        temporary = self._temporary(path)
        write_atomic(temporary, [data], sync=True)
        try:
            name_unless_taken(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        return True

    def delete(self, name: str) -> None:
        self._staged.pop(name, self.folder / name).unlink()

    def location(self, name: str) -> str:
        return str(self.folder / name)

    def close(self) -> None:
        """Do nothing: no file is kept open."""

    def open(self, name: str) -> IO[bytes]:
        """Open a regular file for reading at any offset; it stays readable if it is deleted."""
        return open_plain(self.folder / name)  # pyright: ignore[reportReturnType]

    def stage(self, name: str) -> IO[bytes]:
        """Open a new file for writing; `publish` gives it its name, `delete` removes it."""
        self._staged[name] = temporary = self._temporary(self.folder / name)
        return os.fdopen(open_descriptor(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")

    def publish(self, name: str) -> None:
        """Give a file that was written its name."""
        self._staged[name].replace(self.folder / name)
        del self._staged[name]

    @contextmanager
    def locked(self, name: str, wait: float) -> Generator[bool]:
        """Hold the lock of a name; yield False if another process does not let go of it within the wait."""
        path = self.folder / name
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
        return path.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")
