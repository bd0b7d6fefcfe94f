"""One file in one session: found by its path, at some turn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import IO, Any, NamedTuple

from reread.base.paths import absolute_path, is_windows_path, path_ends_with
from reread.base.text import plural
from reread.disk.layout import expand_path
from reread.errors import Ambiguous, Misuse, NotFound
from reread.history.file_text import FileText
from reread.history.versions import FileHistory, FileVersion
from reread.model.conversation import Call
from reread.session.places import call_at, cut_after, turns_at
from reread.session.session import Session
from reread.session.session import open as open_session

UNCHANGED = "An API request changes no file; name a turn or a call, as in 8c1f:3.2."


class FileAt(NamedTuple):
    """A file at some place of a session."""

    history: FileHistory
    version: FileVersion | None
    """The last version up to there; None if the session changed the file only later."""
    text: FileText | None
    """The text; None if the file does not exist there, or the text is not known."""
    known: bool
    """True if the whole text is known, or that there is no file."""
    then: FileVersion | None
    """The next version, if something outside the session made it: it may have come about at any time before."""


def file(
    path: str | os.PathLike[str],
    at: str | os.PathLike[str] | bytes | IO[bytes] | Session = "latest",
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> FileAt:
    """Return a file as a session left it, or as it was after a turn: `file("app.py", "latest:3")`."""
    session = open_session(at, root=root)
    return file_at(session, find_file(session.files, os.fspath(path), session.project))


def files(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    *,
    root: str | Path | Sequence[str | Path] | None = None,
) -> list[FileHistory]:
    """Return the files that a session changed, its agents included, each with its versions.

    Of a turn or a call, as in `files("latest:3")`, return those that it changed, with the versions that it made.
    """
    return made_at(open_session(source, root=root))


def find_file(known: Mapping[str, FileHistory], path: str, project: str) -> FileHistory:
    """Return the file that a path names: from the root, below the working directory, or the end of a path."""
    here = path if is_windows_path(path) else os.path.normpath(expand_path(path).absolute())
    for name in (absolute_path(path, project), here, os.path.realpath(here)):
        if name in known:
            return known[name]
    found = [history for name, history in known.items() if path_ends_with(name, path)]
    if len(found) == 1:
        return found[0]
    if found:
        names = [history.path for history in found]
        raise Ambiguous(f"{path!r} matches {plural(found, 'file')}: {', '.join(names)}.", candidates=names)
    raise NotFound(f"No file {path!r} was changed in this session; run `reread files` to list those that were.")


def file_at(session: Session, history: FileHistory) -> FileAt:
    """Return a file after the place at which a session was opened, by default its end; turn 0 is before the first."""
    if session.at.request is not None:
        raise Misuse(UNCHANGED)
    return file_after(history, cut_after(session.conversation, session.at))


def made_at(session: Session) -> list[FileHistory]:
    """Return the files that were changed at the place at which a session was opened, with the versions made there."""
    at = session.at
    if at.request is not None:
        raise Misuse(UNCHANGED)
    if at.turn is None and at.path is None:
        return list(session.files.values())
    turns = turns_at(session.conversation, at)
    call = call_at(session.conversation, at) if at.call is not None else None
    messages = {message.index for turn in turns for message in turn.messages}
    found: list[FileHistory] = []
    for history in session.files.values():
        versions = [
            version
            for version in history.versions
            if is_made_in(session, version, messages) and (call is None or _is_made_by(session, version, call))
        ]
        if any(version.own for version in versions):
            found.append(FileHistory(history.path, versions))
    return found


def _is_made_by(session: Session, version: FileVersion, call: Call) -> bool:
    """True if a call made a version, or an agent below it did."""
    agent = session.agents.get(version.agent) if version.agent is not None else None
    while agent is not None and agent.call is not call:
        agent = agent.parent
    return agent is not None or version.call is call


def is_made_in(session: Session, version: FileVersion, messages: AbstractSet[int]) -> bool:
    """True if one of these messages of the main thread made a version, or an agent that was at work then."""
    call = version.call
    if call is None or version.agent is not None:
        message = session.conversation.message_at(version.record)
    else:
        message = call.message
    return message is not None and message.index in messages


def file_after(history: FileHistory, record: int | None) -> FileAt:
    """Return a file after a record of the main thread; None for the end."""
    version = history.at(record)
    following = history.versions[version.index + 1 if version is not None else 0 :][:1]
    then = following[0] if following and not following[0].own else None
    if version is None:
        first = history.versions[0]
        return FileAt(history, None, first.before, first.before_known, then)
    return FileAt(history, version, version.after, version.whole, then)


def history_value(history: FileHistory, *, versions: bool = False) -> dict[str, Any]:
    """Return a file as JSON."""
    own = history.own
    value: dict[str, Any] = {
        "path": history.path,
        "added": history.added,
        "removed": history.removed,
        "turns": history.turns,
        "agents": history.agents,
        "versions": len(own),
        "outside": len(history.versions) - len(own),
        "partial": sum(not version.whole for version in history.versions),
        "gone": history.versions[-1].gone,
    }
    return {**value, "versions": [version_value(version) for version in history.versions]} if versions else value


def version_value(version: FileVersion) -> dict[str, Any]:
    """Return a version as JSON, without its texts."""
    return {
        "index": version.index,
        "action": version.action,
        "turn": version.turn,
        "branch": version.branch,
        "agent": version.agent,
        "call": version.call.id if version.call is not None else None,
        "tool": version.call.name if version.call is not None and version.own else None,
        "line": version.line,
        "time": version.time,
        "source": version.source,
        "whole": version.whole,
        "exact": version.exact,
        "gone": version.gone,
        "added": version.added,
        "removed": version.removed,
        "other": version.other,
    }
