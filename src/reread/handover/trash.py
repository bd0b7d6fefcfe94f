"""The trash: sessions that were deleted, with everything that is needed to put them back.

An entry is a folder: `manifest.json`, and the bytes of each file under a number. It is made whole and read back before
anything is removed; then its name loses the dot, and from there on the deletion is a fact. Whoever comes next finishes
what a killed process began: an entry with a dot is thrown away, one that is not done is carried out.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reread.archive.prune import PruneOutcome
from reread.base import jsontext
from reread.disk import layout
from reread.errors import Misuse, NotFound, Unreadable, Unwritable
from reread.handover.placement import put
from reread.handover.prompt_lines import RemovedLines, remove_lines, restore_lines
from reread.storage.atomic import write_all, write_atomic
from reread.storage.read_at_file import open_no_link
from reread.storage.safe_open import make_private_folder, read_own

NAME, MANIFEST, LINES, EDITED = "trash", "manifest.json", "lines", ".edited"
FORMAT = 1
LARGEST = 1 << 28
CHUNK = 1 << 20
DELETING, DELETED, RESTORING = "deleting", "deleted", "restoring"


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


class TrashEntry(msgspec.Struct):
    """A session that was deleted."""

    session: str
    title: str
    project: str
    deleted: datetime
    files: list[TrashedFile]
    """Its files, those first that make it a session."""
    lines: list[RemovedLines] = []
    """Its lines in histories."""
    state: str = DELETING
    batch: str = ""
    """The same for all that were deleted at once."""
    for_good: bool = False
    """True if nothing is left of it but this list, until all is removed."""
    archives: list[str] = []
    """The archives that some of the files lie in; each is deleted from under its own lock."""
    objects: list[PruneOutcome] = []
    """What buckets have of it, if it is deleted for good: nothing of that is in the trash."""
    folder: str = ""
    """Where the entry is."""
    format: int = FORMAT

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.files)

    def is_archived(self, file: TrashedFile) -> bool:
        """True if a file lies in one of the archives."""
        return any(Path(file.path).is_relative_to(archive) for archive in self.archives)


def trash_folder() -> Path:
    """Return the folder with what was deleted."""
    return layout.default_store() / NAME


def trash() -> list[TrashEntry]:
    """Return what `delete` has put into the trash, the last first."""
    return [entry for entry in entries() if not entry.for_good]


def entries() -> list[TrashEntry]:
    """Return all entries, also of what is being deleted for good; what cannot be read is left out."""
    found: list[TrashEntry] = []
    for folder in sorted(trash_folder().glob("[!.]*/"), reverse=True):
        with suppress(OSError, *jsontext.DECODE_ERRORS):
            entry = msgspec.json.decode(read_own(folder / MANIFEST, LARGEST), type=TrashEntry)
            found.append(msgspec.structs.replace(entry, folder=str(folder)))
    return sorted(found, key=lambda entry: entry.deleted, reverse=True)


def find_entries(name: str | None) -> list[TrashEntry]:
    """Return the entry of a session by its id or the beginning of it, or all that were deleted last."""
    known = trash()
    if name is None:
        found = [entry for entry in known if entry.batch == known[0].batch]
    else:
        found = [entry for entry in known if entry.session.startswith(name)][:1]
    if not found:
        what = f"No session {name!r} is in the trash" if name is not None else "The trash is empty"
        raise NotFound(f"{what}; run `reread ls --trash` to list it.")
    return found


def stage(entry: TrashEntry, lines: list[bytes], edits: dict[str, bytes]) -> TrashEntry:
    """Copy everything of an entry into the trash, and read it back; nothing is removed yet.

    `edits` has what is left of files of which only a part is taken out.
    """
    top = trash_folder()
    name = f"{entry.deleted.astimezone(UTC):%Y%m%dT%H%M%S}-{os.urandom(4).hex()}-{entry.session[:64]}"
    folder = top / f".{name}"
    try:
        make_private_folder(folder)
        for number, file in enumerate(entry.files):
            if file.link is None and not entry.for_good:
                _copy(Path(file.path), folder / str(number), file)
            if file.edited:
                _write(folder / f"{number}{EDITED}", edits[file.path])
        if lines and not entry.for_good:
            _write(folder / LINES, b"".join(lines))
        _save(folder, entry)
        folder.rename(top / name)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise Unwritable.at(error.filename or folder, error) from error
        raise
    return msgspec.structs.replace(entry, folder=str(top / name))


def _copy(source: Path, target: Path, file: TrashedFile) -> None:
    """Copy a file and compare: it must be what the entry says, in both places."""
    out = open_no_link(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        for piece in pieces_of(source):
            write_all(out, piece)
        os.fsync(out)
    finally:
        os.close(out)
    if file_hash(target) != file.sha256 or not is_unchanged(file):
        raise Misuse(f"{source} is being written to; nothing was deleted.", path=str(source))


def _write(path: Path, data: bytes) -> None:
    write_atomic(path, [data], sync=True)


def _save(folder: Path, entry: TrashEntry) -> None:
    _write(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(entry), indent=1))


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
    if stat.S_ISLNK(status.st_mode):
        return TrashedFile(str(path), 0, mode, modified, link=str(path.readlink()))
    return TrashedFile(str(path), status.st_size, mode, modified, file_hash(path))


def is_unchanged(file: TrashedFile) -> bool:
    """True if a file is still what it was when it was found."""
    try:
        now = file_now(Path(file.path))
    except OSError:
        return False
    return (now.sha256, now.link) == (file.sha256, file.link)


Finish = Callable[[TrashEntry], None]
"""Deletes what archives have of an entry, and forgets what was derived from it."""


def carry_out(entry: TrashEntry, finish: Finish) -> TrashEntry:
    """Remove what an entry has: first what makes it a session, then the rest; it may have been begun before.

    A file or line that is not in the entry as it is now was written since, and stays.
    """
    folder = Path(entry.folder)
    try:
        for number, file in enumerate(entry.files):
            if is_unchanged(file) and not entry.is_archived(file):
                if file.edited:
                    _write(Path(file.path), read_own(folder / f"{number}{EDITED}", LARGEST))
                else:
                    Path(file.path).unlink()
        for removed in entry.lines:
            _take_out(entry, removed)
        _remove_empty_folders(entry)
        finish(entry)
        if entry.for_good:
            discard(entry)
            return entry
        done = msgspec.structs.replace(entry, state=DELETED)
        _save(folder, done)
    except OSError as error:
        raise Unwritable.at(error.filename or folder, error) from error
    return done


def _take_out(entry: TrashEntry, removed: RemovedLines) -> None:
    history = Path(removed.path)
    if not os.path.lexists(history):
        return
    remove_lines(history, entry.session, None if entry.for_good else _lines(entry, removed))


def _lines(entry: TrashEntry, removed: RemovedLines) -> list[bytes]:
    """Return the lines of an entry in one of the histories."""
    data = read_own(Path(entry.folder) / LINES, LARGEST)
    found: list[bytes] = []
    at = 0
    for one in entry.lines:
        for _, _, length in one.places:
            if one.path == removed.path:
                found.append(data[at : at + length])
            at += length
    return found


def _remove_empty_folders(entry: TrashEntry) -> None:
    """Remove the folders of a session that are empty now; those of projects stay."""
    above = {parent for file in entry.files for parent in Path(file.path).parents if entry.session in str(parent)}
    for folder in sorted(above, key=lambda one: len(one.parts), reverse=True):
        with suppress(OSError):  # something else is in it
            folder.rmdir()


def put_back(entry: TrashEntry) -> None:
    """Put everything of an entry back where it was; raise Misuse, and write nothing, if something else is there."""
    folder = Path(entry.folder)
    try:
        todo = _missing(entry, folder)
        _save(folder, msgspec.structs.replace(entry, state=RESTORING))
        for number, file in reversed(todo):
            _put_file(folder / str(number), file)
        for removed in entry.lines:
            restore_lines(removed, b"".join(_lines(entry, removed)))
        discard(entry)
    except OSError as error:
        raise Unwritable.at(error.filename or folder, error) from error


def _missing(entry: TrashEntry, folder: Path) -> list[tuple[int, TrashedFile]]:
    """Return the files of an entry that are to be put back, each with its number."""
    todo: list[tuple[int, TrashedFile]] = []
    for number, file in enumerate(entry.files):
        path = Path(file.path)
        if not os.path.lexists(path) or (file.edited and file_hash(path) == file.edited):
            todo.append((number, file))
        elif not is_unchanged(file) and not file.edited:
            raise Misuse(f"{path} is there again, and is another; nothing was restored. Move it away.", path=str(path))
        if file.link is None and file_hash(folder / str(number)) != file.sha256:
            raise Unreadable(f"Cannot read {folder / str(number)}: it is not what was deleted.", path=str(folder))
    return todo


def _put_file(copy: Path, file: TrashedFile) -> None:
    path = Path(file.path)
    make_private_folder(path.parent)
    if file.link is not None:
        path.symlink_to(file.link)
        return
    if file.edited:
        path.unlink(missing_ok=True)
    put(pieces_of(copy), path, mode=file.mode, modified=file.modified)


def discard(entry: TrashEntry) -> None:
    """Throw an entry away."""
    folder = Path(entry.folder)
    hidden = folder.with_name(f".{folder.name}")
    folder.rename(hidden)
    shutil.rmtree(hidden)


def recover(finish: Finish) -> list[TrashEntry]:
    """Finish what killed processes began; return the entries that were carried out, or put back."""
    for left in trash_folder().glob(".*/"):
        shutil.rmtree(left, ignore_errors=True)
    finished: list[TrashEntry] = []
    for entry in entries():
        if entry.state == DELETING:
            finished.append(carry_out(entry, finish))
        elif entry.state == RESTORING:
            put_back(entry)
            finished.append(msgspec.structs.replace(entry, state=RESTORING))
    return finished
