"""An archive: a folder with copies of sessions, and all that can be done with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import msgspec

from reread.archive import restore as restoring
from reread.archive.places import BucketPlace, FolderPlace, Waiting
from reread.archive.plans import PLANS, plan_slug, plans_of, shared_slugs, slugs_of
from reread.archive.prune import PruneOutcome, chosen, decide
from reread.archive.retention import AtRisk, at_stake
from reread.archive.source_files import (
    BESIDE_PROJECTS,
    SourceFile,
    files_below,
    files_of_session,
    is_named_after,
    is_transcript,
)
from reread.archive.sync import FileOutcome, Progress
from reread.archive.verify import KeptEntry, KeptProblem, kept_files
from reread.base import jsontext
from reread.disk import layout
from reread.disk.agent_files import AgentFolders, agent_files
from reread.disk.layout import is_moved
from reread.errors import Misuse, NotFound, Unwritable
from reread.storage.atomic import write_atomic
from reread.storage.json_update import locked
from reread.storage.kept_file import is_file
from reread.storage.kept_names import SESSION_UUID
from reread.storage.safe_open import make_private_folder
from reread.storage.user_paths import is_bucket_url, mirrors_folder, named_url, typed_path

LOCK_SECONDS = 300.0
"""How long to wait for another process that writes into the archive."""

Source = str | os.PathLike[str]


class KeepReport(msgspec.Struct, frozen=True):
    """The files that a run kept, or with `dry_run` would keep."""

    folder: str
    dry_run: bool
    files: tuple[FileOutcome, ...]

    def count(self, *outcomes: str) -> int:
        """Return how many files had one of these outcomes."""
        return sum(file.outcome in outcomes for file in self.files)

    @property
    def sessions(self) -> int:
        """How many sessions were looked at; one of which only a plan or tasks are left is none."""
        return len({file.session for file in self.files if _is_session(file.name)})

    @property
    def added(self) -> int:
        """Raw bytes that were added."""
        return sum(file.added for file in self.files)

    @property
    def packed(self) -> int:
        """Bytes that they take in the archive."""
        return sum(file.packed for file in self.files)

    @property
    def problems(self) -> list[FileOutcome]:
        """The files that were not kept, or with which something was wrong."""
        return [file for file in self.files if file.outcome in ("skipped", "failed") or file.note]


class Archive:
    """A folder or bucket with copies of sessions, which every function reads as it reads Claude Code's own folder."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """Name a folder, or a bucket: `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, `abfs://CONTAINER@ACCOUNT/FOLDER`."""
        path = Path(os.path.abspath(layout.expand_path(folder))) if folder else layout.default_archive()  # noqa: PTH100
        url = named_url(path)
        if url is None and path.is_relative_to(mirrors_folder()):
            raise Misuse(f"Cannot keep sessions in {typed_path(path)}; name the bucket, or a folder in it.")
        self._place: FolderPlace = FolderPlace(path) if url is None else BucketPlace(path, url)
        self.folder: Path = self._place.folder

    @property
    def name(self) -> str:
        """The folder or address as a person names it."""
        return self._place.name

    def keep(
        self,
        *sources: Source,
        root: str | Path | Sequence[str | Path] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        wait: float = LOCK_SECONDS,
        waiting: Waiting | None = None,
    ) -> KeepReport:
        """Copy what changed in some sessions or folders, by default in all of Claude Code's.

        If some of them are of Claude Code's own folders, the archive is read with these from now on.
        `waiting` is called if another process writes into the archive, for which this one waits.
        """
        files = list(self._source_files(sources, root))
        if dry_run:
            return KeepReport(self.name, True, tuple(self._place.reader().pending(files)))
        with self._place.writer(wait, progress, waiting) as sync:
            if any(map(_is_own, {os.path.dirname(file.path) for file in files})):  # noqa: PTH120
                self._remember()
            return KeepReport(self.name, False, tuple(sync.run(files)))

    def pending_bytes(self, *sources: Source, root: str | Path | Sequence[str | Path] | None = None) -> int:
        """Return about how many bytes a run would read."""
        files = self._place.reader().pending(self._source_files(sources, root))
        return sum(file.size for file in files if file.outcome not in ("unchanged", "skipped", "failed"))

    def verify(self, progress: Progress | None = None) -> Iterator[KeptEntry | KeptProblem]:
        """Read everything that is kept; yield each file that is as it was written, and every problem."""
        yield from self._place.verify(progress)

    def restore(
        self,
        *sessions: str,
        to: str | Path,
        generation: int | None = None,
        progress: Progress | None = None,
    ) -> list[restoring.RestoredFile]:
        """Write the files of some sessions, or of all, below a folder, as they were below Claude Code's.

        `generation` chooses an earlier one of files that were rewritten; 1 is the first. Files of several machines
        are written below a folder for each.
        """
        chosen: dict[str, restoring.KeptVersion] = {}
        for version in self.versions(*sessions):
            if version.name not in chosen or generation is None or version.generation <= generation:
                chosen[version.name] = version
        return restoring.restore(chosen.values(), layout.expand_path(to), progress)

    def prunable(self, *sessions: str) -> list[restoring.KeptVersion]:
        """Return what `prune` would delete."""
        return [one.version for one in self.prune_outcomes(*sessions, dry_run=True) if one.outcome == "deleted"]

    def prune(self, *sessions: str, wait: float = LOCK_SECONDS) -> list[restoring.KeptVersion]:
        """Delete all that is kept of some sessions, or without any, generations that nobody needs; return them."""
        return [one.version for one in self.prune_outcomes(*sessions, wait=wait) if one.outcome == "deleted"]

    def prune_outcomes(
        self,
        *sessions: str,
        dry_run: bool = False,
        among: Sequence[PruneOutcome] | None = None,
        wait: float = LOCK_SECONDS,
    ) -> list[PruneOutcome]:
        """Delete all that is kept of some sessions, or earlier generations; return what became of each file.

        An earlier generation is deleted only if a newer one of the same origin holds every record of it, and was read
        whole just now. `among` are the outcomes of a dry run: what it did not delete, or what has changed since, stays.
        """
        if not self.versions(*sessions):
            return []
        if dry_run:
            return self._decided(sessions)
        with self._place.pruning(wait) as delete:
            outcomes = self._decided(sessions)
            if among is not None:
                known = {(one.path, one.size) for one in among if one.outcome == "deleted"}
                outcomes = [one for one in outcomes if one.outcome != "deleted" or (one.path, one.size) in known]
            delete([one.version for one in outcomes if one.outcome == "deleted"])
        return outcomes

    def kept_of(self, session: str, project: str, transcripts: Sequence[Path] = ()) -> list[PruneOutcome]:
        """Return what would be deleted with a session, by what is there: its transcript may be gone.

        Of an id that is no UUID, only what was in a project's folder, because others may have it. Plans are those that
        its kept transcripts name, or others of its transcripts.
        """
        found: list[restoring.KeptVersion] = []
        for folder in self._place.folders():
            there = [restoring.KeptVersion(*one) for one in kept_files(folder)]
            names = _names_of(session, project, folder, {one.name for one in there})
            own = [one for one in there if one.name in names]
            plans = [one for one in there if one.name.startswith(PLANS + os.sep)]
            named = [*transcripts, *(one.path for one in own if is_transcript(one.name))] if plans else []
            slugs = {slug for transcript in named for slug in slugs_of(transcript)}
            found += [*own, *(one for one in plans if plan_slug(os.path.basename(one.name)) in slugs)]
        return chosen(self._without_shared_plans(found))

    def delete(self, files: Collection[str], is_same: Callable[[PruneOutcome], bool]) -> None:
        """Delete kept files, if they are still the same when nobody else writes into the archive."""
        if not any(one.path in files for one in self.versions()):
            return
        with self._place.pruning(LOCK_SECONDS) as delete:
            there = [one for one in self.versions() if one.path in files]
            delete([one.version for one in chosen(self._without_shared_plans(there)) if is_same(one)])

    def delete_unnamed(self, objects: Sequence[str], wait: float = LOCK_SECONDS) -> None:
        """Delete objects of this bucket that no file needs: a run that was killed had deleted their files."""
        self._place.delete_unnamed(objects, wait)

    def locked(self, wait: float = LOCK_SECONDS) -> AbstractContextManager[None]:
        """Be the only process of this machine that writes into the archive."""
        return self._place.locked(wait)

    def drop_others(self, report: KeepReport, starts: tuple[str, ...], *, wait: float = LOCK_SECONDS) -> None:
        """Delete what a run did not keep of the files whose names start like this: others, and earlier generations."""
        kept = {file.name for file in report.files}
        with self._place.pruning(wait) as delete:
            found = [
                restoring.KeptVersion(path, name, generation)
                for path, name, generation in kept_files(self.folder)
                if name.startswith(starts)
            ]
            newest = {one.name: one.generation for one in sorted(found, key=lambda one: one.generation)}
            delete([one for one in found if one.name not in kept or one.generation < newest[one.name]])

    def _decided(self, sessions: Sequence[str]) -> list[PruneOutcome]:
        """Return what becomes of files by what is there now."""
        if sessions:
            with suppress(NotFound):  # deleted while this process waited for the lock
                return chosen(self._without_shared_plans(self.versions(*sessions)))
            return []
        own = [one for one in self.versions() if Path(one.path).is_relative_to(self.folder)]
        return decide(own, self._place.origins())

    def _without_shared_plans(self, versions: Sequence[restoring.KeptVersion]) -> list[restoring.KeptVersion]:
        """Return files without the plans that the transcripts of other kept sessions name, too."""
        slugs = {plan_slug(os.path.basename(one.name)) for one in versions if PLANS in Path(one.name).parts}
        if not slugs:
            return list(versions)
        mine = {one.path for one in versions}
        others = (one.path for one in self.versions() if is_transcript(one.name) and one.path not in mine)
        shared = set(shared_slugs({slug for slug in slugs if slug}, others))
        return [one for one in versions if plan_slug(os.path.basename(one.name)) not in shared]

    def stakes(self, report: KeepReport | None = None) -> list[AtRisk]:
        """Return what Claude Code is about to delete that is not kept, for each of its folders.

        `report` is that of a run over all of them; without it, files are compared by size and times.
        """
        if report is None:
            report = KeepReport(self.name, True, tuple(self._place.reader().pending(self._source_files((), None))))
        lost = ("skipped", "failed") if not report.dry_run else ("skipped", "failed", "new", "grown", "rewritten")
        stakes: list[AtRisk] = []
        for folder in layout.config_folders():
            top = os.path.join(folder, layout.PROJECTS, "")
            below = [file for file in report.files if file.path.startswith(top) and _is_session(file.name)]
            if os.path.isdir(folder):
                unkept = (file.path for file in below if file.outcome in lost)
                stakes.append(at_stake(folder, (file.path for file in below), unkept))
        return stakes

    def size(self) -> tuple[int, int]:
        """Return how many sessions are kept, and how many bytes all files take."""
        sizes = list(self._place.sizes())
        sessions = {os.path.basename(name) for name, _ in sizes if _is_session(name)}
        return len(sessions), sum(size for _, size in sizes)

    def forget(self) -> None:
        """Leave this archive out of what is read by default, and delete nothing; another run into it lists it."""
        if is_bucket_url(self.name):
            raise Misuse(f"Cannot forget {self.name}: a bucket is read only if it is named with --root.")
        if os.environ.get(layout.ARCHIVE_VARIABLE, "").strip():
            raise Misuse(f"Cannot forget {self.name}: {layout.ARCHIVE_VARIABLE} says what is read; change it instead.")
        if self.folder == layout.default_archive():
            raise Misuse(
                f"Cannot forget {self.name}: it is reread's own; set {layout.ARCHIVE_VARIABLE} to read another instead."
            )
        if not _change_list(lambda listed: [one for one in listed if one != self.folder]):
            known = ", ".join(map(str, layout.listed_archives()))
            which = f"it remembers {known}" if known else "it remembers no other folder than its own"
            raise NotFound(f"reread does not read {self.name} by default; {which}.", path=str(self.folder))

    def is_listed(self) -> bool:
        """True if what is kept here is read by default."""
        return self.folder in layout.archive_folders()

    def _remember(self) -> None:
        """List this archive, so that its sessions are found by id."""
        if self.is_listed() or os.environ.get(layout.ARCHIVE_VARIABLE, "").strip() or is_bucket_url(self.name):
            return  # a bucket is asked only if it is named
        with suppress(Unwritable):  # it can still be named
            _change_list(lambda listed: [*listed, self.folder] if self.folder not in listed else listed)

    def versions(self, *sessions: str) -> list[restoring.KeptVersion]:
        """Return all generations of the files of some sessions, or of all."""
        folders = self._place.folders()
        tests = [self._test(session, folders) for session in sessions]
        found = {
            folder: [
                restoring.KeptVersion(path, name, generation)
                for path, name, generation in kept_files(folder)
                if not tests or any(test(folder, name) for test in tests)
            ]
            for folder in folders
        }
        several = sum(map(bool, found.values())) > 1
        wanted = [
            msgspec.structs.replace(one, name=os.path.join(folder.name, one.name)) if several else one
            for folder, versions in found.items()
            for one in versions
        ]
        return sorted(wanted, key=lambda version: (version.name, version.generation))

    def _test(self, session: str, folders: Sequence[Path]) -> Callable[[Path, str], bool]:
        """Return a test for the folders and names of the files of a session."""
        from reread.catalog.resolve import resolve_session

        try:
            path = resolve_session(session, root=folders)
        except NotFound:
            kept = {name for folder in folders for _, name, _ in kept_files(folder) if is_named_after(name, session)}
            if not kept or SESSION_UUID.fullmatch(session) is None:
                raise
            return lambda _, name: name in kept  # a run that was killed has left it without a transcript
        top = next((folder for folder in folders if path.is_relative_to(folder)), None)
        if top is None:
            raise NotFound(f"No session {session!r} in {self.name}; run `reread ls --root {self.name}` to list them.")
        id = path.stem
        files = [path, *_moved_from(path, top)]
        mains = {os.path.relpath(file, top) for file in files}
        agents = {os.path.relpath(agent, top) for file in files for agent in agent_files(file, [id]).values()}
        agents |= {os.path.splitext(agent)[0] + ".meta.json" for agent in agents}  # noqa: PTH122
        own = [os.path.splitext(main)[0] + os.sep for main in mains]  # noqa: PTH122
        beside = (os.path.join(name, id) + end for name in BESIDE_PROJECTS for end in (os.sep, "-agent-"))
        plans = {os.path.join(PLANS, name) for name in plans_of(top, path)}
        starts = (*own, *beside, *(f"{main}.superseded-" for main in mains))
        single = mains | agents | plans
        return lambda folder, name: folder == top and (name in single or name.startswith(starts))

    def _source_files(
        self, sources: Sequence[Source], root: str | Path | Sequence[str | Path] | None
    ) -> Iterator[SourceFile]:
        """Yield the files to keep, each once."""
        seen: set[str] = set()
        for folder, files in self._sources(sources, root):
            self._refuse_source(folder)
            for file in files:
                if file.path not in seen:
                    seen.add(file.path)
                    yield file

    def _sources(
        self, sources: Sequence[Source], root: str | Path | Sequence[str | Path] | None
    ) -> Iterator[tuple[Path, Iterable[SourceFile]]]:
        roots = [root] if isinstance(root, str | Path) else root
        if not sources:
            for folder in map(layout.expand_path, roots) if roots else layout.config_folders():
                if roots:
                    layout.require_folder(folder)
                if os.path.isdir(folder):
                    yield folder, files_below(folder)
        for source in sources:
            path = layout.expand_path(source if isinstance(source, str) else Path(source))
            if os.path.isdir(path):
                yield path, files_below(layout.require_folder(path))
            else:
                from reread.catalog.resolve import resolve_session  # not needed to keep everything

                name = source if isinstance(source, str) else Path(source)
                found = resolve_session(name, root=[*roots] if roots else self._own_folders())
                if not os.path.lexists(found):
                    raise NotFound(f"No file {found}; run `reread ls` to list sessions.", path=str(found))
                yield found.parent, files_of_session(found)

    def _own_folders(self) -> list[Path]:
        """Return Claude Code's folders that exist, or all if none does: then an error names the first."""
        folders = layout.config_folders()
        return [folder for folder in folders if os.path.isdir(folder)] or folders

    def _refuse_source(self, source: Path) -> None:
        """Raise Misuse if the archive lies in what is kept, or in Claude Code's folder, or the other way round.

        Also if the source is an archive itself: what it has is compressed, and would be kept as what it is not.
        """
        real = Path(os.path.realpath(source))
        if not is_bucket_url(self.name):
            archive = Path(os.path.realpath(self.folder))
            for folder in (source, *layout.config_folders()):
                if archive.is_relative_to(os.path.realpath(folder)):
                    raise Misuse(
                        f"Cannot keep sessions in {self.folder}: it lies in {folder}; use another folder for --to."
                    )
            if real.is_relative_to(archive):
                raise Misuse(f"{source} lies in the archive {self.folder}; name the original.")
        mirrors = os.path.realpath(mirrors_folder())
        if real.is_relative_to(mirrors) or any(map(layout.is_archive, (real, *real.parents))):
            raise Misuse(f"Cannot keep {typed_path(source)}: it has kept sessions already; copy it as it is.")


