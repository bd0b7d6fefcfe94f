"""An archive: a folder with copies of sessions, and all that can be done with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from reread.archive import restore as restoring
from reread.archive.prune import delete, superseded, tidy
from reread.archive.retention import Stake, at_stake
from reread.archive.source_files import BESIDE_PROJECTS, SourceFile, files_below, files_of_session
from reread.archive.sync import FileOutcome, Progress, Sync
from reread.archive.sync_state import FOLDER, SyncState
from reread.archive.verify import KeptEntry, KeptProblem, kept_files, kept_sizes, verify
from reread.base import jsontext
from reread.disk import layout
from reread.disk.atomic import write_atomic
from reread.disk.lock import lock
from reread.disk.regular import make_private_folder, open_descriptor
from reread.errors import Misuse, NotFound, Unwritable

LOCK_NAME = "lock"
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
    """A folder with copies of sessions, which every function reads as it reads Claude Code's own folder."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(os.path.abspath(layout.expand_path(folder))) if folder else layout.default_archive()  # noqa: PTH100

    def keep(
        self,
        *sources: Source,
        root: str | Path | Sequence[str | Path] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        wait: float = LOCK_SECONDS,
    ) -> KeepReport:
        """Copy what changed in some sessions or folders, by default in all of Claude Code's."""
        files = list(self._source_files(sources, root))
        if dry_run:
            return KeepReport(str(self.folder), True, tuple(Sync(self.folder).pending(files)))
        with self._locked(wait):
            self._remember()
            sync = Sync(self.folder, progress=progress)
            tidy(self.folder)
            return KeepReport(str(self.folder), False, tuple(sync.run(files)))

    def pending_bytes(self, *sources: Source, root: str | Path | Sequence[str | Path] | None = None) -> int:
        """Return about how many bytes a run would read."""
        files = Sync(self.folder).pending(self._source_files(sources, root))
        return sum(file.size for file in files if file.outcome not in ("unchanged", "skipped", "failed"))

    def verify(self, progress: Progress | None = None) -> Iterator[KeptEntry | KeptProblem]:
        """Read everything that is kept; yield each file that is as it was written, and every problem."""
        layout.require_folder(self.folder)
        yield from verify(self.folder, progress)

    def restore(
        self,
        *sessions: str,
        to: str | Path,
        generation: int | None = None,
        progress: Progress | None = None,
    ) -> list[restoring.RestoredFile]:
        """Write the files of some sessions, or of all, below a folder, as they were below Claude Code's.

        `generation` chooses an earlier one of files that were rewritten; 1 is the first.
        """
        layout.require_folder(self.folder)
        chosen: dict[str, restoring.KeptVersion] = {}
        for version in self.versions(*sessions):
            if version.name not in chosen or generation is None or version.generation <= generation:
                chosen[version.name] = version
        return restoring.restore(chosen.values(), layout.expand_path(to), progress)

    def prunable(self, *sessions: str) -> list[restoring.KeptVersion]:
        """Return what `prune` deletes: all that is kept of some sessions, or without any, earlier generations."""
        layout.require_folder(self.folder)
        versions = self.versions(*sessions)
        return versions if sessions else superseded(versions)

    def prune(self, *sessions: str, wait: float = LOCK_SECONDS) -> list[restoring.KeptVersion]:
        """Delete what `prunable` returns, and return it."""
        with self._locked(wait):
            chosen = self.prunable(*sessions)
            delete(self.folder, chosen)
            state = SyncState(self.folder)
            state.drop_names({os.fsencode(version.name) for version in chosen})
            state.save()
        return chosen

    def stakes(self, report: KeepReport | None = None) -> list[Stake]:
        """Return what Claude Code is about to delete that is not kept, for each of its folders.

        `report` is that of a run over all of them; without it, files are compared by size and times.
        """
        if report is None:
            report = KeepReport(str(self.folder), True, tuple(Sync(self.folder).pending(self._source_files((), None))))
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
        for folder, name, size in kept_sizes(self.folder):
            total += size
            sessions += _is_session(os.path.join(folder, name))
        return sessions, total

    def _remember(self) -> None:
        """List this archive, so that its sessions are found by id."""
        if self.folder in layout.archive_folders() or os.environ.get(layout.ARCHIVE_VARIABLE):
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
        found = [restoring.KeptVersion(path, name, generation) for path, name, generation in kept_files(self.folder)]
        tests = [self._test(session) for session in sessions]
        wanted = [one for one in found if not tests or any(test(one.name) for test in tests)]
        return sorted(wanted, key=lambda version: (version.name, version.generation))

    def _test(self, session: str) -> Callable[[str], bool]:
        """Return a test for the names of the files of a session."""
        from reread.catalog.resolve import resolve_session

        path = resolve_session(session, root=self.folder)
        if not path.is_relative_to(self.folder):
            raise NotFound(
                f"No session {session!r} in {self.folder}; run `reread ls --root {self.folder}` to list them."
            )
        main = os.path.relpath(path, self.folder)
        own, id = os.path.splitext(main)[0] + os.sep, path.stem  # noqa: PTH122
        agents = {os.path.relpath(agent, self.folder) for agent in layout.agent_files(path, [id]).values()}
        agents |= {os.path.splitext(agent)[0] + ".meta.json" for agent in agents}  # noqa: PTH122
        beside = tuple(os.path.join(name, id) + end for name in BESIDE_PROJECTS for end in (os.sep, "-agent-"))
        return lambda name: name == main or name in agents or name.startswith((own, *beside))

    def _source_files(
        self, sources: Sequence[Source], root: str | Path | Sequence[str | Path] | None
    ) -> Iterator[SourceFile]:
        """Yield the files to keep, each once."""
        seen: set[str] = set()
        for folder, files in self._sources(sources, root):
            self._refuse_overlap(folder)
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
                found = resolve_session(name, root=[*roots] if roots else layout.config_folders())
                if not os.path.lexists(found):
                    raise NotFound(f"No file {found}; run `reread ls` to list sessions.", path=str(found))
                yield found.parent, files_of_session(found)

    def _refuse_overlap(self, source: Path) -> None:
        """Raise Misuse if the archive lies in what is kept, or in Claude Code's folder, or the other way round."""
        archive = Path(os.path.realpath(self.folder))
        for folder in (source, *layout.config_folders()):
            real = Path(os.path.realpath(folder))
            if archive.is_relative_to(real):
                raise Misuse(
                    f"Cannot keep sessions in {self.folder}: it lies in {folder}; use another folder for --to."
                )
        if Path(os.path.realpath(source)).is_relative_to(archive):
            raise Misuse(f"{source} lies in the archive {self.folder}; name the original.")

    @contextmanager
    def _locked(self, wait: float) -> Generator[None]:
        """Be the only writer for a while."""
        try:
            make_private_folder(self.folder / FOLDER)
            descriptor = open_descriptor(self.folder / FOLDER / LOCK_NAME, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise Unwritable.at(self.folder, error) from error
        try:
            if not lock(descriptor, wait=wait):
                raise Unwritable(f"Another process is writing into {self.folder}; try again later.")
            yield
        finally:
            os.close(descriptor)


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
    """Copy sessions, compressed and exact, into a folder where Claude Code does not delete them.

    Without sources, all sessions of Claude Code are kept, or those below `root`. A source is a session or a folder.
    Only what changed since the last time is read. `to` is the folder of the archive; by default, one of reread's own.
    """
    return Archive(to).keep(*sources, root=root, dry_run=dry_run, progress=progress)
