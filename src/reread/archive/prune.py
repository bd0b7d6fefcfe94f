"""Delete kept files, when a person asks for it: all that is kept of a session, or generations that nobody needs.

Nobody needs a generation if a newer one of the same origin holds every record of it, and was read whole just now. It
is not enough that there is a newer one: that may be damaged, or come from another of Claude Code's folders, or be what
the client left after it had rewritten the file. All of this is decided and done under the archive's lock, from what is
there then, and no generation gets another number: what a second process was about to delete or read keeps its name.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from reread.archive.restore import KeptVersion
from reread.archive.source_files import is_transcript
from reread.archive.sync_state import FOLDER, read_rows, write_rows
from reread.archive.verify import copy_problems
from reread.base.text import plural
from reread.storage.atomic import remove_unfinished
from reread.storage.frames import parse_map, read_frames
from reread.storage.kept_copy import KeptCopy, examine
from reread.storage.kept_file import opened, read_map_file
from reread.storage.kept_names import MAP_SUFFIX, generation_path

Origins = Mapping[str, set[str]]
"""The sources that were kept in a file, as far as is known: machine and path, by the path of the kept file."""
Delete = Callable[[Sequence[KeptVersion]], None]
"""Deletes kept files."""
_UTF8_MARK = b"\xef\xbb\xbf"


class PruneOutcome(msgspec.Struct, frozen=True):
    """The outcome for a kept file."""

    path: str
    """The kept file."""
    name: str
    """The path of the original, below Claude Code's folder."""
    generation: int
    size: int
    """Bytes that it takes."""
    outcome: Literal["deleted", "needed", "damaged"]
    """`damaged`: it is needed, because it or a newer one is damaged."""
    note: str = ""
    """Why it is needed."""

    @property
    def version(self) -> KeptVersion:
        """The kept file."""
        return KeptVersion(self.path, self.name, self.generation)


def decide(versions: Iterable[KeptVersion], origins: Origins) -> list[PruneOutcome]:
    """Return what becomes of each generation that is not the newest of its file."""
    by_name: defaultdict[str, list[KeptVersion]] = defaultdict(list)
    for version in versions:
        by_name[version.name].append(version)
    found: list[PruneOutcome] = []
    for group in by_name.values():
        newest, *earlier = sorted(group, key=lambda one: -one.generation)
        stay = [_Generation(newest)]
        for version in earlier:
            with suppress(FileNotFoundError):  # only without the lock: another process has deleted it
                generation = _Generation(version)
                outcome = _outcome(generation, stay, origins)
                found.append(outcome)
                if outcome.outcome != "deleted":
                    stay.append(generation)
    return sorted(found, key=lambda one: (one.name, one.generation))


def chosen(versions: Iterable[KeptVersion]) -> list[PruneOutcome]:
    """Return that some files are deleted because a person has named their session."""
    found: list[PruneOutcome] = []
    for one in versions:
        with suppress(FileNotFoundError), opened(one.path) as (_, status):
            found.append(PruneOutcome(one.path, one.name, one.generation, status.st_size, "deleted"))
    return found


class _Generation:
    """A generation, of which every byte is read once it is asked for."""

    def __init__(self, version: KeptVersion) -> None:
        self.version = version

    @cached_property
    def copy(self) -> KeptCopy:
        return examine(self.version.path, self.version.generation, decode=True)

    @cached_property
    def damage(self) -> str:
        """Its fault, as `--check` says."""
        try:
            return next((one.text for one in copy_problems(self.copy) if one.level == "error"), "")
        except FileNotFoundError:
            raise
        except OSError as error:
            return error.strerror or str(error)

    def written(self) -> tuple[int, bytes] | None:
        """Return the size and the hash of all bytes that were kept, also of damaged ones if the map knows."""
        if not self.damage:
            return (self.copy.raw_size, self.copy.frames[-1].prefix_hash) if self.copy.frames else None
        with opened(self.version.path) as (_, status):
            size = status.st_size
        data = read_map_file(self.version.path)
        frames = parse_map(data) if data is not None else None
        return (frames[-1].raw_end, frames[-1].prefix_hash) if frames and frames[-1].packed_end == size else None

    def raw(self) -> Iterator[bytes]:
        """Yield the raw bytes, frame by frame."""
        with opened(self.version.path) as (read, _):
            yield from (raw for raw, _ in read_frames(read, self.copy.packed_size))

    def records(self) -> Iterator[bytes]:
        """Yield a hash of each line that is not blank."""
        line, blank = hashlib.sha256(), True
        for raw in self.raw():
            for number, part in enumerate(raw.split(b"\n")):
                if number:
                    if not blank:
                        yield line.digest()
                    line, blank = hashlib.sha256(), True
                line.update(part)
                blank = blank and not part.strip()
        if not blank:
            yield line.digest()

    def has_records(self) -> bool:
        """True if each line is a record: of a transcript that is not one JSON document."""
        start = next((raw for raw in self.raw() if raw), b"")
        is_document = start.removeprefix(_UTF8_MARK).lstrip().startswith(b"[")
        return self.version.name.endswith(".jsonl") and not is_document


