"""How far a stream has read each file of a folder. An offset is JSON: folder, name of the file, then a `FileOffset`.

An offset names files that are there; one that is gone leaves it. So its size is bounded by the folder: about 60 bytes a
file. Only whole lines are read: a file ends for a stream with its last line end.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from reread.addons.spark.files import transcripts_below
from reread.disk.cache import FileState
from reread.disk.derived_cache import proof_at
from reread.disk.layout import expand_path
from reread.disk.sources import FileSource
from reread.errors import RereadError, Unreadable
from reread.records.lines import ReadAt

Offset = dict[str, dict[str, str]]
"""By folder below the root and name of the file: how far it was read."""
CHUNK = 1 << 18


class FileOffset(NamedTuple):
    """How far a file was read, and which content that was."""

    size: int = 0
    """Bytes, up to the end of a line."""
    generation: int = 0
    """How often other content took the place of what had been read."""
    proof: str = ""
    """A checksum of the last bytes that were read."""

    def __str__(self) -> str:
        return f"{self.size}.{self.generation}.{self.proof}"

    @classmethod
    def parse(cls, text: str) -> FileOffset:
        """Return what `str` wrote."""
        size, generation, proof = text.split(".")
        return cls(int(size), int(generation), proof)

    def is_in(self, read: ReadAt) -> bool:
        """True if a file still has the content that was read."""
        return proof_of(read, self.size) == self.proof


def proof_of(read: ReadAt, size: int) -> str:
    """Return a checksum of the bytes before an offset; another one if the file is shorter."""
    proof = proof_at(read, size)
    return f"{zlib.crc32(proof):08x}" if proof or not size else "short"


class FileRewritten(Unreadable):
    """Other content took the place of what a stream has read."""


class FolderProgress:
    """The news in a folder since an offset."""

    def __init__(self, root: str, *, fail_on_loss: bool = False) -> None:
        self.root: str = root
        self.fail_on_loss: bool = fail_on_loss
        """True if content that is gone or was replaced before it was read is an error, rather than a warning."""
        self._seen: dict[str, FileState] = {}
        """The state in which each file was looked at last: if it is the same, so is the content."""
        self._last: dict[str, int] | None = None
        """The sizes beyond which nothing is read; None if everything is."""

    def stop_here(self) -> None:
        """Read nothing that is written from now on."""
        self._last = {path: state.size for path, state in transcripts_below(self.root).states.items()}

    def latest(self, start: Offset, most: int | None = None) -> Offset:
        """Return how far one can read now; with `most`, at most about so many bytes further, but a whole line."""
        known = {name: FileOffset.parse(text) for name, text in _by_name(start).items()}
        top, left, out = self.top, most, dict[str, FileOffset]()
        states = transcripts_below(self.root).states
        for path, state in sorted(states.items(), key=lambda item: (item[1].modified, item[0])):
            name = os.path.relpath(path, top)
            before = known.get(name, FileOffset())
            try:
                after = self._advance(path, state, before, left, is_first=left == most)
            except FileRewritten:
                raise
            except (RereadError, OSError):  # it vanished, or cannot be read now: the next time tells
                after = before
            if left is not None:
                left = max(0, left - after.size + (before.size if after.generation == before.generation else 0))
            if after.size or name in known:
                out[name] = after
        for name, before in known.items():
            if name not in out and not _is_gone(top / name):
                out[name] = before
        return _nested(out)

    @property
    def top(self) -> Path:
        """The folder to which names are relative."""
        path = expand_path(self.root).absolute()
        return path.parent if path.is_file() else path

    def _advance(
        self, path: str, state: FileState, before: FileOffset, most: int | None, *, is_first: bool
    ) -> FileOffset:
        """Return how far a file can be read; if it is the first of a batch, a line may be longer than `most`."""
        size = state.size if self._last is None else min(state.size, self._last.get(path, 0))
        if size == before.size and self._seen.get(path) == state:
            return before
        read = FileSource(Path(path)).read
        if before.size and (state.size < before.size or not before.is_in(read)):
            self._tell_loss(f"{path} was rewritten after {before.size} of its bytes were read")
            before = FileOffset(0, before.generation + 1, proof_of(read, 0))
        self._seen[path] = state
        if size <= before.size or most == 0:
            return before
        end = size if most is None else min(size, before.size + most)
        found = last_line_end(read, before.size, end)
        if found == before.size and end < size and is_first:
            found = next_line_end(read, end, size) or before.size
        return before._replace(size=found, proof=proof_of(read, found)) if found > before.size else before

    def _tell_loss(self, what: str) -> None:
        if self.fail_on_loss:
            raise FileRewritten(f"{what}; set failOnDataLoss to false to read it from its start.")
        print(f"reread: {what}; it is read from its start", file=sys.stderr)


def new_ranges(start: Offset, end: Offset) -> dict[str, tuple[int, FileOffset]]:
    """Return what is to be read between two offsets: for each file, from which byte, and up to where."""
    before, out = _by_name(start), dict[str, tuple[int, FileOffset]]()
    for name, text in _by_name(end).items():
        after = FileOffset.parse(text)
        known = FileOffset.parse(before[name]) if name in before else FileOffset()
        first = known.size if known.generation == after.generation else 0
        if first < after.size:
            out[name] = (first, after)
    return out


def last_line_end(read: ReadAt, start: int, end: int) -> int:
    """Return where the last whole line between two offsets ends; the first of them if there is none."""
    while end > start:
        at = max(start, end - CHUNK)
        found = read(at, end - at).rfind(b"\n")
        if found >= 0:
            return at + found + 1
        end = at
    return start


def next_line_end(read: ReadAt, start: int, end: int) -> int | None:
    """Return where the line at an offset ends; None if it does not before the end."""
    while start < end and (data := read(start, min(CHUNK, end - start))):
        found = data.find(b"\n")
        if found >= 0:
            return start + found + 1
        start += len(data)
    return None


def _is_gone(path: Path) -> bool:
    """True if it is certain that there is no such file: a folder that cannot be listed does not tell."""
    try:
        names = [found.name for found in path.parent.iterdir()]
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not any(name.startswith(path.name) for name in names)


def _by_name(offset: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {os.path.join(folder, name): text for folder, files in offset.items() for name, text in files.items()}


def _nested(files: Mapping[str, FileOffset]) -> Offset:
    """Return an offset; equal ones have the same order, because Spark compares their JSON."""
    out: Offset = {}
    for path, read in sorted(files.items()):
        folder, name = os.path.split(path)
        out.setdefault(folder, {})[name] = str(read)
    return out
