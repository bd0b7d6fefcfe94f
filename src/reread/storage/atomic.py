"""Replace a file atomically: readers see the old content or the new, never a part.

What is not whole yet has a name of its own beside the file, and is locked by whoever writes it. The system lets go of
the lock when the process ends, however it ends: so an unfinished file that nobody holds was left by a process that was
killed, and whoever comes by removes it.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from reread.storage.lock import lock

TEMPORARY = ".reread-"
"""How the names of files begin that are not finished."""
UNFINISHED_SECONDS = 600.0
"""Where a lock cannot tell, an unfinished file that is older was left by a process that was killed."""
CAN_HOLD = os.name != "nt"
"""False where a file that is open cannot get another name, so that its lock ends before that."""
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class NewFile:
    """A file that gets its name when it is whole."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self._file = file

    def write(self, data: bytes) -> None:
        """Write all of the data."""
        self._file.write(data)

    def finish(self, *, sync: bool = False) -> None:
        """Write what is buffered, to disk if that is wanted."""
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())
        if not CAN_HOLD:
            self._file.close()


@contextmanager
def new_beside(target: Path, mode: int = 0o600) -> Generator[NewFile]:
    """Begin a file beside another, and remove it at the end unless it got another name."""
    path, descriptor = _begin(target, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield NewFile(path, file)
    finally:
        path.unlink(missing_ok=True)


def _begin(target: Path, mode: int, attempts: int = 3) -> tuple[Path, int]:
    path = temporary_beside(target)
    descriptor = os.open(path, _FLAGS, mode)
    if (lock(descriptor) and os.fstat(descriptor).st_nlink) or attempts == 1:
        return path, descriptor
    os.close(descriptor)  # whoever removes what is left was faster; or there are no locks here
    path.unlink(missing_ok=True)
    return _begin(target, mode, attempts - 1)


def temporary_beside(path: Path) -> Path:
    """Return a new name beside a file, for what is not finished."""
    return path.with_name(TEMPORARY + os.urandom(6).hex())


def remove_unfinished(folder: Path, *, below: bool = False) -> None:
    """Delete what killed processes left unfinished in a folder, or also everywhere below it."""
    for top, folders, names in os.walk(folder):
        for name in (*names, *folders):
            left = Path(top, name)
            if name.startswith(TEMPORARY):
                with suppress(OSError):
                    _remove_if_left(left)
        if not below:
            break


def _remove_if_left(path: Path) -> None:
    """Remove an unfinished file that nobody writes any more; whoever has just made it sees that it is gone."""
    status = path.lstat()
    if not (CAN_HOLD and stat.S_ISREG(status.st_mode)):
        if time.time() - status.st_mtime > UNFINISHED_SECONDS:
            (path.rmdir if stat.S_ISDIR(status.st_mode) else path.unlink)()
        return
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        if lock(descriptor):
            path.unlink()
    finally:
        os.close(descriptor)


def is_device(path: Path) -> bool:
    """True if there is something of this name that is no file, but a device or a pipe: nothing belongs beside it."""
    return os.path.exists(path) and not os.path.isfile(path)


def write_atomic(
    path: Path, pieces: Iterable[bytes], *, sync: bool = False, mode: int = 0o600, follow: bool = True
) -> None:
    """Write a file beside its final path and move it there; a device or pipe is written to directly.

    `sync` flushes the content to disk before the move. A new file gets the mode, as far as the umask allows. A link
    stays a link, and what it leads to is replaced; without `follow`, as for what only reread itself puts there, the
    link is.
    """
    target = Path(os.path.realpath(path)) if follow else path
    if follow and is_device(target):
        with target.open("wb") as file:
            file.writelines(pieces)
        return
    with new_beside(target, mode) as new:
        for piece in pieces:
            new.write(piece)
        new.finish(sync=sync)
        if follow and os.path.exists(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            new.path.chmod(stat.S_IMODE(target.stat().st_mode))
        new.path.replace(target)


def write_new(path: Path, pieces: Iterable[bytes], *, sync: bool = False) -> None:
    """Write a file unless there is one: if several processes do at once, the first one's counts."""
    with new_beside(path) as new:
        for piece in pieces:
            new.write(piece)
        new.finish(sync=sync)
        with suppress(FileExistsError):
            name_unless_taken(new.path, path)


def write_all(fd: int, data: bytes) -> None:
    """Write all of the data, in as many writes as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def name_unless_taken(temporary: Path, target: Path) -> None:
    """Give a file its name; raise FileExistsError if another one has it."""
    try:
        os.link(temporary, target)  # the only way that cannot overwrite
    except OSError as error:
        if error.errno == errno.EEXIST or os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        temporary.rename(target)  # a file system without hard links
