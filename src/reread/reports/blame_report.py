"""Who wrote each line of a file on this machine: which session, turn and prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from reread.base.paths import comparable_path, path_name
from reread.base.text import one_line
from reread.base.times import parse_json_time
from reread.disk import layout
from reread.errors import Misuse, NotFound, RereadError, Unreadable
from reread.facts.file_changes import PROMPT_LENGTH
from reread.facts.sessions import Progress, open_sessions
from reread.facts.store import FactStore, answered
from reread.git.notes import CommittedLine, blamed_commits, read_notes
from reread.git.repository import Repository
from reread.history.blame_lines import LineBlame, LineOrigin
from reread.history.file_text import FileText
from reread.history.line_trace import differing_ranges, line_numbers
from reread.reports.file_index import FileIndex, names_file
from reread.storage.safe_open import open_plain

LARGEST = 64 << 20
_RANGE = re.compile(r"(\d{1,9})(?:(-)(\d{1,9})?)?", re.ASCII)


class BlamedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file, and the session that wrote it."""

    number: int
    text: str
    session: str | None = None
    """The session's id; None if no session wrote the line."""
    path: str | None = None
    """The session's file."""
    turn: int | None = None
    prompt: str | None = None
    """The beginning of the prompt."""
    agent: str | None = None
    call: str | None = None
    time: datetime | None = None
    evidence: str | None = None
    """`session` if a session on this machine wrote the line, `note` if a git note says so, and `trailer` if only the
    commit names a session; None if no session is known."""
    guess: bool = False
    """True if a note says that it is a guess."""
    commit: str | None = None
    """The commit that the note or the trailer is about."""


def blame(
    path: str | os.PathLike[str],
    *,
    lines: str | None = None,
    recorded_as: str | None = None,
    text: str | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
    unread: list[str] | None = None,
) -> list[BlamedLine]:
    """Return each line of a file, or lines such as `10-20`, with the session, turn and prompt that wrote it.

    `recorded_as` is the path that the file has in sessions, or the end of it, if the file is now somewhere else. `text`
    is what the file says, if that is not saved yet: then it need not exist. For lines that no session wrote, git notes
    and trailers of the commits that have them are asked. Sessions that cannot be read go to `unread`.
    """
    file = Path(os.path.normpath(layout.expand_path(os.fspath(path)).absolute()))
    data = _read(file) if text is None else text.encode("utf-8", "replace")
    text = FileText.from_bytes(data).text
    rows = text.split("\n")[: -1 if text.endswith("\n") else None] if text else []
    first, last = parse_lines(lines, len(rows)) if lines is not None else (1, len(rows))
    paths = list(layout.session_files([root] if isinstance(root, str | Path) else root))
    numbers = line_numbers(text)

    def ask(store: FactStore) -> Sequence[LineOrigin | None]:
        index = FileIndex(store, open_sessions(store, paths, progress=progress, unread=unread))
        name = _name_here(index, file) if recorded_as is None else _recorded_name(index, recorded_as)
        return LineBlame(index.traces_of, name).of(numbers)

    origins = answered(ask)
    blamed = [_blamed(number, rows[number - 1], origins[number - 1]) for number in range(first, last + 1)]
    if all(line.session for line in blamed):
        return blamed
    noted = _noted_lines(file, data, first, last)
    for at, line in enumerate(blamed):
        if line.session is None and line.number in noted:
            blamed[at] = msgspec.structs.replace(noted[line.number], text=line.text)
    return blamed


