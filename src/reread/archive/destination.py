"""Where a run writes frames: into the kept files of a folder, or as objects into a bucket."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from reread.archive.kept_copy import (
    KeptCopy,
    NotSmaller,
    Write,
    appending,
    examine,
    new_file,
    repack,
    write_map,
)
from reread.disk.frames import BadFrame, ZstdFrame


class Destination(Protocol):
    """What a run does with a kept file, by the path of that file or of its stub."""

    def examine(self, path: str, generation: int) -> KeptCopy:
        """Return what is kept, without a tail that a killed run has left."""
        ...

    def append(self, copy: KeptCopy) -> AbstractContextManager[Write]:
        """Write after the frames of a copy; an exception leaves it as it was."""
        ...

    def create(self, path: str) -> AbstractContextManager[Write]:
        """Write the frames of a new file; an exception leaves nothing."""
        ...

    def finish(self, path: str, frames: Sequence[ZstdFrame], appended: int) -> None:
        """Say which frames a file has now; `appended` are known to be new, or 0."""
        ...

    def set_time(self, path: str, modified: int) -> None:
        """Say when the original was modified, in nanoseconds since 1970."""
        ...

    def repack(self, path: str, generation: int) -> None:
        """Pack a quiet file anew if that makes it smaller."""
        ...

    def save(self) -> None:
        """Make what was finished so far visible to others."""
        ...


class FolderDestination:
    """Kept files in a folder of this machine."""

    def examine(self, path: str, generation: int) -> KeptCopy:
        copy = examine(path, generation)
        if copy.damage or copy.doubt:
            return copy
        if copy.size != copy.packed_size:
            with appending(copy):
                pass
        if copy.map_is_behind:
            write_map(path, copy.frames)
        return copy._replace(
            size=copy.packed_size, map_is_right=copy.map_is_right or copy.map_is_behind, map_is_behind=False
        )

    def append(self, copy: KeptCopy) -> AbstractContextManager[Write]:
        return appending(copy)

    def create(self, path: str) -> AbstractContextManager[Write]:
        return new_file(path)

    def finish(self, path: str, frames: Sequence[ZstdFrame], appended: int) -> None:
        write_map(path, frames, appended=appended)

    def set_time(self, path: str, modified: int) -> None:
        os.utime(path, ns=(modified, modified))

    def repack(self, path: str, generation: int) -> None:
        copy = examine(path, generation)
        if copy.frames and copy.map_is_right and copy.size == copy.packed_size:
            with suppress(NotSmaller, BadFrame):
                repack(copy)

    def save(self) -> None:
        return
