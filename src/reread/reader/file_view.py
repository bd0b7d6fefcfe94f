"""The files of an open session as the values that the browser requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from reread.base.structs import copied
from reread.errors import NotFound
from reread.facts.file_changes import TurnPrompts
from reread.history.blame_lines import LineBlame, LineOrigin
from reread.history.line_trace import TracedVersion, line_numbers, trace_lines
from reread.history.versions import FileHistory, FileVersion
from reread.reader.file_schema import (
    BlamedLines,
    ChangedFile,
    ChangedFiles,
    ChangedVersion,
    FileBlame,
    FileDiff,
    VersionBody,
)
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
