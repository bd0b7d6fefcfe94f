"""Session headers: what the first and last bytes of a file say of its session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.base.paths import normalize_folder
from reread.base.text import as_title
from reread.base.times import TimeLike, parse_period_ms, parse_timestamp
from reread.catalog.annotations import Annotations
from reread.catalog.moved_projects import moved_folders, moved_to
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, DerivedValues, encoded
from reread.disk.file_set import gone_files
from reread.disk.gone_sessions import histories, prompt_paths
from reread.disk.reverse_lines import open_lines_backwards
from reread.disk.states import one_moment
from reread.disk.transcript_file import open_transcript
from reread.errors import Unreadable, naming_file
from reread.model.titles import REACH, TitleSearch
from reread.records import dialects
from reread.records.decode import Record
from reread.storage.kept_file import kept_path, stat_file
from reread.storage.prompt_history import is_prompts
from reread.storage.safe_open import OpenFile, status_of

PEEK = 1 << 14
"""Bytes read at once from the start of a file."""
TAIL = 1 << 16
"""Bytes read from the end of a file."""
LONGEST = 1 << 23
"""A line that begins within `REACH` is read if it ends within this many bytes."""
NO_TITLE = ("(empty)", "(no prompt)")
TITLES = (b'"custom-title"', b'"ai-title"', b'"summary"')
"""A part of every line with a title."""
NODE = b'{"parentUuid":'
"""How nearly every line of the tree begins; such a line has no title."""
STAMP = b'"timestamp"'
"""A part of every line with a time."""
FARTHEST = 1 << 26
"""How many bytes before the end of a file the last record with a time is looked for."""
TABLE, FORMAT = "headers", 5
"""Where the catalogue keeps headers; change the format when they would be read differently now."""


class Header(msgspec.Struct, frozen=True):
    """A session as a line in a list. Every function that takes a path takes it, too: `reread.open(header)`."""

    id: str
    path: str
    title: str
    project: str
    project_guessed: bool
    """True if no record names the folder, so that it is a guess by the file's place."""
    git_branch: str | None
    version: str | None
    model: str | None
    started: datetime | None
    updated: datetime | None
    size: int
    """Bytes."""
    title_guessed: bool = False
    """True if there is neither a title nor a prompt, so that it is the prompt of the captured command, a command or
    the first answer."""
    captured: bool = False
    """True if it is a captured conversation; its id is that of the conversation."""
    sessions: tuple[str, ...] = ()
    """The ids of Claude Code's sessions at its start and its end."""
    kept: bool = False
    """True if `reread keep` has a copy of it."""
    gone: bool = False
    """True if only that copy is left."""
    starred: bool = False
    note: str = ""
    """The notes of a person about it, made in the reader."""
    prompts_only: bool = False
    """True if only its prompts are left, in the history of what was typed."""
    moved_from: str | None = None
    """The folder that it ran in, if the configuration says that this is `project` now."""

    def __fspath__(self) -> str:
        return self.path


def read_header(path: str | Path) -> Header:
    """Read the header of one session file."""
    try:
        with open_transcript(path) as file:
            stat = status_of(file)
            first, last = _HeaderScan(), _HeaderScan()
            begin = chunk = file.read(PEEK)
            while chunk:
                rest = first.scan_forward(chunk)
                if first.titles.prompt is not None or first.position >= REACH:
                    break
                if file.tell() >= min(stat.st_size, LONGEST):
                    break
                chunk = rest + file.read(max(PEEK * 4, len(rest)))
            if stat.st_size > len(begin):
                file.seek(max(0, stat.st_size - TAIL))
                begin = file.read(TAIL)
            last.scan_backward(begin, whole=stat.st_size <= len(begin))
            if last.stamp is None and stat.st_size > len(begin):
                last.stamp = _last_stamp(file)
    except OSError as error:
        raise Unreadable.at(path, error) from error
    return _header(path, stat_file(path).st_size, stat.st_mtime, first, last)


def _last_stamp(file: OpenFile) -> str | None:
    """Return the time of the last record that has one: those after it may be longer than what is read first."""
    for line in open_lines_backwards(file, FARTHEST):
        stamp = Record(0, 0, line).envelope.timestamp if STAMP in line else None
        if parse_timestamp(stamp) is not None:
            return stamp
    return None


