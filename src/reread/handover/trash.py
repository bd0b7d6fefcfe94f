"""The trash: sessions that were deleted, with everything that is needed to put them back.

An entry is a folder: `manifest.json`, and the bytes of each file under a number. It is made whole and read back before
anything is removed; then its name loses the dot. Whoever comes next finishes what a killed process began: an entry with
a dot is thrown away, one that is not done is carried out. That is decided anew: a session that has gone on since, or
was put back, is not deleted any further.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from reread.archive.archive import Archive
from reread.archive.prune import PruneOutcome
from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.disk import layout
from reread.errors import Ambiguous, Misuse, NotFound, RereadError, Unreadable, Unwritable
from reread.handover.placement import own_folders, put
from reread.handover.prompt_lines import RemovedLines, has_lines, remove_lines, restore_lines
from reread.handover.session_files import running
from reread.handover.trashed_file import (
    TrashedFile,
    begins_with,
    file_hash,
    is_unchanged,
    is_untouched,
    pieces_of,
    remove,
)
from reread.storage.atomic import write_all, write_atomic
from reread.storage.kept_names import SESSION_UUID
from reread.storage.safe_open import make_private_folder, open_no_link, read_own

NAME, MANIFEST, LINES, EDITED = "trash", "manifest.json", "lines", ".edited"
FORMAT = 1
LARGEST = 1 << 28
DELETING, DELETED, RESTORING = "deleting", "deleted", "restoring"


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
    """deleting, deleted or restoring."""
    batch: str = ""
    """The same for all that were deleted at once."""
    for_good: bool = False
    """True if nothing is left of it but this list, until all is removed."""
    archives: list[str] = []
    """The archives that some of the files lie in; each is deleted from under its own lock."""
    objects: list[PruneOutcome] = []
    """What buckets have of it, if it is deleted for good: nothing of that is in the trash."""
    pieces: dict[str, list[str]] = {}
    """The names of these objects, by the address of the bucket: no manifest has them once it was put without them."""
    configs: list[str] = []
    """The folders of Claude Code's that it was looked for in."""
    is_last: bool = False
    """True if nothing else is left of it and it was deleted for good; its star, note and tags then go, too."""
    folders: dict[str, int] = {}
    """The modes of its folders."""
    folder: str = ""
    """Where the entry is."""
    format: int = FORMAT

    @property
    def transcript(self) -> str:
        """The file that makes it a session; empty if it had none."""
        return self.files[0].path if self.files else ""

    @property
    def key(self) -> tuple[str, str]:
        """The same for all entries of a session."""
        return trash_key(self.session, self.transcript)

    @property
    def size(self) -> int:
        """Bytes of its files and lines."""
        return sum(file.size for file in self.files) + sum(size for one in self.lines for _, _, size in one.places)

    def is_archived(self, file: TrashedFile) -> bool:
        """True if a file lies in one of the archives."""
        return any(Path(file.path).is_relative_to(archive) for archive in self.archives)


def trash_key(session: str, transcript: str | Path) -> tuple[str, str]:
    """Return what tells a session from all others: an id that is no UUID may be the name of several files."""
    return session, "" if SESSION_UUID.fullmatch(session) else str(transcript)


def trash_folder() -> Path:
    """Return the folder with what was deleted."""
    return layout.default_store() / NAME


def trash(*, on_error: Callable[[RereadError], None] | None = None) -> list[TrashEntry]:
    """Return what `delete` has put into the trash, the last first.

    `on_error` is called for each entry that cannot be read; without it, the first one is raised.
    """
    found, unread = read_entries()
    for error in unread.values():
        if on_error is None:
            raise error
        on_error(error)
    return [entry for entry in found if not entry.for_good]


def entries() -> list[TrashEntry]:
    """Return all entries that can be read, also of what is being deleted for good."""
    return read_entries()[0]


def read_entries() -> tuple[list[TrashEntry], dict[Path, Unreadable]]:
    """Return all entries, and why others cannot be read."""
    found: list[TrashEntry] = []
    unread: dict[Path, Unreadable] = {}
    for folder in sorted(trash_folder().glob("[!.]*/"), reverse=True):
        try:
            entry = msgspec.json.decode(read_own(folder / MANIFEST, LARGEST), type=TrashEntry)
            if entry.format > FORMAT:
                raise ValueError("a later version of reread wrote it; update reread")
            found.append(msgspec.structs.replace(entry, folder=str(folder)))
        except (OSError, ValueError, *jsontext.DECODE_ERRORS) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            said = f"Cannot read {folder / MANIFEST}: {reason}; what was deleted is beside it, under numbers."
            unread[folder] = Unreadable(said, path=str(folder))
    return sorted(found, key=lambda entry: entry.deleted, reverse=True), unread


