"""Delete sessions: everything of theirs in Claude Code's folder, in reread's own data and, if wanted, what is kept.

What is deleted goes to the trash first (`trash.py`). Whether a session may be deleted, and what belongs to it, is
decided under the lock, from what is there then.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from reread.archive.archive import Archive
from reread.archive.plans import PLANS, plan_slug, plans_in, shared_slugs, slugs_of
from reread.archive.prune import PruneOutcome
from reread.archive.source_files import is_named_after, is_transcript
from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.base.text import plural
from reread.catalog.annotations import Annotations
from reread.catalog.headers import captures_of, read_header
from reread.catalog.resolve import resolve_session
from reread.disk import layout
from reread.disk.layout import AgentFolders
from reread.disk.machine import machine_id
from reread.disk.moved_files import SESSION_UUID
from reread.disk.registry import FOLDER as REGISTRY
from reread.errors import Misuse, NotFound, RereadError, Unreadable
from reread.handover import trash
from reread.handover.derived_data import forget_session
from reread.handover.placement import undo_placement, writing
from reread.handover.prompt_lines import PromptLine, RemovedLines, find_lines, read_lines, refuse_link
from reread.handover.running import running
from reread.handover.session_files import config_of, files_of, original_name
from reread.handover.trash import TrashEntry
from reread.handover.trashed_file import TrashedFile, file_now, is_unchanged
from reread.redaction.decisions import private_maps
from reread.storage.atomic import remove_unfinished
from reread.storage.kept_file import MAP_SUFFIX, read_stub
from reread.storage.prompt_history import HISTORY, PASTES, is_prompts, prompts_path
from reread.storage.safe_open import read_settings, read_whole
from reread.storage.user_paths import cache_folder, mirrors_folder, named_url, typed_path

INDEX = "sessions-index.json"


class DeletedLine(msgspec.Struct, frozen=True):
    """A line of a file of which the others stay."""

    path: str
    line: int
    size: int


class Deletion(msgspec.Struct, frozen=True):
    """A session that was deleted, or with `dry_run` would be."""

    session: str
    title: str
    project: str
    files: tuple[str, ...]
    """The files, in Claude Code's folder, in archives and captured."""
    lines: tuple[DeletedLine, ...]
    """Its lines in the history of prompts."""
    size: int
    """Bytes of the files and lines."""
    kept: bool
    """True if copies of it are left in archives, or captured."""
    trash: str = ""
    """Where it can be restored from; empty if it was deleted for good."""


