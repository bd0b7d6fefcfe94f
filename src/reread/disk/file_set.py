"""The sweep: all transcripts below some folders, of sessions and agents, with the state of each."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.kept import file_exists

WITHOUT_RECORDS = frozenset({"tool-results", "memory"})
"""Folders that belong to a session and contain no records."""


class FileSet(msgspec.Struct):
    """Some transcripts as a sweep found them. Everything that is derived from files compares itself with this."""

    states: dict[str, FileState] = {}
    """The state of each file by its absolute path."""
    folders: list[str] = []
    """Folders of which all transcripts are among the files."""
    failures: list[str] = []
    """Filled while files are read: what is wrong with those whose content makes reading fail."""

    def add_folder(self, folder: str | Path) -> None:
        """Add all transcripts below a folder."""
        whole = str(Path(folder).absolute())
        found = dict(sweep(whole))
        if layout.is_archive(Path(whole).parent):  # of what is kept, only that counts of which the original is gone
            for path in [path for path in found if self._has_original(path[len(whole) :])]:
                del found[path]
        self.folders.append(whole)
        self.states |= found

    def _has_original(self, below: str) -> bool:
        return any(folder + below in self.states for folder in self.folders)

    def restated(self, paths: Iterable[str]) -> FileSet | None:
        """Return the files with the present states of some of them; None if one is new or gone."""
        states = dict(self.states)
        for path in paths:
            if path not in states:
                return None
            try:
                states[path] = FileState.at(path)
            except OSError:
                return None
        return FileSet(states, self.folders)

    def gone(self, known: Iterable[str]) -> list[str]:
        """Return the known files below the folders that no longer exist."""
        return gone_files(known, self.states, self.folders)


def find_files(roots: Sequence[str | Path] | None = None, paths: Iterable[Path] = ()) -> FileSet:
    """Find all transcripts below some folders, by default of this machine, and some files."""
    files, named = FileSet(), list(paths)
    for path in named:
        with suppress(OSError):
            files.states[str(path.absolute())] = FileState.at(path)
    for folder in layout.session_folders(roots) if roots or not named else ():
        files.add_folder(folder)
    return files


def sweep(folder: str) -> Iterator[tuple[str, FileState]]:
    """Yield every transcript below a folder, of sessions and agents, with its state."""
    for path, _ in layout.jsonl_files(folder, skip=WITHOUT_RECORDS):
        if os.path.basename(path) not in layout.NON_SESSION_FILES:
            with suppress(OSError):  # deleted in the meantime
                yield path, FileState.at(path)


def gone_files(known: Iterable[str], present: Collection[str], folders: Iterable[str]) -> list[str]:
    """Return the known files below some folders that are not among the present ones and no longer exist."""
    tops = tuple(os.path.join(folder, "") for folder in folders)
    missing = (path for path in known if path not in present and path.startswith(tops))
    return [path for path in missing if not file_exists(path)]
