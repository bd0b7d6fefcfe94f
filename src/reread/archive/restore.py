"""Write kept files back: the same bytes under the same names, and never over another file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from reread.errors import Misuse, Unwritable
from reread.storage.atomic import name_unless_taken, new_beside
from reread.storage.frames import BadFrame, read_frames
from reread.storage.kept_copy import examine
from reread.storage.kept_file import opened
from reread.storage.safe_open import make_private_folder


class KeptVersion(msgspec.Struct, frozen=True):
    """One generation of a kept file."""

    path: str
    """The kept file."""
    name: str
    """The path of the original, below Claude Code's folder."""
    generation: int


class RestoredFile(msgspec.Struct, frozen=True):
    """A file that was written back, or could not be."""

    path: str
    size: int
    generation: int
    damage: str = ""
    """Why it could not be."""


def restore(
    versions: Iterable[KeptVersion], folder: Path, progress: Callable[[int], None] | None = None
) -> list[RestoredFile]:
    """Write files below a folder; raise Misuse, and write nothing, if one of them exists."""
    todo = [(version, folder / version.name) for version in versions]
    there = [str(target) for _, target in todo if os.path.lexists(target)]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise Misuse(f"{there[0]}{more} already exists; nothing is overwritten: use an empty folder.")
    try:
        return [_restore_one(version, target, progress) for version, target in todo]
    except OSError as error:
        raise Unwritable.at(error.filename or folder, error) from error


def _restore_one(version: KeptVersion, target: Path, progress: Callable[[int], None] | None) -> RestoredFile:
    try:
        copy = examine(version.path, version.generation)
    except OSError as error:
        return RestoredFile(str(target), 0, version.generation, error.strerror or str(error))
    if copy.damage or copy.doubt:
        return RestoredFile(str(target), 0, version.generation, copy.damage or copy.doubt)
    make_private_folder(target.parent)
    try:
        with opened(version.path) as (read, status), new_beside(target) as new:
            for raw, _ in read_frames(read, copy.packed_size):
                new.write(raw)
                if progress is not None:
                    progress(len(raw))
            new.finish(sync=True)
            os.utime(new.path, ns=(status.st_atime_ns, status.st_mtime_ns))
            name_unless_taken(new.path, target)
    except BadFrame as error:
        return RestoredFile(str(target), 0, version.generation, str(error))
    return RestoredFile(str(target), copy.raw_size, version.generation)
