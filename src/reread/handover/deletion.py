"""Delete sessions: everything of theirs in Claude Code's folder, in reread's own data and, if wanted, what is kept.

What is deleted goes to the trash first (`trash.py`). Whether a session may be deleted, and what belongs to it, is
decided under the lock, from what is there then.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from reread.accounting.digest import UsageCache
from reread.archive.archive import Archive
from reread.archive.prune import PruneOutcome
from reread.archive.source_files import is_named_after
from reread.base.text import plural
from reread.catalog.annotations import Annotations
from reread.dataset.local_tables import FOLDER as TABLES
from reread.disk import joins, layout
from reread.disk.machine import machine_id
from reread.errors import Misuse, NotFound, RereadError, Unreadable, Unwritable
from reread.handover import trash
from reread.handover.placement import undo_placement, writing
from reread.handover.session_files import original_name, running
from reread.handover.session_traces import (
    DeletedLine,
    Deletion,
    Look,
    SessionTraces,
    archives_searched,
    find_traces,
    kept_traces,
    maps_of,
    mirror_of,
    trashed_files,
)
from reread.handover.trash import TrashEntry
from reread.handover.trashed_file import TrashedFile, file_now, is_unchanged
from reread.index.store import drop_indexes_with
from reread.session import saved_fold
from reread.storage.atomic import remove_unfinished
from reread.storage.kept_file import read_stub
from reread.storage.kept_names import SESSION_UUID
from reread.storage.prompt_history import prompts_path
from reread.storage.safe_open import own_reader
from reread.storage.user_paths import cache_folder, named_url, typed_path

STORE, CACHE = "store", "cache"


class OwnPlace(NamedTuple):
    """A place in reread's own folders, and what a deletion does there."""

    folder: str
    name: str
    """A pattern for the paths of its files below the folder."""
    holds: str
    deleted: str
    """What `delete` does with what it holds of a session."""


PLACES = (
    OwnPlace(STORE, "archive/*", "kept copies; other archives are listed in `archives.json`", "deleted with `--kept`"),
    OwnPlace(STORE, "conversations/*", "captured conversations, with agents and summaries", "deleted with `--kept`"),
    OwnPlace(STORE, "projects/*", "adopted sessions", "deleted"),
    OwnPlace(STORE, "trash/*", "what was deleted", "deleted with `--now`"),
    OwnPlace(STORE, "annotations.json*", "stars, notes and tags", "deleted with `--now`, once nothing else is left"),
    OwnPlace(
        STORE, "share/maps/*", "the texts that `share` replaced", "deleted with `--now`, once nothing else is left"
    ),
    OwnPlace(
        STORE, "placing.json", "what `resume` is putting", "gone when it is put; a killed run is undone by the next"
    ),
    OwnPlace(STORE, "share/*", "a key, and decisions by HMAC", "stays: no word can be had from it"),
    OwnPlace(
        STORE, "config.json*", "settings, budgets, workspaces of captured conversations", "stays: it names no session"
    ),
    OwnPlace(STORE, "sql_history", "what you typed at the prompt of `sql`", "stays: these are your own words"),
    OwnPlace(STORE, "machine", "the machine's name", "stays: it names no session"),
    OwnPlace(STORE, "archives.json*", "where other archives are", "stays: it names no session"),
    OwnPlace(STORE, "reread-keep.xml", "a timer of Windows", "stays: it names no session"),
    OwnPlace(STORE, "*.lock", "nothing", "stays"),
    OwnPlace(CACHE, "cache.sqlite*", "headers, usage, facts", "its rows are overwritten"),
    OwnPlace(CACHE, "folds/*", "opened sessions", "its own are deleted"),
    OwnPlace(CACHE, "joins/*", "how kept states and files fit together", "its own are deleted"),
    OwnPlace(CACHE, "search-*", "the words of all sessions", "deleted as a whole if it knows the session"),
    OwnPlace(CACHE, "tables/*", "tables of `sql`, and what was fetched of a bucket's", "deleted as a whole"),
    OwnPlace(CACHE, "mirrors/*", "which objects a bucket has", "goes with what the bucket has: `--kept --now`"),
    OwnPlace(CACHE, "clients/*", "versions of the client that `rerun` installed", "stays: it has no words"),
    OwnPlace(CACHE, "spending-*", "what today costs, and is left of budgets", "stays: it has no words"),
    OwnPlace(CACHE, "rate-limits-*", "the rate limits that a client gave last", "stays: it has no words"),
    OwnPlace(CACHE, "pass*", "when all sessions were last read", "stays: it has no words"),
)
"""Everything that reread writes of sessions without being told where; the first row that fits a file is its own."""
HEAD = 1 << 14
"""Bytes at the beginning of a saved fold or plan that have the path of its file."""