def _outcome(older: _Generation, stay: Sequence[_Generation], origins: Origins) -> PruneOutcome:
    """Return what becomes of a generation; `stay` are the newer ones that are not deleted, the newest first."""
    version, notes = older.version, list[str]()
    with opened(version.path) as (_, status):
        size = status.st_size
    for newer in stay:
        note = _why_needed(older, newer, origins)
        if not note:
            return PruneOutcome(version.path, version.name, version.generation, size, "deleted")
        notes.append(note)
    is_damaged = any(one.damage for one in (older, *stay))
    return PruneOutcome(
        version.path, version.name, version.generation, size, "damaged" if is_damaged else "needed", notes[0]
    )


def _why_needed(older: _Generation, newer: _Generation, origins: Origins) -> str:
    """Return why a generation is needed although there is a newer one; empty if that has all of it."""
    number = newer.version.generation
    if newer.damage:
        return f"generation {number} is damaged: {newer.damage}"
    others = origins.get(older.version.path, set[str]()) - origins.get(newer.version.path, set[str]())
    if others:
        return f"it was kept from {min(others)}, and generation {number} was not"
    written = older.written()
    if written is not None and _begins_with(newer, *written):
        return ""
    if older.damage:
        return f"it is damaged, and generation {number} is not known to have what it had: {older.damage}"
    if not older.has_records() or not newer.has_records():
        return f"generation {number} does not begin with it"
    missing = Counter(older.records())
    for record in newer.records():
        if missing.get(record, 0) > 1:
            missing[record] -= 1
        else:
            missing.pop(record, None)
    return f"generation {number} lacks {plural(missing.total(), 'record')} of it" if missing else ""


def _begins_with(newer: _Generation, size: int, digest: bytes) -> bool:
    """True if the first bytes of a generation have this hash."""
    if newer.copy.raw_size < size:
        return False
    prefix = hashlib.sha256()
    for raw in newer.raw():
        prefix.update(raw[:size])
        size -= len(raw)
        if size <= 0:
            break
    return prefix.digest() == digest


def origins_in(archive: Path, states: Iterable[Path]) -> Origins:
    """Return which sources the kept files of an archive come from, by what machines have noted of them."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in states:
        for source, row in (read_rows(path) or {}).items():
            for generation in (row.generation, *row.earlier):
                found[_kept(archive, row.name, generation)].add(f"{os.fsdecode(source)} on {path.stem}")
    return found


def forget_rows(archive: Path, states: Iterable[Path], gone: Iterable[str]) -> None:
    """Take files that are about to be deleted out of what machines have noted."""
    deleted = set(gone)
    for path in states:
        before = read_rows(path) or {}
        after = {
            source: msgspec.structs.replace(
                row, earlier=tuple(one for one in row.earlier if _kept(archive, row.name, one) not in deleted)
            )
            for source, row in before.items()
            if _kept(archive, row.name, row.generation) not in deleted
        }
        if after != before:
            write_rows(path, after)


def _kept(archive: Path, name: bytes, generation: int) -> str:
    return generation_path(os.path.join(archive, os.fsdecode(name)), generation)


def delete_files(archive: Path, versions: Iterable[KeptVersion]) -> None:
    """Delete kept files, older generations first, and the folders that are empty then.

    The map goes first: killed in between, the frames alone can be read, and a map alone would be an error. A transcript
    goes last: by it, the others are found.
    """
    for version in sorted(versions, key=lambda one: (is_transcript(one.name), one.generation)):
        for path in (version.path + MAP_SUFFIX, version.path):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
    remove_unfinished(archive, below=True)
    for folder, _, _ in os.walk(archive, topdown=False):
        if Path(folder) not in (archive, archive / FOLDER):
            with suppress(OSError):  # it is not empty
                os.rmdir(folder)  # noqa: PTH106