def _names_of(session: str, project: str, top: Path, names: Collection[str]) -> set[str]:
    """Return the names of a session's files in an archive, but for plans."""
    projects = sorted((top / layout.PROJECTS).glob("*/"))
    if SESSION_UUID.fullmatch(session):
        own = {name for name in names if is_named_after(name, session)}
    else:
        main = os.path.join(layout.PROJECTS, project, session)
        starts = (main + os.sep, f"{main}.jsonl.superseded-")
        own = {name for name in names if name == f"{main}.jsonl" or name.startswith(starts)}
        projects = [folder for folder in projects if folder.name == project]
    for folder in projects:
        for agent in AgentFolders().agents_in(folder, [session]):
            name = os.path.relpath(agent, top)
            own |= {name, os.path.splitext(name)[0] + ".meta.json"}  # noqa: PTH122
    return own


def _moved_from(path: Path, top: Path) -> Iterator[Path]:
    """Yield where a kept session's file would be in other projects, unless another session's is there."""
    projects = top / layout.PROJECTS
    if path.parent.parent != projects or SESSION_UUID.fullmatch(path.stem) is None:
        return
    for project in sorted(projects.iterdir()):
        other = project / path.name
        if other != path and (not is_file(other) or is_moved(str(other), str(path), [top])):
            yield other