def forget_session(session: str, paths: Iterable[str]) -> None:
    """Forget what was derived from the files of a session, under whatever paths they were read.

    The search index has the words of what was deleted until its segments are merged, so it is deleted as a whole if it
    knows one of the files; the next search builds it anew. SQLite overwrites what it deletes.
    """
    gone = set(paths)
    needle = session if SESSION_UUID.fullmatch(session) else None

    def is_of(path: str) -> bool:
        return path in gone or (needle is not None and needle in path)

    with closing(UsageCache()) as values:
        if not values.forget(is_of):
            raise Unwritable(
                "Cannot delete from the cache: another process is writing there; try again when it is done."
            )
    for folder in (cache_folder() / saved_fold.NAME, cache_folder() / joins.NAME):
        for file in folder.iterdir() if folder.is_dir() else ():
            with suppress(OSError), own_reader(file) as opened:
                head = opened.read(HEAD)
                if (needle is not None and needle.encode() in head) or any(os.fsencode(path) in head for path in gone):
                    file.unlink()
    drop_indexes_with(is_of)
    shutil.rmtree(cache_folder() / TABLES, ignore_errors=True)


def delete(
    *sessions: str | Path,
    kept: bool = False,
    now: bool = False,
    dry_run: bool = False,
    skip_kept: bool = False,
    root: str | Path | Sequence[str | Path] | None = None,
    on_error: Callable[[RereadError], None] | None = None,
) -> list[Deletion]:
    """Delete sessions: transcripts, agents, results, copies of files, todos, plans, logs, lines in the history.

    They go to reread's own trash, from which `undo_delete` restores them; with `now`, they are deleted for good, also
    from the trash. `kept` deletes what archives and captures have of them, too, and with `now` what this machine keeps
    in a bucket, if that is the root. If one of them is running, or may not be deleted, none is. What reread derived
    from them is forgotten. With `dry_run`, nothing changes. With `skip_kept`, sessions of which there are only kept
    copies are skipped, unless `kept` deletes them. `on_error` is called if so, or if what an earlier run began cannot
    be finished.
    """
    if not sessions:
        raise Misuse("No session to delete; name some.")
    skips = skip_kept and not kept
    if dry_run:
        planned = _choose(sessions, root, [], now=now)
        return [_planned(one, kept=kept, now=now) for one in _without_kept(planned, on_error, skips=skips, now=now)]
    batch = os.urandom(8).hex()
    done: list[Deletion] = []
    late: list[RereadError] = []
    own: set[str | None] = set()
    with writing():
        finished = finish_deletions(late.append)
        try:
            chosen = _choose(sessions, root, finished, now=now)
            keys = {one.key for one in chosen}
            own = {one.folder for one in trash.entries() if one.state == trash.DELETING and one.key in keys}
        finally:
            for error in late:
                if on_error is not None and error.path not in own:
                    on_error(error)
        for error in late:
            if error.path in own:
                raise error
        chosen = _without_kept(chosen, on_error, skips=skips, now=now)
        look, deleted = Look(), list[SessionTraces]()
        for one in chosen:
            if isinstance(one, SessionTraces):
                _require_deletable(one, kept=kept, now=now)
        for one in chosen:
            if isinstance(one, SessionTraces) and any(str(one.path) in before.files for before in done):
                continue  # a captured conversation that went with its session
            try:
                if isinstance(
                    one, SessionTraces
                ):  # what they share belongs to the last one: so each is looked for again
                    deleted.append(find_traces(one.name, root, look, now=now))
                    done.append(_delete(deleted[-1], batch, kept=kept, now=now))
                else:
                    done.append(_planned(one, kept=kept, now=now))
                    if now:
                        _forget_notes(one.session)
                        for path in maps_of(one.session, {file.path for file in one.files}, []):
                            path.unlink()
                        trash.empty(one.key)
            except RereadError as error:
                gone = ", ".join(before.session for before in done)
                error.args = (f"{error} Before that, {gone} was deleted.",) if gone else error.args
                raise
        _refuse_left(str(path) for path in _come_since(deleted))
    return done


def _come_since(deleted: Sequence[SessionTraces]) -> Iterator[Path]:
    """Yield files of sessions that were not there yet when the folders were listed for all of them."""
    look = Look()
    for one in deleted:
        for config in one.configs if SESSION_UUID.fullmatch(one.session) else ():
            yield from look.named_after(config, one.session)
            for folder in look.projects(config):
                yield from look.agents.agents_in(folder, [one.session])


