"""Open regular files only: a pipe or a device could be read forever, or keep whoever opens it waiting.

Every file that others may have put there is opened here. Folders and files of reread's own are made private, and what
another user put in their place is not used.
"""

from __future__ import annotations

import errno
import io
import os
import stat

TYPE_CHECKING = False  # the status line starts without what loading types takes
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
LARGEST_SETTINGS = 1 << 24
"""A file of settings or metadata with more bytes is not read."""
_CALM = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
"""Flags of every opening: nothing waits, and no process that is started has the file open, too."""
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)

_KINDS: tuple[tuple[Callable[[int], bool], int, str], ...] = (
    (stat.S_ISDIR, errno.EISDIR, "it is a folder; name a .jsonl file in it, or run `reread check` on the folder"),
    (stat.S_ISFIFO, errno.ESPIPE, "it is a pipe; pass it as standard input, as in `reread show - < FILE`"),
    (lambda mode: not stat.S_ISREG(mode), errno.ENODEV, "it is a device or a socket; name a file"),
)
"""Files that cannot be read at any offset, and what to do instead."""


class NotRegular(OSError):
    """A file that is not a regular one."""


def check_regular(mode: int, path: str | Path) -> None:
    """Raise NotRegular unless the mode is that of a regular file."""
    for matches, code, reason in _KINDS:
        if matches(mode):
            raise NotRegular(code, reason, str(path))


def open_descriptor(path: str | Path, flags: int = os.O_RDONLY, mode: int = PRIVATE_FILE) -> int:
    """Open a regular file and return its descriptor; a new one is private."""
    if os.path.exists(path):
        check_regular(os.stat(path).st_mode, path)  # noqa: PTH116
    descriptor = os.open(path, flags | _CALM, mode)
    try:
        check_regular(os.fstat(descriptor).st_mode, path)  # it may have been replaced since
    except NotRegular:
        os.close(descriptor)
        raise
    return descriptor


def open_plain(path: str | Path) -> io.FileIO:
    """Open a regular file for reading, without a buffer."""
    return io.FileIO(open_descriptor(path), "rb")


def open_no_link(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """Open a file that must not be a link; nothing waits for a pipe."""
    return os.open(path, flags | _CALM | _NO_LINK, PRIVATE_FILE)


def open_own(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """Open a file that only this user can have put there and return its descriptor; raise NotRegular for others."""
    try:
        descriptor = open_descriptor(path, flags | _NO_LINK)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise NotRegular(error.errno, "it is a link", str(path)) from error
        raise
    if not is_own(os.fstat(descriptor)):
        os.close(descriptor)
        raise NotRegular(errno.EPERM, "it belongs to another user", str(path))
    return descriptor


def is_own(status: os.stat_result) -> bool:
    """True if a file or folder belongs to this user."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def own_reader(path: str | Path) -> io.FileIO:
    """Open a file of reread's own to read it."""
    return io.FileIO(open_own(path), "rb")


def read_own(path: str | Path, largest: int) -> bytes:
    """Return the content of a file that only this user can have put there; raise OSError if it is larger."""
    with own_reader(path) as file:
        return _read_bounded(file, largest, path)


def _read_bounded(file: io.FileIO, largest: int, path: str | Path) -> bytes:
    size = os.fstat(file.fileno()).st_size
    if size > largest:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return file.read(size)


def read_settings(path: str | Path, largest: int = LARGEST_SETTINGS) -> bytes:
    """Return the content of a small file; raise OSError if it is larger."""
    try:
        with open_plain(path) as file:
            return _read_bounded(file, largest, path)
    except NotRegular as error:  # nobody can pass settings as standard input
        raise NotRegular(error.errno, "it is not a regular file; move it away", str(path)) from None


def make_own_folder(folder: str | Path) -> None:
    """Create a private folder, or check that it belongs to this user; raise OSError if it does not."""
    make_private_folder(folder)
    if not is_own(os.stat(folder)):  # noqa: PTH116
        raise PermissionError(errno.EPERM, "it belongs to another user", str(folder))


def make_private_folder(folder: str | Path) -> None:
    """Create a folder that only its owner can enter, and those above it that are missing."""
    missing: list[str | Path] = []
    while not os.path.isdir(folder):
        missing.append(folder)
        above = os.path.dirname(folder) or os.curdir  # noqa: PTH120
        if above == folder:  # not even that is there: a drive, or the folder that one is in
            break
        folder = above
    for one in reversed(missing):
        try:
            os.mkdir(one, PRIVATE_FOLDER)  # noqa: PTH102
        except FileExistsError:
            if not os.path.isdir(one):  # else another process was faster
                raise