def _header(path: str | Path, size: int, modified: float, first: _HeaderScan, last: _HeaderScan) -> Header:
    titles = first.titles
    silent = (titles.prompt or titles.command or titles.rest) is None
    summary = last.summary or (first.summary if silent else None)
    title = last.custom_title or first.custom_title or last.ai_title or first.ai_title or summary or titles.prompt
    guess = "" if title else as_title(first.prompted or "") or titles.command or titles.rest or ""
    cwd = first.cwd or last.cwd
    found = tuple(dict.fromkeys(id for id in (first.session, last.session) if id))
    stem = Path(path).stem  # a resumed or forked session may begin with lines of the one that it continues
    return Header(
        id=first.conversation or (found[0] if found and stem not in found else stem),
        path=str(path),
        title=title or guess or NO_TITLE[size > 0],
        title_guessed=bool(guess),
        project=normalize_folder(cwd) if cwd else layout.guess_project(Path(path)),
        project_guessed=cwd is None,
        git_branch=last.git_branch or first.git_branch,
        version=last.version or first.version,
        model=last.model or first.model,
        started=parse_timestamp(first.stamp),
        # The time of the file is that of its last copy, checkout or download, and says nothing if a record has one.
        updated=parse_timestamp(last.stamp or first.stamp) or datetime.fromtimestamp(modified, UTC),
        size=size,
        captured=first.conversation is not None,
        sessions=found,
        prompts_only=is_prompts(path),
    )


class _HeaderScan:
    """The content of a few lines; the first value of each field counts."""

    def __init__(self) -> None:
        self.conversation: str | None = None
        """The conversation that the first line was captured into."""
        self.session: str | None = None
        self.cwd: str | None = None
        self.git_branch: str | None = None
        self.version: str | None = None
        self.model: str | None = None
        self.stamp: str | None = None
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.summary: str | None = None
        self.titles = TitleSearch()
        self.position = 0
        """Where the next line begins that was not scanned whole."""
        self.prompted: str | None = None
        """The prompt of a captured command."""
        self._seen: bytes | None = None

    def scan_forward(self, data: bytes) -> bytes:
        """Scan whole lines from the start and return the rest."""
        at = 0
        while self.titles.prompt is None and (end := data.find(b"\n", at)) >= 0:
            self._note(data[at:end])
            self.position += end + 1 - at
            at = end + 1
        rest = data[at:]
        if self.titles.prompt is None and rest.endswith(b"}"):
            self._note(rest)
        return rest

    def scan_backward(self, data: bytes, *, whole: bool) -> None:
        """Scan lines from the end: all until everything but a title is known, then those that may hold one."""
        self._seen = data
        end, known = len(data), False
        while end > 0 and not (known and self.custom_title):
            start = data.rfind(b"\n", 0, end)
            known = known or self._is_complete()
            if (start >= 0 or whole) and not (known and data.startswith(NODE, start + 1)):
                line = data[start + 1 : end]
                if not known or any(mark in line for mark in TITLES):
                    self._note(line)
            end = start

    def _is_own(self, leaf: str | None) -> bool:
        """True if a summary belongs to this file: files begin with summaries of other sessions."""
        if self._seen is None or leaf is None:
            return self._seen is None
        return any(f'"uuid":{space}"{leaf}"'.encode() in self._seen for space in ("", " "))

    def _is_complete(self) -> bool:
        return None not in (self.session, self.cwd, self.git_branch, self.version, self.model, self.stamp)

    def _note(self, line: bytes) -> None:
        if not line.strip():
            return
        record = Record(0, 0, line)
        envelope = record.envelope
        if record.dialect == dialects.stored.NAME:
            self.conversation = self.conversation or str(record.value.get("conversationId") or "") or None
            self.prompted = self.prompted or dialects.stored.run_prompt(record.value)
        self.session = self.session or envelope.sessionId
        self.cwd = self.cwd or envelope.cwd
        self.git_branch = self.git_branch or envelope.gitBranch
        self.version = self.version or envelope.version
        if self.stamp is None and parse_timestamp(envelope.timestamp) is not None:
            self.stamp = envelope.timestamp
        self.custom_title = self.custom_title or envelope.customTitle
        self.ai_title = self.ai_title or envelope.aiTitle
        if envelope.summary and envelope.type == "summary" and self.summary is None and self._is_own(envelope.leafUuid):
            summary = jsontext.loads_clean(bytes(envelope.summary))
            self.summary = summary if isinstance(summary, str) else None
        model = (envelope.message.model if envelope.message else None) or envelope.model
        if model and not model.startswith("<"):
            self.model = self.model or model
        if self.position < REACH:
            self.titles.read(record)


