"""The files of an open session as the values that the browser requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from reread.base.structs import copied
from reread.errors import NotFound
from reread.facts.file_changes import TurnPrompts
from reread.history.blame_lines import LineBlame, LineOrigin
from reread.history.line_trace import TracedVersion, line_numbers, trace_lines
from reread.history.versions import FileHistory, FileVersion
from reread.reader.schema import Value
from reread.render.file_listing import project_path
from reread.reports.diff_report import file_difference
from reread.session.session import Session
from reread.tools._diff import code_node
from reread.tools.nodes import Diff, Hunk, Node, Note

MOST_LINES = 20_000
"""Lines of a difference that are sent."""
MOST_CHARS = 1_000_000
"""Characters of a file that are sent."""


def list_changed_files(session: Session) -> ChangedFiles:
    """Return the files that a session changed, with their versions."""
    return ChangedFiles(files=[_file(history, session) for history in session.files.values()])


def _file(history: FileHistory, session: Session) -> ChangedFile:
    own, difference = history.own, file_difference(session, history)
    return ChangedFile(
        path=project_path(history.path, session.project),
        status=difference.status,
        added=difference.added,
        removed=difference.removed,
        turns=history.turns,
        agents=len(history.agents),
        outside=len(history.versions) - len(own),
        gone=history.versions[-1].gone,
        versions=[_version(version) for version in history.versions],
    )


def _version(version: FileVersion) -> ChangedVersion:
    return copied(
        ChangedVersion,
        version,
        call=version.call.id if version.call is not None and version.agent is None else None,
        known="bytes" if version.exact else "text" if version.whole else "partial",
    )


def version_body(session: Session, file: int, version: int, *, whole: bool = False) -> VersionBody:
    """Return what a version changed, or with `whole` the file after it."""
    history = _history(session, file)
    if version >= len(history.versions):
        raise NotFound("This session has no such version of a file.")
    found = history.versions[version]
    return VersionBody(nodes=_text_nodes(history, found) if whole else _diff_nodes(history, found.hunks))


def file_diff(session: Session, file: int) -> FileDiff:
    """Return what a session changed in a file in all."""
    history = _history(session, file)
    difference = file_difference(session, history)
    return FileDiff(whole=difference.whole, nodes=_diff_nodes(history, difference.hunks))


def file_blame(session: Session, file: int) -> FileBlame:
    """Return the last text of a file, each line with the turn of this session that wrote it."""
    history = _history(session, file)
    text = history.versions[-1].after
    if text is None:
        return FileBlame(known=False, runs=[])
    prompts, histories = TurnPrompts(session), session.files

    def traces_of(path: str) -> Iterator[tuple[str, Sequence[TracedVersion]]]:
        if path in histories:
            yield session.id, trace_lines(histories[path], prompts.of)

    origins = LineBlame(traces_of, history.path).of(line_numbers(text.text))
    lines = text.text[:MOST_CHARS].split("\n")
    pairs = zip(lines, origins, strict=False)
    runs = [_blamed(origin, [line for line, _ in run]) for origin, run in groupby(pairs, key=lambda pair: pair[1])]
    return FileBlame(known=True, runs=runs, more=len(text.text) > MOST_CHARS)


def _blamed(origin: LineOrigin | None, lines: list[str]) -> BlamedLines:
    if origin is None:
        return BlamedLines(lines=lines, turn=None, prompt="", call=None, agent=None)
    by = origin.version
    call = by.call if by.agent is None else None
    return BlamedLines(lines=lines, turn=by.turn, prompt=by.prompt, call=call, agent=by.agent)


def _history(session: Session, file: int) -> FileHistory:
    histories = list(session.files.values())
    if file >= len(histories):
        raise NotFound("This session has no such file.")
    return histories[file]


def _text_nodes(history: FileHistory, version: FileVersion) -> list[Node]:
    text = version.after
    if text is None:
        reason = "There is no file after this." if version.gone else "The whole text is not known for certain."
        return [Note(text=reason)]
    shown = text.text[:MOST_CHARS]
    more = [Note(text="The rest of the file is not shown.")] if len(shown) < len(text.text) else []
    return [code_node(shown, history.path), *more]


def _diff_nodes(history: FileHistory, changes: Sequence[Hunk]) -> list[Node]:
    hunks: list[Hunk] = []
    room = MOST_LINES
    for hunk in changes:
        hunks.append(Hunk(old_start=hunk.old_start, new_start=hunk.new_start, lines=hunk.lines[:room]))
        room -= len(hunk.lines)
        if room <= 0:
            break
    notes = [] if room > 0 else [Note(text="The rest of the difference is not shown.")]
    return [Diff(path=history.path, hunks=hunks), *notes] if hunks else [Note(text="No line differs.")]


class ChangedVersion(Value, frozen=True):
    """One version of a file, without its text."""

    action: str
    """create, edit, write, shell, rename, delete; outside or rewind if no call made it."""
    turn: int | None
    call: str | None
    agent: str | None
    line: int | None
    time: datetime | None
    added: int
    removed: int
    known: str
    """bytes, text or partial."""
    other: str | None
    """The path that the file was renamed from or to."""


class ChangedFile(Value, frozen=True):
    """A file that a session changed."""

    path: str
    """Below the project's folder, or from the root."""
    status: str
    """changed, created, deleted, or same if nothing is left of what was changed."""
    added: int
    """Lines that the last version has and the first text had not."""
    removed: int
    turns: list[int]
    agents: int
    outside: int
    gone: bool
    versions: list[ChangedVersion]


class ChangedFiles(Value, frozen=True):
    """The files that a session changed."""

    files: list[ChangedFile]


class VersionBody(Value, frozen=True):
    """The change of a version, or the whole file after it, as nodes."""

    nodes: list[Node]


class FileDiff(Value, frozen=True):
    """What the whole session changed in a file, as nodes."""

    whole: bool
    """True if the texts before and after are known; otherwise these are the changes one after the other."""
    nodes: list[Node]


class BlamedLines(Value, frozen=True):
    """Consecutive lines that one change wrote."""

    lines: list[str]
    turn: int | None
    """The turn that wrote them; None if this session did not."""
    prompt: str
    call: str | None
    """None if an agent's call wrote them."""
    agent: str | None


class FileBlame(Value, frozen=True):
    """The last text of a file, each line with the turn that wrote it."""

    known: bool
    """False if the last text is not known, or there is no file any more."""
    runs: list[BlamedLines]
    more: bool = False
    """True if the rest of the file is left out."""
