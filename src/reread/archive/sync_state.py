"""The state of each file at the last run, so that an unchanged file is not read again; it can be thrown away.

Each machine has a file of its own in the archive, because inodes of one machine mean nothing on another.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.filenames import filename_for
from reread.disk.layout import ARCHIVE_MARK
from reread.storage.atomic import write_atomic
from reread.storage.kept_names import is_settled
from reread.storage.safe_open import open_plain

FOLDER = ARCHIVE_MARK
FORMAT = 1


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

    def is_settled(self) -> bool:
        """False if the file may change once more without this state showing it."""
        return is_settled(max(self.modified, self.changed))


class KeptState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a kept file; without the inode, so that it may be copied."""

    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> KeptState:
        """Return the state in a stat result."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


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
    earlier: tuple[int, ...] = ()
    """The generations that it was kept in before; of what 0.2 has kept, they are not known."""


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

    def save(self) -> None:
        """Write the rows if one has changed."""
        if self._changed:
            write_rows(self.path, self.rows)
            self._changed = False


def machine_name() -> str:
    """Return the name of this machine."""
    return platform.node() or "machine"


def read_rows(path: Path) -> dict[bytes, SyncRow] | None:
    """Return the rows in a file; None if it is missing, damaged or of another format."""
    try:
        with open_plain(path) as file:
            content = file.readall()
        digest, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != digest:
            return None
        found = msgspec.msgpack.decode(data, type=_StateFile)
    except (OSError, *jsontext.DECODE_ERRORS):
        return None
    return found.rows if found.format == FORMAT else None


def write_rows(path: Path, rows: dict[bytes, SyncRow]) -> None:
    """Write the rows of a machine."""
    data = msgspec.msgpack.encode(_StateFile(FORMAT, rows))
    write_atomic(path, [hashlib.sha256(data).digest(), data], sync=True)


def state_files(archive: Path) -> list[Path]:
    """Return the state files of all machines."""
    folder = archive / FOLDER
    return sorted(folder.glob("*.state")) if os.path.isdir(folder) else []