_decode_header = msgspec.msgpack.Decoder(Header).decode


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
    with closing(DerivedValues(TABLE, format=FORMAT)) as values:
        known = values.derived(None if folders else [_absolute(path) for path in paths])
        present: set[str] = set()
        fresh: list[DerivedValue] = []
        states = _states(paths)
        for path in paths:
            key = _absolute(path)
            present.add(key)
            try:
                with naming_file(path):
                    header = _known_header(path, key, states[path], known, fresh)
            except FileNotFoundError:
                continue
            except (OSError, Unreadable) as error:
                if on_error is not None:
                    on_error(error if isinstance(error, Unreadable) else Unreadable.at(path, error))
                continue
            yield header if header.path == str(path) else msgspec.structs.replace(header, path=str(path))
        gone = gone_files(known, present, map(_absolute, folders))
        if fresh or gone:
            values.save(fresh, gone)


def _absolute(path: str | Path) -> str:
    """Return an absolute path; one that is absolute needs no working directory, which may have been deleted."""
    return str(path) if os.path.isabs(path) else os.path.abspath(path)  # noqa: PTH100, PTH117


def _states(paths: Iterable[str | Path]) -> dict[str | Path, FileState | OSError]:
    """Return the states of files as they are in one moment."""
    found: dict[str | Path, FileState | OSError] = {}
    with one_moment():
        for path in paths:
            try:
                found[path] = FileState.at(path)
            except OSError as error:
                found[path] = error
    return found


def _known_header(
    path: str | Path, key: str, state: FileState | OSError, known: Mapping[str, DerivedValue], fresh: list[DerivedValue]
) -> Header:
    """Return a header from the catalogue, or read it and add it to `fresh`."""
    if isinstance(state, OSError):
        raise state
    stored = known.get(key)
    if stored is not None and stored.state == state:
        with suppress(*jsontext.DECODE_ERRORS):
            return _decode_header(stored.value)
    header = read_header(path)
    value = encoded(header)
    if value is not None:
        fresh.append(DerivedValue(key, state, state.size, b"", value))
    return header


def sessions(
    *,
    project: str | Path | Sequence[str | Path] | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    prompts: bool = False,
    root: str | Path | Sequence[str | Path] | None = None,
    on_error: Callable[[Unreadable], None] | None = None,
) -> Iterator[Header]:
    """Yield the headers of all sessions, newest first; no file is read in full.

    `project` is one folder or several, subfolders included, or the name of a project. `since` and `until` are a
    datetime or a text such as `7d` or `tuesday`: sessions that were active between them are listed. With `prompts`,
    so are sessions of which only the prompts are left, in `history.jsonl`. `on_error` is called for each file that
    cannot be read.
    """
    roots = [root] if isinstance(root, str | Path) else root
    test = header_test(project=project, since=since, until=until)
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


class _Annotating:
    """Adds stars and notes to headers."""

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self._known = Annotations(roots=roots).all()

    def add(self, header: Header) -> Header:
        found = self._known.get(header.id)
        return header if found is None else msgspec.structs.replace(header, starred=found.starred, note=found.note)


class KeptMarks:
    """Tells which sessions are kept, and which of these are gone from Claude Code's folder."""

    def __init__(self) -> None:
        self._copies = [str(folder) for folder in layout.archive_folders() if layout.is_archive(folder)]
        self._originals = [str(folder) for folder in layout.config_folders()]

    def mark(self, header: Header) -> Header:
        """Return a header that says whether its session is kept, and gone."""
        folder = next((above for above in Path(header.path).parents if above.name == layout.PROJECTS), None)
        if folder is None or header.captured:
            return header
        kept = not os.path.lexists(header.path)
        if not kept and not self._copies:
            return header
        name = os.path.relpath(header.path, folder.parent)
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
) -> Callable[[Header], bool]:
    """Return a test for the sessions of some projects that were active in a period."""
    folders = layout.expand_folders(project)
    first, last = parse_period_ms(since, until, None)

    def test(header: Header) -> bool:
        if folders and not any(layout.is_within(one, folders) for one in (header.project, header.moved_from) if one):
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
    other = next((transcripts[id] for id in header.sessions if id in transcripts), None)
    if not header.captured or other is None:
        return header
    untitled = header.title in NO_TITLE or (header.title_guessed and other.title not in NO_TITLE)
    title = other.title if untitled else header.title
    return msgspec.structs.replace(header, title=title, git_branch=header.git_branch or other.git_branch)


def _recency(header: Header) -> tuple[datetime, str]:
    return (header.updated or datetime.fromtimestamp(0, UTC), header.id)