def folders_in_trash(key: tuple[str, str]) -> list[Path]:
    """Return where the trash has something of a session; an entry that cannot be read is known by its name."""
    found, unread = read_entries()
    named = [folder for folder in unread if not key[1] and folder.name.endswith(f"-{key[0]}")]
    return sorted([*named, *(Path(entry.folder) for entry in found if entry.key == key and entry.state != DELETING)])


def choose_entry(name: str, known: list[TrashEntry]) -> TrashEntry | None:
    """Return the last entry of a session by its path, its id or the beginning of it; raise Ambiguous if several fit."""
    path = os.path.abspath(name)  # noqa: PTH100
    exact = [entry for entry in known if name == entry.session or path == entry.transcript]
    fits = exact or [entry for entry in known if entry.session.startswith(name)]
    found = {entry.key: entry for entry in reversed(fits)}
    if len(found) < 2:
        return next(iter(found.values()), None)
    listed = "\n".join(f"  {entry.session}  {entry.title}  {entry.key[1]}".rstrip() for entry in found.values())
    raise Ambiguous(
        f"{name!r} matches {len(found)} sessions in the trash; use more of the id, or the path:\n{listed}",
        candidates=[entry.folder for entry in found.values()],
    )


def find_entries(names: Sequence[str], restored: list[TrashEntry]) -> list[TrashEntry]:
    """Return the entries of sessions, or all that were deleted last; `restored` are those that were just put back."""
    found, unread = read_entries()
    known = [*restored, *(entry for entry in found if not entry.for_good)]
    why = next(iter(unread.values()), None)
    if not names:
        batches = {entry.batch for entry in restored or known[:1]}
        found = [entry for entry in known if entry.batch in batches]
        if not found:
            raise why or NotFound("The trash is empty; run `reread ls --only trash` to list it.")
        return found
    chosen: dict[tuple[str, str], TrashEntry] = {}
    for name in names:
        entry = choose_entry(name, known)
        if entry is None:
            raise why or NotFound(f"No session {name!r} is in the trash; run `reread ls --only trash` to list it.")
        chosen[entry.key] = entry
    return list(chosen.values())


def stage(entry: TrashEntry, lines: list[bytes], edits: dict[str, bytes]) -> TrashEntry:
    """Copy everything of an entry into the trash, and read it back; nothing is removed yet.

    `edits` has what is left of files of which only a part is taken out.
    """
    top = trash_folder()
    name = f"{entry.deleted.astimezone(UTC):%Y%m%dT%H%M%S}-{os.urandom(4).hex()}-{entry.session[:64]}"
    folder = top / f".{name}"
    try:
        make_private_folder(folder)
        own = sorted(folders_of(entry))
        entry = msgspec.structs.replace(entry, folders={str(one): stat.S_IMODE(one.stat().st_mode) for one in own})
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


class InUse(Exception):
    """A session that is being deleted has gone on."""


def in_use(entry: TrashEntry) -> str:
    """Say what has used a session since it was found; empty if nothing has."""
    staged = {file.path: file for file in entry.files}
    written = [path for path in staged if path.endswith(".jsonl") and os.path.lexists(path)]
    there = set(written)
    if SESSION_UUID.fullmatch(entry.session):  # it may have been put into another project
        projects = [Path(config, layout.PROJECTS) for config in entry.configs]
        there |= {str(path) for folder in projects for path in folder.glob(f"*/{entry.session}.jsonl")}
    for config in dict.fromkeys([*map(Path, entry.configs), *layout.config_folders()]):
        busy = running(entry.session, config, written)
        if busy:
            return busy
    return next(
        (f"{path} was written since" for path in there if path not in staged or not is_untouched(staged[path])), ""
    )


Finish = Callable[[TrashEntry], None]
"""Deletes what archives have of an entry, and forgets what was derived from it."""


