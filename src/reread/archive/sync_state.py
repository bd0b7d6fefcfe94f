"""What the last run saw of each file, so that an unchanged file is not read again; it can be thrown away.

Each machine has a file of its own in the archive, because inodes of one machine mean nothing on another.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.atomic import write_atomic
from reread.disk.filenames import filename_for
from reread.disk.layout import ARCHIVE_MARK
from reread.disk.regular import open_regular

FOLDER = ARCHIVE_MARK
FORMAT = 1
COARSE_WINDOW, FINE_WINDOW = 2_000_000_000, 50_000_000
"""A file that changed so many nanoseconds ago may change again without a new time: on file systems that count whole
seconds, and on others."""


class SourceState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a file, including when its status changed: that shows a change with a time set back."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> SourceState:
        """Return the state in a stat result."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_that_of(self, status: os.stat_result) -> bool:
        """True if a stat result has this state."""
        return (
            self.changed == status.st_ctime_ns
            and self.modified == status.st_mtime_ns
            and self.size == status.st_size
            and self.inode == status.st_ino
            and self.device == status.st_dev
        )

    def is_settled(self) -> bool:
        """False if the file may change once more without this state showing it."""
        newest = max(self.modified, self.changed)
        window = COARSE_WINDOW if newest % 1_000_000_000 == 0 else FINE_WINDOW
        return time.time_ns() - newest > window


class KeptState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a kept file; without the inode, so that it may be copied."""

    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> KeptState:
        """Return the state in a stat result."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_that_of(self, status: os.stat_result) -> bool:
        """True if a stat result has this state."""
        return (
            self.changed == status.st_ctime_ns and self.modified == status.st_mtime_ns and self.size == status.st_size
        )


class SyncRow(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was last kept."""

    name: bytes
    """Its path in the archive; not all names are Unicode."""
    source: SourceState
    generation: int
    kept: KeptState
    written: float
    """When bytes were last added to the kept file."""
    repacked: bool = False


class _StateFile(msgspec.Struct, array_like=True):
    format: int
    rows: dict[bytes, SyncRow]


class SyncState:
    """The rows of this machine, by the path of the file."""

    def __init__(self, archive: Path, machine: str | None = None) -> None:
        self.path: Path = archive / FOLDER / (filename_for(machine or machine_name()) + ".state")
        self.rows: dict[bytes, SyncRow] = read_rows(self.path) or {}
        self._changed = False

    def get(self, path: str) -> SyncRow | None:
        """Return the row of a file; None if there is none."""
        return self.rows.get(os.fsencode(path))

    def put(self, path: str, row: SyncRow) -> None:
        """Set the row of a file."""
        self.rows[os.fsencode(path)] = row
        self._changed = True

    def drop(self, path: str) -> None:
        """Forget a file."""
        self._changed = self.rows.pop(os.fsencode(path), None) is not None or self._changed

    def drop_names(self, names: set[bytes]) -> None:
        """Forget the files that are kept under some names."""
        for path in [path for path, row in self.rows.items() if row.name in names]:
            del self.rows[path]
            self._changed = True

    def save(self) -> None:
        """Write the rows if one has changed."""
        if self._changed:
            data = msgspec.msgpack.encode(_StateFile(FORMAT, self.rows))
            write_atomic(self.path, [hashlib.sha256(data).digest(), data], sync=True)
            self._changed = False


def machine_name() -> str:
    """Return the name of this machine."""
    return platform.node() or "machine"


def read_rows(path: Path) -> dict[bytes, SyncRow] | None:
    """Return the rows in a file; None if it is missing, damaged or of another format."""
    try:
        with open_regular(path) as file:
            content = file.readall()
        digest, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != digest:
            return None
        found = msgspec.msgpack.decode(data, type=_StateFile)
    except (OSError, *jsontext.DECODE_ERRORS):
        return None
    return found.rows if found.format == FORMAT else None


def state_files(archive: Path) -> list[Path]:
    """Return the state files of all machines."""
    folder = archive / FOLDER
    return sorted(folder.glob("*.state")) if os.path.isdir(folder) else []
