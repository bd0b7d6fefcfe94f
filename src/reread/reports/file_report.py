"""One file in one session: found by its path, at some turn."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from reread.base.paths import is_windows_path
from reread.base.text import plural
from reread.disk.layout import expand_path
from reread.errors import Ambiguous, Misuse, NotFound
from reread.history.file_text import FileText
from reread.history.paths import absolute_path, path_ends_with
from reread.history.versions import FileHistory, FileVersion
from reread.model.conversation import Conversation, Turn
from reread.model.tree import no_branch_text
from reread.session.session import Session
from reread.session.session import open as open_session

_PLACE = re.compile(r"(.*?)(?:@([0-9]{1,9}))?(?::([0-9]{1,9}))?", re.DOTALL)


class SessionPlace(NamedTuple):
    """A session, and perhaps one of its branches and turns: `SESSION[@BRANCH][:TURN]`."""

    name: str
    branch: int | None = None
    turn: int | None = None

    @classmethod
    def parse(cls, text: str) -> SessionPlace:
        """Parse what a person typed; the name of a file that exists is taken as it is."""
        found = _PLACE.fullmatch(text)
        if found is None or os.path.exists(text):
            return cls(text)
        name, branch, turn = found.groups()
        return cls(name or "latest", int(branch) if branch else None, int(turn) if turn else None)


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
    session, place = open_place(at, root)
    return file_at(session, find_file(session, os.fspath(path)), place)


def open_place(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session, root: str | Path | Sequence[str | Path] | None
) -> tuple[Session, SessionPlace]:
    """Open a session, and return the place in it that a text names; anything else means its end."""
    place = SessionPlace.parse(source) if isinstance(source, str) else SessionPlace("")
    return open_session(place.name if isinstance(source, str) else source, root=root), place


def find_file(session: Session, path: str) -> FileHistory:
    """Return the file that a path names: from the root, below the working directory, or the end of a path."""
    known = session.files
    here = path if is_windows_path(path) else os.path.normpath(expand_path(path).absolute())
    for name in (absolute_path(path, session.project), here, os.path.realpath(here)):
        if name in known:
            return known[name]
    found = [history for name, history in known.items() if path_ends_with(name, path)]
    if len(found) == 1:
        return found[0]
    if found:
        names = [history.path for history in found]
        raise Ambiguous(f"{path!r} matches {plural(found, 'file')}: {', '.join(names)}.", candidates=names)
    raise NotFound(f"No file {path!r} was changed in this session; run `reread files` to list those that were.")


def turns_of(conversation: Conversation, branch: int | None) -> list[Turn]:
    """Return the turns of a branch, by default the active one; raise Misuse if there is no such branch."""
    if branch is None:
        return conversation.turns
    if not 0 <= branch < len(conversation.branches):
        raise Misuse(no_branch_text((one.id for one in conversation.branches), branch))
    return conversation.branch(branch).turns


def cut_after(conversation: Conversation, place: SessionPlace) -> int | None:
    """Return the last record of a place: of its turn, or of its branch; None for the end of the session."""
    if place.turn is None and place.branch is None:
        return None
    turns = turns_of(conversation, place.branch)
    number = len(turns) if place.turn is None else place.turn
    if number > len(turns):
        raise Misuse(f"No turn {number}; this session has {plural(turns, 'turn')}.")
    last = turns[number - 1].messages[-1].index if number else -1
    following = conversation.messages[last + 1 :][:1]
    return following[0].records[0] - 1 if following else None


def file_at(session: Session, history: FileHistory, place: SessionPlace) -> FileAt:
    """Return a file after a turn, or at the end of the session or a branch; turn 0 is before the first."""
    return file_after(history, cut_after(session.conversation, place))


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
