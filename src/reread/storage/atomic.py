"""Replace a file atomically: readers see the old content or the new, never a part."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".reread-"
"""How the names of files begin that are not finished."""
UNFINISHED_SECONDS = 600.0
"""An unfinished file that is older was left by a process that was killed."""
_BINARY = getattr(os, "O_BINARY", 0)


def temporary_beside(path: Path) -> Path:
    """Return a new name beside a file, for what is not finished."""
    return path.with_name(TEMPORARY + os.urandom(6).hex())


def remove_unfinished(folder: Path) -> None:
    """Delete what killed processes left unfinished in a folder."""
    for left in folder.glob(f"{TEMPORARY}*"):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > UNFINISHED_SECONDS:
                (left.rmdir if left.is_dir() else left.unlink)()


def write_atomic(path: Path, pieces: Iterable[bytes], *, sync: bool = False, mode: int = 0o600) -> None:
    """Write a file beside its final path and move it there; a device or pipe is written to directly.

    `sync` flushes the content to disk before the move. A new file gets the mode, as far as the umask allows.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if os.path.exists(target) and not os.path.isfile(target):
        with target.open("wb") as file:
            file.writelines(pieces)
        return
    temporary = temporary_beside(target)
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode), "wb") as file:
            file.writelines(pieces)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if os.path.exists(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_new(path: Path, pieces: Iterable[bytes], *, sync: bool = False, mode: int = 0o600) -> None:
    """Write a file unless there is one: if several processes do at once, the first one's counts."""
    temporary = temporary_beside(path)
    write_atomic(temporary, pieces, sync=sync, mode=mode)
    try:
        with suppress(FileExistsError):
            name_unless_taken(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


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