class _Found(NamedTuple):
    """What there is of a session."""

    session: str
    title: str
    project: str
    files: list[Path]
    kept: list[Path]
    """What archives and captures have of it."""
    objects: list[PruneOutcome]
    """What buckets have of it."""
    archives: list[Path]
    """The archives that are folders, and the mirrors of buckets."""
    lines: list[tuple[RemovedLines, list[PromptLine]]]
    indexes: dict[str, bytes]
    """Files of which an entry is its own, with what is left of each."""
    path: Path
    """The file that it was found by."""
    name: str | Path
    """What it is found by again: its id, if its transcript is gone."""
    maps: list[Path]
    """What undoes its exports, which is of no use once nothing is left of it."""
    ids: list[str]
    """The ids under which it may be running."""
    configs: list[Path]
    """Claude Code's folders that it was looked for in."""
    roots: Sequence[str | Path] | None
    """The folders that it was looked for in, if they were named."""

    @property
    def key(self) -> tuple[str, str]:
        """Tells it from all others, also in the trash."""
        return trash.trash_key(self.session, next(iter((*self.files, *self.kept)), ""))

    @property
    def is_only_kept(self) -> bool:
        """True if nothing but kept copies is left."""
        return bool(self.kept or self.objects) and not (self.files or self.indexes or self.lines)

    def deletion(self, *, kept: bool, now: bool) -> Deletion:
        files = [*self.files, *map(Path, self.indexes), *(self.kept if kept else ()), *self.last(kept=kept, now=now)]
        lines = [DeletedLine(found.path, line.number, len(line.raw)) for found, own in self.lines for line in own]
        objects = self.objects if kept else []
        size = sum(os.lstat(file).st_size for file in files if not file.is_symlink()) + sum(
            one.size for one in (*lines, *objects)
        )
        names = (*map(str, files), *(typed_path(Path(one.path)) for one in objects))
        names += _trashed(self.key) if now else ()
        return Deletion(self.session, self.title, self.project, names, tuple(lines), size, self._leaves(kept=kept))

    def _leaves(self, *, kept: bool) -> bool:
        return bool(self.kept or self.objects) and not kept

    def last(self, *, kept: bool, now: bool) -> list[Path]:
        """Return what is deleted only if nothing else is left of it."""
        return self.maps if now and not self._leaves(kept=kept) else []


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
        for one in chosen:
            if isinstance(one, _Found):
                _require_deletable(one, kept=kept, now=now)
        for one in chosen:
            if isinstance(one, _Found) and any(str(one.path) in before.files for before in done):
                continue  # a captured conversation that went with its session
            try:
                if isinstance(one, _Found):  # what they share belongs to the last one: so each is looked for again
                    done.append(_delete(_find(one.name, root, now=now), batch, kept=kept, now=now))
                else:
                    done.append(_planned(one, kept=kept, now=now))
                    if now:
                        _forget_notes(one.session)
                        for path in _private_maps(one.session, {file.path for file in one.files}, []):
                            path.unlink()
                        trash.empty(one.key)
            except RereadError as error:
                gone = ", ".join(before.session for before in done)
                error.args = (f"{error} Before that, {gone} was deleted.",) if gone else error.args
                raise
    return done


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
) -> list[_Found | TrashEntry]:
    """Return what there is of each session, once: its files, or else what was in the trash."""
    chosen: dict[tuple[str, str], _Found | TrashEntry] = {}
    for session in sessions:
        try:
            one = _find(session, root, now=now)
        except NotFound:
            known = [*finished, *(trash.entries() if now else ())]
            one = trash.choose_entry(str(session), known)
            if one is None:
                raise
        chosen.setdefault(one.key, one)
    return list(chosen.values())


def _without_kept(
    chosen: list[_Found | TrashEntry], tell: Callable[[RereadError], None] | None, *, skips: bool, now: bool
) -> list[_Found | TrashEntry]:
    """Leave out the sessions of which only kept copies are left, and tell how many; raise Misuse if none is left."""
    kept = [one for one in chosen if skips and isinstance(one, _Found) and one.is_only_kept]
    kept = [one for one in kept if not (now and _trashed(one.key))]
    if not kept:
        return chosen
    error = Misuse(f"Nothing but kept copies is left of {plural(len(kept), 'session')}; delete them with --kept.")
    if len(kept) == len(chosen):
        raise error
    if tell is not None:
        tell(error)
    return [one for one in chosen if one not in kept]


def _trashed(key: tuple[str, str]) -> tuple[str, ...]:
    """Return the files that the trash has of a session."""
    return tuple(str(path) for folder in trash.folders_in_trash(key) for path in sorted(folder.iterdir()))


def _planned(one: _Found | TrashEntry, *, kept: bool, now: bool) -> Deletion:
    if isinstance(one, _Found):
        return one.deletion(kept=kept, now=now)
    return msgspec.structs.replace(_of_entry(one), files=files) if (files := _trashed(one.key)) else _of_entry(one)


def _of_entry(entry: TrashEntry) -> Deletion:
    files = tuple(file.path for file in entry.files)
    lines = tuple(DeletedLine(one.path, number, size) for one in entry.lines for number, _, size in one.places)
    return Deletion(entry.session, entry.title, entry.project, files, lines, entry.size, False)


def _require_deletable(found: _Found, *, kept: bool, now: bool) -> Deletion:
    """Return what would be deleted of a session; raise Misuse if it may not be."""
    deletion = found.deletion(kept=kept, now=now)
    if found.is_only_kept and not kept and not (now and _trashed(found.key)):
        raise Misuse(f"Nothing but kept copies is left of {found.session}; delete them with --kept.")
    if kept:
        _require_own(found, now=now)
    written = [file for file in (*found.files, *found.kept) if file.suffix == ".jsonl"]
    for config in dict.fromkeys([*found.configs, *layout.config_folders()]):
        busy = next((busy for id in found.ids if (busy := running(id, config, written))), "")
        if busy:
            raise Misuse(f"Cannot delete {found.session}: {busy}; end it and try again.")
    return deletion