def _is_own(folder: str) -> bool:
    """True for a folder of Claude Code's on this machine, or one below it."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(os.path.realpath(own)) for own in layout.config_folders())


def _is_session(name: str) -> bool:
    """True for the name of a session's transcript in an archive."""
    folder, name = os.path.split(name)
    return layout.is_session_filename(name) and layout.SESSION_SUBFOLDERS.isdisjoint(folder.split(os.sep))  # noqa: PTH206


def keep(
    *sources: Source,
    to: str | Path | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> KeepReport:
    """Copy sessions, compressed and exact, into a folder or bucket where Claude Code does not delete them.

    Without sources, all sessions of Claude Code are kept, or those below `root`. A source is a session or a folder.
    Only what changed since the last time is read. `to` is a folder or the address of a bucket such as
    `s3://BUCKET/FOLDER`; by default, a folder of reread's own.
    """
    return Archive(to).keep(*sources, root=root, dry_run=dry_run, progress=progress)


def _change_list(change: Callable[[list[Path]], list[Path]]) -> bool:
    """Change the list of archives that are read by default, with nobody else changing it; False if it stays."""
    path = layout.default_store() / layout.ARCHIVES
    try:
        make_private_folder(path.parent)
        with locked(path) as held:
            if not held:
                raise Unwritable(f"Cannot write {path}: another process is writing it; try again.", path=str(path))
            before = layout.listed_archives()
            after = change(before)
            if after != before:
                write_atomic(path, [jsontext.dumps([str(folder) for folder in after])], sync=True)
            return after != before
    except (OSError, UnicodeError) as error:
        raise Unwritable(f"Cannot write {path}: {error}", path=str(path)) from error
