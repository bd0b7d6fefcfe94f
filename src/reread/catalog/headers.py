"""Session headers: what the first and last bytes of a file say of its session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reread.base.times import TimeLike, parse_period_ms
from reread.catalog.annotations import Annotations, wanted_tags
from reread.catalog.archived import is_archived
from reread.catalog.config import moved_folders, moved_to
from reread.catalog.header import NO_TITLE, Header
from reread.catalog.header_table import HeaderTable, KnownHeader, header_of
from reread.disk import layout
from reread.disk.cache import FileState, is_stale, states_at
from reread.disk.desktop import desktop_sessions
from reread.disk.file_set import gone_files
from reread.disk.gone_sessions import histories, prompt_paths
from reread.disk.projects import expand_folders, is_within
from reread.errors import Unreadable, naming_file
from reread.storage.kept_names import kept_path


def read_header(path: str | Path) -> Header:
    """Read the header of one session file."""
    from reread.catalog.header_scan import scan_header  # loaded late: a known listing reads no session

    return scan_header(path)


def read_headers(
    paths: Iterable[str | Path],
    folders: Iterable[str | Path] = (),
    *,
    on_error: Callable[[Unreadable], None] | None = None,
) -> Iterator[Header]:
    """Yield the headers of session files; a file that has not changed is not read, nor one that cannot be.

    `folders` are those of which `paths` are all sessions: the catalogue forgets others below them that are gone.
    `on_error` is called for each file that cannot be read, but not for one that is gone.
    """
    paths, folders = list(paths), list(folders)
    if not paths and not folders:
        return
    with closing(HeaderTable()) as table:
        known = table.known(None if folders else [_absolute(path) for path in paths])
        present: set[str] = set()
        fresh: list[KnownHeader] = []
        titled = DesktopTitles().add
        states = dict(states_at(paths))
        for path in paths:
            key = _absolute(path)
            present.add(key)
            state, (read, values) = states[path], known.get(key, (None, ()))
            header = header_of(key, values) if not is_stale(read, state) else None
            try:
                if header is None:
                    with naming_file(path):
                        header = _new_header(path, key, state, fresh)
            except FileNotFoundError:
                continue
            except (OSError, Unreadable) as error:
                if on_error is not None:
                    on_error(error if isinstance(error, Unreadable) else Unreadable.at(path, error))
                continue
            yield titled(header if header.path == str(path) else msgspec.structs.replace(header, path=str(path)))
        gone = gone_files(known, present, map(_absolute, folders))
        if fresh or gone:
            table.save(fresh, gone)


def _absolute(path: str | Path) -> str:
    """Return an absolute path; one that is absolute needs no working directory, which may have been deleted."""
    return str(path) if os.path.isabs(path) else os.path.abspath(path)  # noqa: PTH100, PTH117


def _new_header(path: str | Path, key: str, state: FileState | OSError, fresh: list[KnownHeader]) -> Header:
    """Read a header and add it to `fresh`."""
    if isinstance(state, OSError):
        raise state
    header = read_header(path)
    fresh.append(KnownHeader(key, state, header))
    return header


def sessions(
    *,
    project: str | Path | Sequence[str | Path] | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tag: str | Sequence[str] | None = None,
    prompts: bool = False,
    root: str | Path | Sequence[str | Path] | None = None,
    on_error: Callable[[Unreadable], None] | None = None,
) -> Iterator[Header]:
    """Yield the headers of all sessions, newest first; no file is read in full.

    `project` is one folder or several, subfolders included, or the name of a project. `since` and `until` are a
    datetime or a text such as `7d` or `tuesday`: sessions that were active between them are listed. With `tag`, only
    sessions with one of these tags are. With `prompts`, so are sessions of which only the prompts are left, in
    `history.jsonl`. `on_error` is called for each file that cannot be read.
    """
    roots = [root] if isinstance(root, str | Path) else root
    test = header_test(project=project, since=since, until=until, tag=tag)
    outside: list[str] = []
    found = list(read_headers(layout.session_paths(roots, outside), layout.session_folders(roots), on_error=on_error))
    if on_error is not None:
        for link in outside:
            on_error(Unreadable(layout.link_note(link), path=link))
    if prompts:
        present = {id for header in found for id in (header.id, Path(header.path).stem, *header.sessions)}
        found += read_headers(prompt_paths(roots, present), histories(roots), on_error=on_error)
    transcripts = {header.id: header for header in found if not header.captured}
    completed = map(KeptMarks().mark, (with_transcript(header, transcripts) for header in found))
    annotated = map(_Annotating(roots or ()).add, completed)
    moves = moved_folders()
    yield from filter(test, sorted((_moved(header, moves) for header in annotated), key=_recency, reverse=True))


def _moved(header: Header, moves: dict[str, str]) -> Header:
    """Return a header with the folder where its project is now."""
    now = moved_to(header.project, moves) if moves else None
    return header if now is None else msgspec.structs.replace(header, project=now, moved_from=header.project)


class DesktopTitles:
    """Gives the sessions of the desktop app the titles that they have there."""

    def __init__(self) -> None:
        self._known = desktop_sessions()

    def add(self, header: Header) -> Header:
        """Return a header with the title that the app shows."""
        found = self._known.get(header.id)
        if found is None:
            return header
        title, guessed = (found.title, False) if found.title else (header.title, header.title_guessed)
        return msgspec.structs.replace(
            header, title=title, title_guessed=guessed, desktop=True, archived=found.archived
        )


class _Annotating:
    """Adds stars, notes and tags to headers, and whether they are archived."""

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self._known = Annotations(roots=roots).all()

    def add(self, header: Header) -> Header:
        found = self._known.get(header.id)
        if found is not None:
            header = msgspec.structs.replace(header, starred=found.starred, note=found.note, tags=found.tags)
        return msgspec.structs.replace(header, archived=True) if is_archived(header) else header


class KeptMarks:
    """Tells which sessions are kept, and which of these are gone from Claude Code's folder."""

    def __init__(self) -> None:
        self._copies = [str(folder) for folder in layout.archive_folders() if layout.is_archive(folder)]
        self._originals = [str(folder) for folder in layout.config_folders()]

    def mark(self, header: Header) -> Header:
        """Return a header that says whether its session is kept, and gone."""
        _, found, name = os.path.abspath(header.path).rpartition(f"{os.sep}{layout.PROJECTS}{os.sep}")  # noqa: PTH100
        if not found or header.captured:
            return header
        kept = not os.path.lexists(header.path)
        if not kept and not self._copies:
            return header
        name = os.path.join(layout.PROJECTS, name)
        return msgspec.structs.replace(
            header,
            kept=kept or any(kept_path(os.path.join(copies, name)) for copies in self._copies),
            gone=kept and not any(os.path.lexists(os.path.join(root, name)) for root in self._originals),
        )