def _delete(found: _Found, batch: str, *, kept: bool, now: bool) -> Deletion:
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
    copies = [typed_path(Path(one.path)) for one in _kept(found.session, found.path, _archives(found.roots), [])]
    left += copies if kept else []
    if left:
        raise Misuse(f"{left[0]} was written to meanwhile, and stays as it is; the rest was deleted.", path=left[0])
    return msgspec.structs.replace(deletion, kept=deletion.kept or bool(copies), trash="" if now else entry.folder)


def _pieces(objects: Sequence[PruneOutcome]) -> dict[str, list[str]]:
    """Return the names of objects in buckets by the bucket's address."""
    found: dict[str, list[str]] = {}
    for one in objects:
        stub, url = read_stub(one.path), named_url(_mirror_of(Path(one.path))[0])
        if stub is not None and url is not None:
            found.setdefault(url, []).extend(piece.name for piece in stub.pieces)
    return found


def _require_own(found: _Found, *, now: bool) -> None:
    """Raise Misuse, before anything is deleted, if what a bucket has of a session must stay."""
    if found.objects and not now:
        where = typed_path(Path(found.objects[0].path))
        raise Misuse(f"What a bucket has goes for good, not into the trash: {where}; use --kept with --now.")
    for one in found.objects:
        machine = _mirror_of(Path(one.path))[1]
        if machine != machine_id():
            raise Misuse(
                f"Another machine keeps {found.session}; run it on {machine}, or with REREAD_MACHINE={machine}.",
                path=typed_path(Path(one.path)),
            )


def _mirror_of(path: Path) -> tuple[Path, str]:
    """Return the mirror that a path lies in, and the machine whose file it is; the path itself if it is in none."""
    top = mirrors_folder()
    if not path.is_relative_to(top):
        return path, ""
    name, machine, *_ = (*path.relative_to(top).parts, "", "")
    return top / name, machine


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


def _find(session: str | Path, root: str | Path | Sequence[str | Path] | None, *, now: bool) -> _Found:
    """Return everything there is of a session."""
    roots = [root] if isinstance(root, str | Path) else root
    try:
        path = Path(os.path.abspath(resolve_session(session, root=root)))  # noqa: PTH100
    except NotFound as error:
        return _left(str(session), roots, error, now=now)
    header = read_header(path)
    id = path.stem if is_prompts(path) else Path(original_name(path.name)).stem
    config = path.parents[1] if is_prompts(path) else config_of(path)
    if config is not None and (layout.is_archive(config) or config.is_relative_to(mirrors_folder())):
        config = None
    files = []
    if os.path.lexists(path) and config is None and not header.captured and not _is_kept(path):
        files = [Path(file.path) for file in files_of(path) if os.path.lexists(file.path)]
    captured = [path] if header.captured else captures_of(id, roots)
    ids = [id, *(header.sessions if header.captured else ())]
    found = _gather(id, path, path, [config] if config is not None else [], roots, files, captured)
    return found._replace(title=header.title, project=header.project, ids=ids)


def _left(session: str, roots: Sequence[str | Path] | None, missing: NotFound, *, now: bool) -> _Found:
    """Return what was left of a session without its transcript, by its whole id; raise NotFound if there is nothing.

    What undoes exports, or cannot be read in the trash, counts if it is to be deleted for good.
    """
    if not SESSION_UUID.fullmatch(session):
        raise missing
    configs = [Path(os.path.abspath(folder)) for folder in map(layout.expand_path, roots or ())]  # noqa: PTH100
    configs = [one for one in configs if not layout.is_archive(one) and not one.is_relative_to(mirrors_folder())]
    found = _gather(session, Path(session), session, configs, roots, [], captures_of(session, roots))
    unread = [folder for folder in trash.read_entries()[1] if folder in trash.folders_in_trash(found.key)]
    if not any((found.files, found.kept, found.objects, found.lines, found.indexes, now and (found.maps or unread))):
        raise missing
    return found