def carry_out(entry: TrashEntry, finish: Finish) -> None:
    """Remove what an entry has: first what makes it a session, then the rest; it may have been begun before.

    Raise InUse, and remove nothing more, if the session has gone on. Any other file or line that is not in the entry as
    it is now was written since, and stays.
    """
    busy = in_use(entry)
    if busy:
        raise InUse(busy)
    folder = Path(entry.folder)
    try:
        for number, file in enumerate(entry.files):
            if entry.is_archived(file) or not os.path.lexists(file.path):
                continue
            if is_untouched(file):
                if file.edited:
                    _write(Path(file.path), read_own(folder / f"{number}{EDITED}", LARGEST))
                    continue
                if remove(file):
                    continue
            if file.path.endswith(".jsonl"):
                raise InUse(f"{file.path} was written since")
        for removed in entry.lines:
            if os.path.lexists(removed.path):
                remove_lines(removed, entry.session)
        _remove_empty_folders(entry)
        finish(entry)
        if entry.for_good:
            empty(entry.key)
            discard(folder)
        else:
            _save(folder, msgspec.structs.replace(entry, state=DELETED))
    except OSError as error:
        raise Unwritable.at(error.filename or folder, error) from error


def give_up(entry: TrashEntry, finish: Finish) -> str:
    """End a deletion whose session has gone on; return what became of it.

    Nothing more is removed. What was removed is in the trash as after any other deletion, unless it went for good.
    """
    if entry.for_good:
        finish(msgspec.structs.replace(entry, files=[], objects=[], lines=[], is_last=False))
        discard(Path(entry.folder))
        return "what there is of it stays"
    if all(map(_is_there, entry.files)) and all(map(has_lines, entry.lines)):
        discard(Path(entry.folder))
        return "nothing was deleted"
    _save(Path(entry.folder), msgspec.structs.replace(entry, state=DELETED))
    return f"what was deleted of it is in the trash, and `reread delete --undo {entry.session}` restores it"


def _is_there(file: TrashedFile) -> bool:
    """True if nothing of a file is missing."""
    if file.edited:
        return os.path.lexists(file.path) and file_hash(Path(file.path)) != file.edited
    return begins_with(file)


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


def folders_of(entry: TrashEntry) -> set[Path]:
    """Return the folders that are the session's own."""
    tops = {Path(file.path).parent for file in entry.files if file.path.endswith(".jsonl")}
    if SESSION_UUID.fullmatch(entry.session):  # nobody else's are called so
        tops |= set(map(Path, (*entry.configs, *entry.archives)))
    return {folder for file in entry.files for folder in own_folders(Path(file.path), entry.session, tops)}


def _remove_empty_folders(entry: TrashEntry) -> None:
    """Remove the folders of a session that are empty now; those of projects stay."""
    for folder in sorted(folders_of(entry), key=lambda one: len(one.parts), reverse=True):
        with suppress(OSError):  # something else is in it
            folder.rmdir()


def put_back(entry: TrashEntry) -> None:
    """Put everything of an entry back where it was; raise Misuse, and write nothing, if something else is there."""
    folder = Path(entry.folder)
    with ExitStack() as locks:
        for archive in entry.archives:
            if any(Path(file.path).is_relative_to(archive) for file in entry.files):
                locks.enter_context(Archive(archive).locked())
        try:
            todo = missing(entry)
            _save(folder, msgspec.structs.replace(entry, state=RESTORING))
            for path, mode in entry.folders.items():
                if not os.path.lexists(path):
                    make_private_folder(Path(path))
                    Path(path).chmod(mode)
            for number in reversed(todo):
                _put_file(entry, number)
            for removed in entry.lines:
                restore_lines(removed, b"".join(_lines(entry, removed)))
            discard(folder)
        except OSError as error:
            raise Unwritable.at(error.filename or folder, error) from error


def missing(entry: TrashEntry) -> list[int]:
    """Return the numbers of an entry's files that are to be put back; raise Misuse if others are there."""
    folder, todo = Path(entry.folder), list[int]()
    for number, file in enumerate(entry.files):
        path = Path(file.path)
        if not os.path.lexists(path) or (file.edited and file_hash(path) == file.edited):
            todo.append(number)
        elif file.edited:
            todo += [number] if _relisted(entry, number) is not None else []
        elif not begins_with(file):
            raise Misuse(f"{path} is there again, and is another; nothing was restored. Move it away.", path=str(path))
        if file.link is None and file_hash(folder / str(number)) != file.sha256:
            raise Unreadable(f"Cannot read {folder / str(number)}: it is not what was deleted.", path=str(folder))
    return todo