def _refuse_left(paths: Iterable[str]) -> None:
    """Raise Misuse if files of a session that was deleted are there."""
    left = next(iter(paths), None)
    if left is not None:
        raise Misuse(f"{left} was written to meanwhile, and stays as it is; the rest was deleted.", path=left)


def finish_deletions(tell: Callable[[RereadError], None] | None, wanted: Collection[str] = ()) -> list[TrashEntry]:
    """Finish what processes that were killed began, under the lock; `wanted` are sessions that somebody takes up."""
    undo_placement()
    _tidy(layout.config_folders(), layout.archive_folders())
    return trash.recover(_finish, tell or (lambda _: None), wanted)


def _tidy(configs: Iterable[str | Path], archives: Iterable[str | Path]) -> None:
    """Remove what killed processes left unfinished wherever files of sessions are written."""
    for folder in dict.fromkeys(map(Path, (*configs, *archives, layout.default_store(), cache_folder()))):
        remove_unfinished(folder, below=True)


def _choose(
    sessions: Sequence[str | Path],
    root: str | Path | Sequence[str | Path] | None,
    finished: Sequence[TrashEntry],
    *,
    now: bool,
) -> list[SessionTraces | TrashEntry]:
    """Return what there is of each session, once: its files, or else what was in the trash."""
    chosen: dict[tuple[str, str], SessionTraces | TrashEntry] = {}
    look = Look()
    for session in sessions:
        try:
            one = find_traces(session, root, look, now=now)
        except NotFound:
            known = [*finished, *(trash.entries() if now else ())]
            one = trash.choose_entry(str(session), known)
            if one is None:
                raise
        chosen.setdefault(one.key, one)
    return list(chosen.values())


def _without_kept(
    chosen: list[SessionTraces | TrashEntry], tell: Callable[[RereadError], None] | None, *, skips: bool, now: bool
) -> list[SessionTraces | TrashEntry]:
    """Leave out the sessions of which only kept copies are left, and tell how many; raise Misuse if none is left."""
    kept = [one for one in chosen if skips and isinstance(one, SessionTraces) and one.is_only_kept]
    kept = [one for one in kept if not (now and trashed_files(one.key))]
    if not kept:
        return chosen
    error = Misuse(f"Nothing but kept copies is left of {plural(len(kept), 'session')}; delete them with --kept.")
    if len(kept) == len(chosen):
        raise error
    if tell is not None:
        tell(error)
    return [one for one in chosen if one not in kept]


def _planned(one: SessionTraces | TrashEntry, *, kept: bool, now: bool) -> Deletion:
    if isinstance(one, SessionTraces):
        return one.deletion(kept=kept, now=now)
    return msgspec.structs.replace(_of_entry(one), files=files) if (files := trashed_files(one.key)) else _of_entry(one)


def _of_entry(entry: TrashEntry) -> Deletion:
    files = tuple(file.path for file in entry.files)
    lines = tuple(DeletedLine(one.path, number, size) for one in entry.lines for number, _, size in one.places)
    return Deletion(entry.session, entry.title, entry.project, files, lines, entry.size, False)


def _require_deletable(found: SessionTraces, *, kept: bool, now: bool) -> Deletion:
    """Return what would be deleted of a session; raise Misuse if it may not be."""
    deletion = found.deletion(kept=kept, now=now)
    if found.is_only_kept and not kept and not (now and trashed_files(found.key)):
        raise Misuse(f"Nothing but kept copies is left of {found.session}; delete them with --kept.")
    if kept:
        _require_own(found, now=now)
    written = [file for file in (*found.files, *found.kept) if file.suffix == ".jsonl"]
    for config in dict.fromkeys([*found.configs, *layout.config_folders()]):
        busy = next((busy for id in found.ids if (busy := running(id, config, written))), "")
        if busy:
            raise Misuse(f"Cannot delete {found.session}: {busy}; end it and try again.")
    return deletion