def _gather(
    id: str,
    path: Path,
    name: str | Path,
    configs: list[Path],
    roots: Sequence[str | Path] | None,
    files: list[Path],
    captured: Sequence[Path],
) -> _Found:
    """Return what there is of a session in folders, archives and of reread's own, besides some files."""
    if roots is None:  # a session may have files in each folder of this machine
        configs = list(dict.fromkeys([*configs, *(Path(os.path.abspath(one)) for one in layout.config_folders())]))  # noqa: PTH100
    files = [*files, *(file for one in configs for file in _files_in(one, id, path))]
    files = list(dict.fromkeys([*files, *(paste for one in configs for paste in _pastes(one, id))]))
    lines = [found for one in configs if (found := find_lines(one / HISTORY, id)) is not None]
    archives = _archives(roots)
    transcripts = [file for file in files if file.name.startswith(f"{id}.jsonl")]
    outcomes = list(_kept(id, path, archives, transcripts))
    objects = [one for one in outcomes if _mirror_of(Path(one.path))[1]]
    frames = [Path(one.path) for one in outcomes if one not in objects]
    named = [*transcripts, *(Path(one.path) for one in outcomes if is_transcript(one.name))]
    files += [plan for one in configs for plan in _own_plans(one, named, set(files))]
    maps = filter(Path.exists, (frame.with_name(frame.name + MAP_SUFFIX) for frame in frames))
    kept = [*frames, *maps, *(file for one in captured for file in _captured(one))]
    indexes = {str(index): left for one in configs for index, left in _indexes(one, id)}
    undoing = _private_maps(id, {str(path), *map(str, files)}, [*files, *frames])
    return _Found(
        *(id, "", "", files, list(dict.fromkeys(kept)), objects, archives, lines, indexes, path, name, undoing),
        *([id], configs, roots),
    )


def _captured(path: Path) -> Iterator[Path]:
    """Yield the files of a captured conversation: the SDK's store has agents and a summary below its name."""
    yield path
    beside = path.with_suffix(".meta.json")
    if beside.is_file():
        yield beside
    for folder, _, names in os.walk(path.with_suffix("")):
        yield from (Path(folder, name) for name in sorted(names))


def _private_maps(session: str, paths: Collection[str], files: Sequence[Path]) -> list[Path]:
    """Return what undoes exports of a session; one that does not say whose it is, if some files have all its texts."""
    found, unnamed = list[Path](), list[tuple[Path, set[bytes]]]()
    for path, one in private_maps():
        if one.is_of(session, paths):
            found.append(path)
        elif not one.session and one.originals:
            unnamed.append((path, {jsontext.dumps(text)[1:-1] for text in one.originals.values()}))
    for file in files if unnamed else ():
        with suppress(OSError):
            data = read_whole(file)
            for _, texts in unnamed:
                texts -= {text for text in texts if text in data}
    return found + [path for path, texts in unnamed if not texts]


def _archives(roots: Sequence[str | Path] | None) -> list[Path]:
    """Return the archives that are folders, and the mirrors of buckets."""
    folders = layout.archive_folders() if roots is None else list(map(layout.expand_path, roots))
    mirrors = [mirror for folder in folders if named_url(mirror := _mirror_of(folder)[0]) is not None]
    local = [Path(os.path.abspath(folder)) for folder in folders if layout.is_archive(folder)]  # noqa: PTH100
    return list(dict.fromkeys([*local, *mirrors]))


def _is_kept(path: Path) -> bool:
    return path.is_relative_to(mirrors_folder()) or any(layout.is_archive(above) for above in path.parents)


