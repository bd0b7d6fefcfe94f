"""The engine's files: which of them the last commit consists of, and whether they are as they were written.

The engine does not compare checksums when it opens a file: a bit that changed on the disk would lose hits, and nobody
would know. So the checksum of each file is noted when it is first seen, just after its commit; a file never changes.
"""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.cache import FileState
from reread.storage.atomic import write_atomic
from reread.storage.safe_open import LARGEST_SETTINGS, PRIVATE_FILE, own_reader, read_own, read_settings

META = "meta.json"
CHECKED = "checksums"
"""The file with the checksums of the others, and when they were right."""
CHECK_SECONDS = 86_400.0
"""A file that did not change since it was intact is read again after so long."""
CHUNK = 1 << 20


class Deletes(msgspec.Struct):
    """How many documents of a segment were deleted, and the commit that did it."""

    num_deleted_docs: int
    opstamp: int


class Segment(msgspec.Struct):
    """A part of the index that is never changed, except that documents in it are marked as deleted."""

    segment_id: str
    max_doc: int
    deletes: Deletes | None = None


class _Meta(msgspec.Struct):
    segments: list[Segment]


CheckedFiles = dict[str, tuple[int, FileState, float]]
"""The checksums of files by name, the states in which they were last right, and when that was."""


def read_segments(folder: Path) -> dict[str, Segment] | None:
    """Return the segments of the last commit, by what the names of their files begin with; None if unreadable."""
    try:
        meta = msgspec.json.decode(read_settings(folder / META), type=_Meta)
    except (OSError, *jsontext.DECODE_ERRORS):
        return None
    return {segment.segment_id.replace("-", ""): segment for segment in meta.segments}


def deleted_share(folder: Path, fewest: int) -> float:
    """Return which part of the documents was deleted since it was written; 0 if there are fewer than `fewest`."""
    segments = (read_segments(folder) or {}).values()
    written = sum(segment.max_doc for segment in segments)
    deleted = sum(segment.deletes.num_deleted_docs for segment in segments if segment.deletes is not None)
    return deleted / written if written >= fewest else 0.0


def remove_orphans(folder: Path) -> None:
    """Delete files that no segment of the last commit needs: a process that was killed leaves some behind."""
    segments = read_segments(folder)
    if segments is None:
        return
    with suppress(OSError):
        for path in folder.iterdir():
            if len(path.name.partition(".")[0]) == 32 and not _is_needed(path.name, segments):
                with suppress(OSError):  # Windows keeps files that a reader has open
                    path.unlink()


def make_private(folder: Path) -> None:
    """Let only the owner read the files, which the engine creates as the umask says."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.stat().st_mode & 0o077:
                path.chmod(PRIVATE_FILE)


def _is_needed(name: str, segments: dict[str, Segment]) -> bool:
    """True if a file belongs to a segment.

    A list of deleted documents counts only as of the last commit: one that was written just before a kill would make
    every later commit fail.
    """
    stem, _, suffix = name.partition(".")
    if stem not in segments:
        return False
    deletes = segments[stem].deletes
    return not suffix.endswith(".del") or (deletes is not None and suffix == f"{deletes.opstamp}.del")


def damaged_file(folder: Path) -> str | None:
    """Return the name of a file of the last commit that is not as it was written; None if there is none.

    A file is read if it changed, or was not read for a day.
    """
    segments = read_segments(folder) or {}
    known, now = _read_checked(folder), time.time()
    checked: CheckedFiles = {}
    for name in os.listdir(folder):  # noqa: PTH208
        if not _is_needed(name, segments):
            continue
        with suppress(FileNotFoundError):  # another process has just merged the segment into another
            state = FileState.at(folder / name)
            last = known.get(name)
            if last is None or last[1] != state or not 0 <= now - last[2] < CHECK_SECONDS:
                found = _checksum(folder / name)
                if last is not None and last[0] != found:
                    return name
                last = (found, state, now)
            checked[name] = last
    if checked != known:
        with suppress(OSError):
            write_atomic(folder / CHECKED, [msgspec.msgpack.encode(checked)], follow=False)
    return None


def _read_checked(folder: Path) -> CheckedFiles:
    try:
        return msgspec.msgpack.decode(read_own(folder / CHECKED, LARGEST_SETTINGS), type=CheckedFiles)
    except (OSError, *jsontext.DECODE_ERRORS):
        return {}


def _checksum(path: Path) -> int:
    checksum = 0
    with own_reader(path) as file:
        while piece := file.read(CHUNK):
            checksum = zlib.crc32(piece, checksum)
    return checksum
