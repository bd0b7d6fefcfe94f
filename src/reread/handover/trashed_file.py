"""A file that is deleted: as it was, whether it still is, and its removal."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.handover.placement import put
from reread.storage.safe_open import open_no_link

CHUNK = 1 << 20


class TrashedFile(msgspec.Struct):
    """A file as it was."""

    path: str
    size: int
    mode: int
    modified: int
    """Nanoseconds since 1970."""
    sha256: str = ""
    link: str | None = None
    """Where it led, if it was a link."""
    edited: str = ""
    """The SHA-256 of what was left in its place, if only a part was taken out."""
    identity: tuple[int, int, int] = (0, 0, 0)
    """Its device, inode and time of change: one that was put back is another file, though its bytes are the same.

    The time is 0 if it has other names, because it changes when one of them is removed."""


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    for piece in pieces_of(path):
        found.update(piece)
    return found.hexdigest()


def pieces_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file that is no link."""
    with os.fdopen(open_no_link(path), "rb", buffering=0) as file:
        while data := file.read(CHUNK):
            yield data


def file_now(path: Path) -> TrashedFile:
    """Return a file as it is now."""
    status = os.lstat(path)
    mode, modified = stat.S_IMODE(status.st_mode), status.st_mtime_ns
    identity = (status.st_dev, status.st_ino, status.st_ctime_ns if status.st_nlink == 1 else 0)
    if stat.S_ISLNK(status.st_mode):
        return TrashedFile(str(path), 0, mode, modified, link=str(path.readlink()), identity=identity)
    return TrashedFile(str(path), status.st_size, mode, modified, file_hash(path), identity=identity)


def is_unchanged(file: TrashedFile) -> bool:
    """True if a file has the bytes that it had when it was found."""
    try:
        now = file_now(Path(file.path))
    except OSError:
        return False
    return (now.sha256, now.link) == (file.sha256, file.link)


def is_untouched(file: TrashedFile) -> bool:
    """True if a file is the very one that was found, and nobody has written to it since."""
    try:
        status = os.lstat(file.path)
    except OSError:
        return False
    *same, changed = file.identity
    return [status.st_dev, status.st_ino] == same and changed in (0, status.st_ctime_ns) and is_unchanged(file)


def begins_with(file: TrashedFile) -> bool:
    """True if what is there begins with the bytes that a file had; what a session appends to goes on so."""
    if file.link is not None:
        return is_unchanged(file)
    found, left = hashlib.sha256(), file.size
    with suppress(FileNotFoundError):
        for piece in pieces_of(Path(file.path)):
            found.update(piece[:left])
            left -= min(left, len(piece))
    return not left and found.hexdigest() == file.sha256


def remove(file: TrashedFile) -> bool:
    """Remove a file; put it back, and return False, if it was written to after it was looked at."""
    path = Path(file.path)
    if file.link is not None or os.name == "nt":  # there, nobody can remove a file that another program has open
        path.unlink()
        return True
    with os.fdopen(open_no_link(path), "rb", buffering=0) as opened:
        path.unlink()
        now = os.fstat(opened.fileno())
        if (now.st_ino, now.st_size, now.st_mtime_ns) == (file.identity[1], file.size, file.modified):
            return True
        put(iter(lambda: opened.read(CHUNK), b""), path, mode=file.mode, modified=now.st_mtime_ns)
    return False