def _noted_lines(file: Path, data: bytes, first: int, last: int) -> dict[int, BlamedLine]:
    """Return what git notes and trailers say about lines of a file that commits have."""
    try:
        repository = Repository(file.parent)
        name = Path(os.path.realpath(file)).relative_to(os.path.realpath(repository.top)).as_posix()
        committed = _committed_lines(repository, name, data, first, last)
        notes = read_notes(repository, {origin.commit for origin in committed.values()})
        named = {one.sha: one.session for one in repository.known_commits(o.commit for o in committed.values())}
    except (RereadError, ValueError):  # no repository, no git, or one that it cannot read: then nothing is noted
        return {}
    found: dict[int, BlamedLine] = {}
    for number, origin in committed.items():
        note = notes.get(origin.commit)
        said = note.line(origin.path, origin.line) if note is not None else None
        session = named.get(origin.commit)
        if said is not None:
            found[number] = BlamedLine(
                number=number,
                text="",
                session=said.session,
                turn=said.turn,
                prompt=one_line(said.prompt, PROMPT_LENGTH) if said.prompt else None,
                evidence="note",
                guess=said.guess,
                commit=origin.commit,
            )
        elif session is not None:
            found[number] = BlamedLine(
                number=number, text="", session=session, evidence="trailer", commit=origin.commit
            )
    return found


def _committed_lines(repository: Repository, name: str, data: bytes, first: int, last: int) -> dict[int, CommittedLine]:
    """Return where lines of a file come from, by their numbers now; those that were never committed are left out."""
    blob = repository.object_of(f"HEAD:{name}")
    text = next((found for _, found in repository.texts([blob])), None) if blob is not None else None
    if text is None:  # no commit has the file
        return {}
    old, new = (line_numbers(FileText.from_bytes(each).text) for each in (text, data))
    ends = (len(old), len(old), len(new), len(new))
    numbers: dict[int, int] = {}
    at = new_at = 0
    for start, end, new_start, new_end in (*differing_ranges(old, new), ends):
        numbers |= dict(zip(range(new_at + 1, new_start + 1), range(at + 1, start + 1), strict=True))
        at, new_at = end, new_end
    numbers = {number: line for number, line in numbers.items() if first <= number <= last}
    if not numbers:
        return {}
    blamed = blamed_commits(repository, name, min(numbers.values()), max(numbers.values()))
    return {number: blamed[line] for number, line in numbers.items() if line in blamed}


def _name_here(index: FileIndex, file: Path) -> str:
    """Return the path of a file on this machine as sessions know it."""
    real = os.path.realpath(file)
    return real if real != str(file) and not index.has(str(file)) else str(file)


def _recorded_name(index: FileIndex, typed: str) -> str:
    """Return the only path in sessions that is or ends like the one that was typed."""
    test = names_file(typed)
    found = {comparable_path(path): path for paths in index.paths.values() for path in paths if test(path)}
    if not found:
        raise NotFound(f"No session changed a file {typed!r}.", path=typed)
    if len(found) > 1:
        some = ", ".join(sorted(found.values())[:5])
        raise Misuse(f"Sessions changed {len(found)} files that end with {typed!r}; name more of the path: {some}.")
    return next(iter(found.values()))


def _read(path: Path) -> bytes:
    """Return the bytes of the file that was asked for: nothing that a transcript names is opened."""
    try:
        with open_plain(path) as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise NotFound(f"No file {path}.", path=str(path)) from error
    except OSError as error:
        raise Unreadable.at(path, error) from error
    if len(data) > LARGEST:
        raise Misuse(f"Cannot blame {path}: it is larger than {LARGEST >> 20} MB.")
    return data


def parse_lines(text: str, count: int) -> tuple[int, int]:
    """Parse a range of lines: `10-20`, `10`, or `10-` to the end."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise Misuse(f"Invalid lines {text!r}; use 10-20, 10 or 10-.")
    first = int(found[1])
    last = int(found[3]) if found[3] else count if found[2] else first
    if last < first or first > count:
        raise Misuse(f"No lines {text}; the file has {count}.")
    return first, min(last, count)


def _blamed(number: int, text: str, origin: LineOrigin | None) -> BlamedLine:
    if origin is None:
        return BlamedLine(number=number, text=text)
    version = origin.version
    return BlamedLine(
        number=number,
        text=text,
        session=path_name(origin.session).removesuffix(".jsonl"),
        path=origin.session,
        turn=version.turn,
        prompt=version.prompt or None,
        agent=version.agent,
        call=version.call,
        time=parse_json_time(version.time) if version.time else None,
        evidence="session",
    )