def _delete(found: SessionTraces, batch: str, *, kept: bool, now: bool) -> Deletion:
    deletion = _require_deletable(found, kept=kept, now=now)
    if found.is_only_kept and not kept:
        size = sum(entry.size for entry in trash.entries() if entry.key == found.key)
        trash.empty(found.key)
        return msgspec.structs.replace(deletion, size=size)
    last = found.last(kept=kept, now=now)
    try:
        files = [file_now(file) for file in (*found.files, *(found.kept if kept else ()), *last)]
        files += [_edited(path, left) for path, left in found.indexes.items()]
    except OSError as error:
        raise Unreadable.at(error.filename or found.session, error) from error
    entry = TrashEntry(
        found.session,
        found.title,
        found.project,
        datetime.now(UTC),
        files,
        [removed for removed, _ in found.lines],
        batch=batch,
        for_good=now,
        archives=[named_url(folder) or str(folder) for folder in found.archives if kept],
        objects=found.objects if kept else [],
        pieces=_pieces(found.objects) if kept else {},
        configs=list(map(str, found.configs)),
        is_last=now and not deletion.kept,
    )
    entry = trash.stage(entry, [line.raw for _, own in found.lines for line in own], found.indexes)
    try:
        trash.carry_out(entry, _finish)
    except trash.InUse as error:
        became = trash.give_up(entry, _finish)
        raise Misuse(f"Cannot delete {found.session}: {error}; {became}. End it and try again.") from error
    left = [file.path for file in files if not file.edited and os.path.lexists(file.path)]
    copies = [
        typed_path(Path(one.path)) for one in kept_traces(found.session, found.path, archives_searched(found.roots), [])
    ]
    _refuse_left([*left, *(copies if kept else ())])
    return msgspec.structs.replace(deletion, kept=deletion.kept or bool(copies), trash="" if now else entry.folder)


def _pieces(objects: Sequence[PruneOutcome]) -> dict[str, list[str]]:
    """Return the names of objects in buckets by the bucket's address."""
    found: dict[str, list[str]] = {}
    for one in objects:
        stub, url = read_stub(one.path), named_url(mirror_of(Path(one.path))[0])
        if stub is not None and url is not None:
            found.setdefault(url, []).extend(piece.name for piece in stub.pieces)
    return found


def _require_own(found: SessionTraces, *, now: bool) -> None:
    """Raise Misuse, before anything is deleted, if what a bucket has of a session must stay."""
    if found.objects and not now:
        where = typed_path(Path(found.objects[0].path))
        raise Misuse(f"What a bucket has goes for good, not into the trash: {where}; use --kept with --now.")
    for one in found.objects:
        machine = mirror_of(Path(one.path))[1]
        if machine != machine_id():
            raise Misuse(
                f"Another machine keeps {found.session}; run it on {machine}, or with REREAD_MACHINE={machine}.",
                path=typed_path(Path(one.path)),
            )


def _edited(path: str, left: bytes) -> TrashedFile:
    return msgspec.structs.replace(file_now(Path(path)), edited=hashlib.sha256(left).hexdigest())


def undo_delete(*sessions: str, on_error: Callable[[RereadError], None] | None = None) -> list[Deletion]:
    """Restore sessions from the trash, by default all that were deleted last: every byte, time and line.

    If the files of one are there again, none is restored. `on_error` is called if what an earlier run began cannot be
    finished.
    """
    with writing():
        restored = [one for one in finish_deletions(on_error) if one.state == trash.RESTORING]
        found = trash.find_entries(sessions, restored)
        todo = [entry for entry in found if entry not in restored]
        for entry in todo:
            trash.missing(entry)
        for entry in todo:
            trash.put_back(entry)
    return [_of_entry(entry) for entry in found]


def _finish(entry: TrashEntry) -> None:
    """Delete from archives what the entry has of them, and forget what was derived from all its files."""
    staged = {file.path: file for file in entry.files if entry.is_archived(file)}
    held = {one.path: one.size for one in entry.objects}

    def is_same(one: PruneOutcome) -> bool:
        return one.size == held.get(one.path) or (one.path in staged and is_unchanged(staged[one.path]))

    for folder in entry.archives:
        with suppress(NotFound):  # nothing is kept there any more
            Archive(folder).delete({*staged, *held}, is_same)
    for url, pieces in entry.pieces.items():
        Archive(url).delete_unnamed(pieces)
    archives = [*entry.archives, *archives_searched(None)]
    if entry.is_last and not any(kept_traces(entry.session, Path(entry.transcript), archives, [])):
        _forget_notes(entry.session)
    paths = [file.path for file in (*entry.files, *entry.objects)]
    read_as = [str(Path(path).with_name(original_name(os.path.basename(path)))) for path in paths]
    histories = [prompts_path(removed.path, entry.session) for removed in entry.lines]
    forget_session(entry.session, [*paths, *read_as, *histories, *(removed.path for removed in entry.lines)])
    _tidy(entry.configs, entry.archives)
    for top in (*entry.configs, *entry.archives) if SESSION_UUID.fullmatch(entry.session) else ():
        for folder, _, _ in os.walk(top, topdown=False):  # whoever was killed may have left empty ones
            if is_named_after(os.path.relpath(folder, top), entry.session):
                with suppress(OSError):
                    os.rmdir(folder)  # noqa: PTH106


def _forget_notes(session: str) -> None:
    """Take away the star, the note and the tags of a session."""
    notes = Annotations()
    if session in notes.all():
        notes.change(session, starred=False, note="", untag=notes.of(session).tags)
