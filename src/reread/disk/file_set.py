"""The sweep: all transcripts below some folders, of sessions and agents, with the state of each."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk import layout
from reread.disk.agent_files import session_of
from reread.disk.cache import FileState, states_at
from reread.disk.gone_sessions import histories, prompt_states
from reread.disk.layout import leading_files, name_without_project
from reread.storage.kept_file import file_exists

OWN, NAMED = "own", "named"
"""The names of the sessions of this machine, and of files that somebody named."""
WITHOUT_RECORDS = frozenset({"tool-results", "memory"})
"""Folders that belong to a session and contain no records."""


class FileSet(msgspec.Struct):
    """Some transcripts as a sweep found them. Everything that is derived from files compares itself with this."""

    states: dict[str, FileState] = {}
    """The state of each file by its absolute path."""
    folders: list[str] = []
    """Folders of which all transcripts are among the files."""
    failures: list[str] = []
    """The problems of files whose content makes reading fail, and of links that are not followed."""
    name: str = OWN
    """The name of what was asked for, folders or files: the index of all of them is kept under it."""

    @property
    def state(self) -> tuple[object, ...]:
        """A value that changes when one of the files does."""
        return tuple((path, *state) for path, state in sorted(self.states.items()))

    def session_states(self) -> dict[str, bytes]:
        """Return the state of all files of each session, by the path of its own file."""
        found: dict[str, FileSet] = {}
        for path, state in self.states.items():
            found.setdefault(_session_file(path), FileSet({})).states[path] = state
        return {session: stored_state(files) for session, files in found.items()}

    def add_folder(self, folder: str | Path) -> None:
        """Add all transcripts below a folder."""
        self.add_folders([folder])

    def add_folders(self, folders: Iterable[str | Path]) -> None:
        """Add all transcripts below some folders."""
        superseded: list[tuple[str, str]] = []
        for folder in folders:
            self._sweep(folder, superseded)
        self._add_superseded(superseded)

    def _sweep(self, folder: str | Path, superseded: list[tuple[str, str]]) -> None:
        whole = str(Path(folder).absolute())
        left: list[str] = []
        outside: list[str] = []
        paths = list(transcript_paths(whole, outside, left))
        if layout.is_archive(Path(whole).parent):  # of what is kept, only that counts of which the original is gone
            lead = leading_files(whole, paths, self._keys(), layout.archive_folders())
            paths = [path for path in paths if path in lead]
        self.folders.append(whole)
        self.states |= {path: state for path, state in states_at(paths) if isinstance(state, FileState)}
        self.failures += map(layout.link_note, outside)
        superseded += [(path, name_without_project(whole, path)) for path in left]

    def _keys(self) -> dict[str, list[str]]:
        """Return its files by what they are called in whatever project their sessions are."""
        tops = [(folder, os.path.join(folder, "")) for folder in self.folders]
        found: dict[str, list[str]] = {}
        for top, start in tops:
            for path in self.states:
                if path.startswith(start):
                    found.setdefault(name_without_project(top, path), []).append(path)
        return found

    def _add_superseded(self, superseded: list[tuple[str, str]]) -> None:
        """Add files of which only a superseded one is left, unless the session is there under its own name."""
        known = self._keys() if superseded else {}
        for path, key in sorted(superseded, reverse=True):
            if key not in known:
                known[key] = [path]
                with suppress(OSError):
                    self.states[path] = FileState.at(path)

    def add_prompts(self, roots: Sequence[str | Path] | None) -> None:
        """Add sessions of which only the prompts are left, in the histories of some folders or of this machine."""
        present = {os.path.basename(path).removesuffix(".jsonl") for path in self.states}
        self.states |= prompt_states(roots, present)
        self.folders += histories(roots)

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
        return FileSet(states, self.folders, name=self.name)

    def gone(self, known: Iterable[str]) -> list[str]:
        """Return the known files below the folders that no longer exist."""
        return gone_files(known, self.states, self.folders)


def stored_state(files: FileSet) -> bytes:
    """Return the state of some files as it is stored with what was derived of them."""
    return jsontext.dumps(files.state)


def _session_file(path: str) -> str:
    """Return the path of the session's file that a transcript belongs to."""
    folder, name = os.path.split(path)
    if not name.startswith(layout.AGENT_PREFIX):
        return path
    session, mark, _ = path.partition(f"{os.sep}{layout.SUBAGENTS}{os.sep}")
    return f"{session}.jsonl" if mark else str(session_of(Path(path), Path(folder).parent) or path)


def find_files(
    roots: Sequence[str | Path] | None = None, paths: Iterable[Path] = (), *, prompts: bool = False
) -> FileSet:
    """Find all transcripts below some folders, by default of this machine, and some files.

    With `prompts`, also sessions of which only the prompts are left.
    """
    named = list(paths)
    files = FileSet(name=_name_of(roots) if roots else NAMED if named else OWN)
    for path in named:
        with suppress(OSError):
            files.states[str(path.absolute())] = FileState.at(path)
    if roots or not named:
        files.add_folders(layout.session_folders(roots))
        if prompts:
            files.add_prompts(roots)
    return files


def _name_of(roots: Sequence[str | Path]) -> str:
    """Return a name for some folders, whatever their order."""
    from hashlib import blake2b  # loaded late: it loads OpenSSL

    folders = sorted({os.path.realpath(layout.expand_path(root)) for root in roots})
    return blake2b(os.fsencode("\0".join(folders)), digest_size=8).hexdigest()


def transcript_paths(folder: str, outside: list[str], superseded: list[str]) -> Iterator[str]:
    """Yield every transcript below a folder, of sessions and agents; see `layout.jsonl_files`."""
    for path, _ in layout.jsonl_files(folder, skip=WITHOUT_RECORDS, outside=outside, superseded=superseded):
        if os.path.basename(path) not in layout.NON_SESSION_FILES:
            yield path


def gone_files(known: Iterable[str], present: Collection[str], folders: Iterable[str]) -> list[str]:
    """Return the known files below some folders that are not among the present ones and no longer exist."""
    tops = tuple(os.path.join(folder, "") for folder in folders)
    missing = (path for path in known if path not in present and path.startswith(tops))
    return [path for path in missing if not file_exists(path)]
