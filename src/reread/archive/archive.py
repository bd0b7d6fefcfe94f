"""An archive: a folder with copies of sessions, and all that can be done with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from reread.archive import restore as restoring
from reread.archive.bucket_place import BucketPlace
from reread.archive.folder_place import ArchivePlace, FolderPlace, Waiting
from reread.archive.prune import superseded
from reread.archive.retention import Stake, at_stake
from reread.archive.source_files import BESIDE_PROJECTS, SourceFile, files_below, files_of_session
from reread.archive.sync import FileOutcome, Progress
from reread.archive.verify import KeptEntry, KeptProblem, kept_files
from reread.base import jsontext
from reread.disk import layout
from reread.disk.atomic import write_atomic
from reread.disk.kept import opened
from reread.disk.regular import make_private_folder
from reread.disk.user_paths import is_bucket_url, mirrors_folder, named_url, typed_path
from reread.errors import Misuse, NotFound

LOCK_SECONDS = 300.0
"""How long to wait for another process that writes into the archive."""

Source = str | os.PathLike[str]


class KeepReport(msgspec.Struct, frozen=True):
    """What a run kept, or with `dry_run` would keep."""

    folder: str
    dry_run: bool
    files: tuple[FileOutcome, ...]

    def count(self, *outcomes: str) -> int:
        """Return how many files had one of these outcomes."""
        return sum(file.outcome in outcomes for file in self.files)

    @property
    def sessions(self) -> int:
        """How many sessions were looked at."""
        return len({file.session for file in self.files if file.session})

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
        """Name a folder, or a bucket as `s3://BUCKET/FOLDER`."""
        path = Path(os.path.abspath(layout.expand_path(folder))) if folder else layout.default_archive()  # noqa: PTH100
        url = named_url(path)
        if url is None and path.is_relative_to(mirrors_folder()):
            raise Misuse(f"Cannot keep sessions in {typed_path(path)}; name the bucket, or a folder in it.")
        self._place: ArchivePlace = FolderPlace(path) if url is None else BucketPlace(path, url)
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

        `waiting` is called if another process writes into the archive, for which this one waits.
        """
        files = list(self._source_files(sources, root))
        if dry_run:
            return KeepReport(self.name, True, tuple(self._place.reader().pending(files)))
        with self._place.writer(wait, progress, waiting) as sync:
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
        """Return what `prune` deletes: all that is kept of some sessions, or without any, earlier generations."""
        versions = self.versions(*sessions)
        return versions if sessions else superseded(versions)

    def packed_size(self, versions: Iterable[restoring.KeptVersion]) -> int:
        """Return how many bytes some kept files take."""
        sizes = 0
        for version in versions:
            with opened(version.path) as (_, status):
                sizes += status.st_size
        return sizes

    def prune(self, *sessions: str, wait: float = LOCK_SECONDS) -> list[restoring.KeptVersion]:
        """Delete what `prunable` returns, and return it."""
        chosen = self.prunable(*sessions)
        self._place.delete(chosen, wait)
        return chosen

    def stakes(self, report: KeepReport | None = None) -> list[Stake]:
        """Return what Claude Code is about to delete that is not kept, for each of its folders.

        `report` is that of a run over all of them; without it, files are compared by size and times.
        """
        if report is None:
            report = KeepReport(self.name, True, tuple(self._place.reader().pending(self._source_files((), None))))
        lost = ("skipped", "failed") if not report.dry_run else ("skipped", "failed", "new", "grown", "rewritten")
        stakes: list[Stake] = []
        for folder in layout.config_folders():
            top = os.path.join(folder, layout.PROJECTS, "")
            below = [file for file in report.files if file.path.startswith(top) and _is_session(file.name)]
            if os.path.isdir(folder):
                unkept = (file.path for file in below if file.outcome in lost)
                stakes.append(at_stake(folder, (file.path for file in below), unkept))
        return stakes

    def size(self) -> tuple[int, int]:
        """Return how many sessions are kept, and how many bytes all files take."""
        sessions = total = 0
        for name, size in self._place.sizes():
            total += size
            sessions += _is_session(name)
        return sessions, total

    def _remember(self) -> None:
        """List this archive, so that its sessions are found by id."""
        is_named = self.folder in layout.archive_folders() or os.environ.get(layout.ARCHIVE_VARIABLE)
        if is_named or is_bucket_url(self.name):  # a bucket is asked only if it is named
            return
        store = layout.default_store()
        known = [str(folder) for folder in layout.archive_folders() if folder != store / layout.ARCHIVE]
        try:
            make_private_folder(store)
            write_atomic(store / layout.ARCHIVES, [jsontext.dumps([*known, str(self.folder)])])
        except (OSError, UnicodeError):  # it can still be named
            return

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

        path = resolve_session(session, root=folders)
        top = next((folder for folder in folders if path.is_relative_to(folder)), None)
        if top is None:
            raise NotFound(f"No session {session!r} in {self.name}; run `reread ls --root {self.name}` to list them.")
        main = os.path.relpath(path, top)
        own, id = os.path.splitext(main)[0] + os.sep, path.stem  # noqa: PTH122
        agents = {os.path.relpath(agent, top) for agent in layout.agent_files(path, [id]).values()}
        agents |= {os.path.splitext(agent)[0] + ".meta.json" for agent in agents}  # noqa: PTH122
        beside = tuple(os.path.join(name, id) + end for name in BESIDE_PROJECTS for end in (os.sep, "-agent-"))
        return lambda folder, name: (
            folder == top and (name == main or name in agents or name.startswith((own, *beside)))
        )

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
    Only what changed since the last time is read. `to` is a folder or the address of a
    bucket, `s3://BUCKET/FOLDER`; by default, a folder of reread's own.
    """
    return Archive(to).keep(*sources, root=root, dry_run=dry_run, progress=progress)