def _files_in(config: Path, session: str, path: Path) -> Iterator[Path]:
    """Yield the files of a session in Claude Code's folder, its transcripts first."""
    projects = config / layout.PROJECTS
    project = "*" if SESSION_UUID.fullmatch(session) else _escaped(path.parent.name)  # others may have the same name
    transcripts = sorted(projects.glob(f"{project}/{_escaped(session)}.jsonl"))
    transcripts += sorted(projects.glob(f"{project}/{_escaped(session)}.jsonl.superseded-*"))
    yield from (path for path in transcripts if not path.is_dir())
    beside = [file for transcript in transcripts for file in files_of(transcript)[1:]]
    own = [Path(file.path) for file in beside if file.in_project or Path(file.name).parts[0] != PLANS]
    for folder in sorted(projects.glob(f"{project}/")):  # in the old layout, only their records say whose agents are
        agents = AgentFolders().agents_in(folder, [session])
        own += [file for agent in agents for file in (agent, agent.with_suffix(".meta.json")) if file.exists()]
    yield from own
    if SESSION_UUID.fullmatch(session):  # no other file has such a name
        yield from _named_after(config, session)
    for entry in sorted((config / REGISTRY).glob("*.json")):
        if _value(entry).get("sessionId") == session:
            yield entry


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _named_after(config: Path, session: str) -> Iterator[Path]:
    """Yield every file that has the session's id in its name, or lies in a folder that has; links, too."""
    is_store = config == Path(os.path.abspath(layout.default_store()))  # noqa: PTH100
    for folder, folders, names in os.walk(config / layout.PROJECTS if is_store else config):  # adopted sessions
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114
        for name in sorted([*names, *links]):
            path = Path(folder, name)
            if not path.is_symlink() and not path.is_file():
                continue  # a pipe or socket: nothing can be put back
            leads = path.parent / path.readlink() if path.is_symlink() else path
            if any(is_named_after(os.path.relpath(one, config), session) for one in (path, leads)):
                yield path


def _own_plans(config: Path, transcripts: Sequence[Path], own: set[Path]) -> Iterator[Path]:
    """Yield the plans that these transcripts name, and no file that is not the session's own."""
    plans = [plan for plan in plans_in(config) if os.path.lexists(config / PLANS / plan)]
    slugs = {slug for transcript in transcripts for slug in slugs_of(transcript)} if plans else set[str]()
    others = (path for path in sorted((config / layout.PROJECTS).glob("*/*.jsonl")) if path not in own)
    left = slugs - set(shared_slugs(slugs, others))
    yield from (config / PLANS / plan for plan in plans if plan_slug(plan) in left)


def _pastes(config: Path, session: str) -> Iterator[Path]:
    """Yield the texts that were pasted into prompts of this session only."""
    lines = read_lines(config / HISTORY) if (config / PASTES).is_dir() else []
    own = {paste for line in lines if line.is_of(session) for paste in line.pastes()}
    others = {paste for line in lines if not line.is_of(session) for paste in line.pastes()} if own else set[str]()
    for paste in sorted(own - others):
        path = config / PASTES / f"{os.path.basename(paste)}.txt"
        if path.is_file():
            yield path


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
    archives = [*entry.archives, *_archives(None)]
    if entry.is_last and not any(_kept(entry.session, Path(entry.transcript), archives, [])):
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
    """Take away the star and the notes of a session."""
    notes = Annotations()
    if session in notes.all():
        notes.change(session, starred=False, note="")


def _kept(
    session: str, path: Path, archives: Sequence[str | Path], transcripts: Sequence[Path]
) -> Iterator[PruneOutcome]:
    """Yield what archives have of a session; of one whose id is no UUID only what was in the project of its path."""
    for folder in archives:
        try:
            yield from Archive(folder).kept_of(session, path.parent.name, transcripts)
        except NotFound:
            continue
        except RereadError as error:
            where = typed_path(folder) if isinstance(folder, Path) else folder
            raise Unreadable(f"Cannot read the archive {where}: {error}", path=where) from error


def _indexes(config: Path, session: str) -> Iterator[tuple[Path, bytes]]:
    """Yield the client's lists of sessions that have this one, and what is left of each without it."""
    for path in sorted((config / layout.PROJECTS).glob(f"*/{INDEX}")):
        value = _value(path)
        listed = value.get("entries")
        entries = cast(list[Any], listed) if isinstance(listed, list) else []
        others = [one for one in entries if as_dict(one).get("sessionId") != session]
        if len(others) < len(entries):
            refuse_link(path, session)
            yield path, jsontext.dumps(value | {"entries": others})


def _value(path: Path) -> dict[str, Any]:
    try:
        value = jsontext.loads_clean(read_settings(path))
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
