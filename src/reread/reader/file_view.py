"""The files of an open session as the values that the browser requests."""

from __future__ import annotations

from reread.errors import NotFound
from reread.history.versions import FileHistory, FileVersion
from reread.reader.file_schema import ChangedFile, ChangedFiles, ChangedVersion, VersionBody
from reread.render.file_listing import project_path
from reread.session.session import Session
from reread.tools._diff import code_node
from reread.tools.nodes import Diff, Hunk, Node, Note

MOST_LINES = 20_000
"""Lines of a difference that are sent."""
MOST_CHARS = 1_000_000
"""Characters of a file that are sent."""


def list_changed_files(session: Session) -> ChangedFiles:
    """Return the files that a session changed, with their versions."""
    return ChangedFiles(files=[_file(history, session.project) for history in session.files.values()])


def _file(history: FileHistory, project: str) -> ChangedFile:
    own = history.own
    return ChangedFile(
        path=project_path(history.path, project),
        added=history.added,
        removed=history.removed,
        turns=history.turns,
        agents=len(history.agents),
        outside=len(history.versions) - len(own),
        gone=history.versions[-1].gone,
        versions=[_version(version) for version in history.versions],
    )


def _version(version: FileVersion) -> ChangedVersion:
    return ChangedVersion(
        action=version.action,
        turn=version.turn,
        call=version.call.id if version.call is not None and version.agent is None else None,
        agent=version.agent,
        line=version.line,
        time=version.time,
        added=version.added,
        removed=version.removed,
        known="bytes" if version.exact else "text" if version.whole else "partial",
        other=version.other,
    )


def version_body(session: Session, file: int, version: int, *, whole: bool = False) -> VersionBody:
    """Return what a version changed, or with `whole` the file after it."""
    histories = list(session.files.values())
    if file >= len(histories) or version >= len(histories[file].versions):
        raise NotFound("This session has no such version of a file.")
    history = histories[file]
    found = history.versions[version]
    return VersionBody(nodes=_text_nodes(history, found) if whole else _diff_nodes(history, found))


def _text_nodes(history: FileHistory, version: FileVersion) -> list[Node]:
    text = version.after
    if text is None:
        reason = "There is no file after this." if version.gone else "The whole text is not known for certain."
        return [Note(text=reason)]
    shown = text.text[:MOST_CHARS]
    more = [Note(text="The rest of the file is not shown.")] if len(shown) < len(text.text) else []
    return [code_node(shown, history.path), *more]


def _diff_nodes(history: FileHistory, version: FileVersion) -> list[Node]:
    hunks: list[Hunk] = []
    room = MOST_LINES
    for hunk in version.hunks:
        hunks.append(Hunk(old_start=hunk.old_start, new_start=hunk.new_start, lines=hunk.lines[:room]))
        room -= len(hunk.lines)
        if room <= 0:
            break
    notes = [] if room > 0 else [Note(text="The rest of the difference is not shown.")]
    return [Diff(path=history.path, hunks=hunks), *notes] if hunks else [Note(text="No line differs.")]