def _put_file(entry: TrashEntry, number: int) -> None:
    file, copy = entry.files[number], Path(entry.folder, str(number))
    path = Path(file.path)
    make_private_folder(path.parent)
    if file.link is not None:
        path.symlink_to(file.link)
    elif not os.path.lexists(path):
        put(pieces_of(copy), path, mode=file.mode, modified=file.modified)
    else:
        now = file_hash(path)
        is_left = now == file.edited
        listed = None if is_left else _relisted(entry, number)
        if is_left or listed is not None:
            pieces, modified = (pieces_of(copy), file.modified) if listed is None else (iter([listed]), None)
            put(pieces, path, replaces=lambda _: file_hash(path) == now, mode=file.mode, modified=modified)


def _relisted(entry: TrashEntry, number: int) -> bytes | None:
    """Return the client's list of sessions, which was written since, with this one in it again; None if it is in it."""
    path = Path(entry.files[number].path)
    try:
        now, then = (_listed(b"".join(pieces_of(one))) for one in (path, Path(entry.folder, str(number))))
    except ValueError as error:
        raise Misuse(f"Cannot read {path}: {error}; nothing was restored. Move it away.", path=str(path)) from error
    ids, before = ([as_dict(one).get("sessionId") for one in value["entries"]] for value in (now, then))
    if entry.session in ids:
        return None
    own = [one for one, id in zip(then["entries"], before, strict=True) if id == entry.session]
    later = before[before.index(entry.session) :]
    at = next((place for place, id in enumerate(ids) if id in later), len(ids))
    return jsontext.dumps(now | {"entries": [*now["entries"][:at], *own, *now["entries"][at:]]})


def _listed(data: bytes) -> dict[str, Any]:
    value = as_dict(jsontext.loads_clean(data))
    if not isinstance(value.get("entries"), list):
        raise ValueError("it is no list of sessions")
    return value


def discard(folder: Path) -> None:
    """Throw an entry away."""
    hidden = folder.with_name(f".{folder.name}")
    folder.rename(hidden)
    shutil.rmtree(hidden)


def empty(key: tuple[str, str]) -> None:
    """Throw away what the trash has of a session; what is not carried out stays."""
    for folder in folders_in_trash(key):
        discard(folder)


Tell = Callable[[RereadError], None]
"""Is told why something that was begun before is not finished."""


def recover(finish: Finish, tell: Tell, wanted: Collection[str] = ()) -> list[TrashEntry]:
    """Finish what killed processes began; return the entries that were carried out, or put back.

    What cannot be finished is in nobody's way. `wanted` are sessions that are not to be deleted any further.
    """
    for left in trash_folder().glob(".*/"):
        shutil.rmtree(left, ignore_errors=True)
    finished: list[TrashEntry] = []
    found, unread = read_entries()
    for error in unread.values():
        tell(error)
    for entry in found:
        try:
            if _finished(entry, finish, tell, wanted):
                finished.append(entry)
        except (RereadError, OSError) as error:
            verb = "restored" if entry.state == RESTORING else "deleted"
            said = f"{entry.session} is not {verb} whole yet, the next run tries again: {error}"
            tell(Unwritable(said, path=entry.folder))
    return finished


def _finished(entry: TrashEntry, finish: Finish, tell: Tell, wanted: Collection[str]) -> bool:
    """Finish what was begun with an entry; False if there is nothing to do, or if it was given up."""
    why = ""
    if entry.state == DELETING:
        try:
            if entry.session in wanted:
                raise InUse("it is being resumed")
            carry_out(entry, finish)
        except InUse as error:
            why = f"The deletion of {entry.session} was not finished, because {error}; {give_up(entry, finish)}."
    elif entry.state == RESTORING:
        try:
            put_back(entry)
        except Misuse as error:
            _save(Path(entry.folder), msgspec.structs.replace(entry, state=DELETED))
            why = f"{entry.session} was not restored whole, and the rest stays in the trash: {error}"
    if why:
        tell(Misuse(why, path=entry.folder))
    return not why and entry.state != DELETED