def header_test(
    *,
    project: str | Path | Sequence[str | Path] | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    tag: str | Sequence[str] | None = None,
) -> Callable[[Header], bool]:
    """Return a test for the sessions of some projects, with one of some tags, that were active in a period."""
    folders = expand_folders(project)
    tags = wanted_tags(tag)
    first, last = parse_period_ms(since, until, None)

    def test(header: Header) -> bool:
        if folders and not any(is_within(one, folders) for one in (header.project, header.moved_from) if one):
            return False
        if tags and tags.isdisjoint(header.tags):
            return False
        if first is not None and (header.updated is None or header.updated.timestamp() * 1000 < first):
            return False
        began = header.started or header.updated
        return last is None or (began is not None and began.timestamp() * 1000 < last)

    return test


def captures_of(session: str, roots: Sequence[str | Path] | None = None) -> list[Path]:
    """Return the captured conversations that begin or end with a session, newest first."""
    headers = read_headers(layout.captured_files(roots))
    found = [header for header in headers if header.captured and session in header.sessions]
    return [Path(header.path) for header in sorted(found, key=_recency, reverse=True)]


def with_transcript(header: Header, transcripts: Mapping[str, Header]) -> Header:
    """Return a captured conversation's header, completed from the transcript of its session."""
    if not header.captured:
        return header
    other = next((transcripts[id] for id in header.sessions if id in transcripts), None)
    if other is None:
        return header
    untitled = header.title in NO_TITLE or (header.title_guessed and other.title not in NO_TITLE)
    title = other.title if untitled else header.title
    return msgspec.structs.replace(header, title=title, git_branch=header.git_branch or other.git_branch)


def _recency(header: Header) -> tuple[datetime, str]:
    return (header.updated or datetime.fromtimestamp(0, UTC), header.id)
