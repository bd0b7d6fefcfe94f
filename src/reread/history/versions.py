"""A file's versions in a session, in the order in which they came about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from reread.history.file_text import FileText
from reread.model.conversation import Call
from reread.tools._diff import compute_hunks
from reread.tools.nodes import Diff, Hunk

CREATE, EDIT, WRITE, SHELL, RENAME, DELETE = "create", "edit", "write", "shell", "rename", "delete"
OUTSIDE, REWIND = "outside", "rewind"
ACTIONS = (CREATE, EDIT, WRITE, SHELL, RENAME, DELETE, OUTSIDE, REWIND)
"""The causes of a version: a call, a command, a change from outside the session, or a rewind of the client."""
NOT_OWN = frozenset({OUTSIDE, REWIND})
"""Versions that no call of the session made."""
STATED, APPLIED, BACKUP = "stated", "applied", "backup"

Load = Callable[[], FileText | None]
Step = Callable[[FileText | None], FileText | None]


class FileVersion(msgspec.Struct, eq=False, kw_only=True):
    """One change to a file."""

    history: FileHistory
    index: int
    """Its position among the versions of the file, from 0."""
    action: str
    """create, edit, write, shell, rename, delete; outside or rewind if no call made it."""
    turn: int | None = None
    """The turn in which it came about, counted from 1; of an agent, the turn of the call that started it."""
    branch: int = 0
    """The branch of the conversation that made it."""
    call: Call | None = None
    """The call that made it, or that showed a change from outside; None if a backup showed it."""
    agent: str | None = None
    """The id of the agent that made it; None for the main thread."""
    line: int | None = None
    """The line of the record that tells of it, in the session's file or the agent's."""
    time: datetime | None = None
    record: int = -1
    """The record of the main thread at or after which it came about."""
    source: str | None = None
    """How the text after it is known: stated, applied or backup; None if it is not."""
    whole: bool = False
    """True if the whole text after it is known, or that the file is gone."""
    exact: bool = False
    """True if line ends and encoding are known too, and so the very bytes."""
    before_known: bool = False
    """True if the whole text before it is known, or that there was no file."""
    counts: tuple[int, int] | None = None
    """Lines added and removed; counted in the texts if nothing states them."""
    other: str | None = None
    """The path that the file was renamed from or to."""
    load_before: Load | None = None
    """Makes the text before it, if that is not the one after the version before."""
    load: Load | None = None
    """Makes the text after it, if something states that."""
    load_hunks: Callable[[], list[Hunk]] | None = None
    """Makes the change as the call states it, if the call states those of other files too."""
    step: Step | None = None
    """Makes the text after it from the one before."""

    @property
    def own(self) -> bool:
        """True if a call of the session made it."""
        return self.action not in NOT_OWN

    @property
    def added(self) -> int:
        """Lines added."""
        return self._counted()[0]

    @property
    def removed(self) -> int:
        """Lines removed."""
        return self._counted()[1]

    def _counted(self) -> tuple[int, int]:
        if self.counts is None:
            lines = [line for hunk in self.hunks for line in hunk.lines]
            added, removed = (sum(line.startswith(mark) for line in lines) for mark in "+-")
            self.counts = (added, removed)
        return self.counts

    @property
    def gone(self) -> bool:
        """True if the file does not exist after it."""
        return self.whole and self.load is None and self.step is None

    @property
    def before(self) -> FileText | None:
        """The file before it; None if it did not exist or is not known."""
        return self.history.before(self)

    @property
    def after(self) -> FileText | None:
        """The file after it; None if it does not exist or is not known."""
        return self.history.after(self)

    @property
    def hunks(self) -> list[Hunk]:
        """The change as a diff; if the texts before and after are not known, as the client recorded it."""
        if not self.whole or not self.before_known:
            if self.load_hunks is not None:
                return self.load_hunks()
            nodes = self.call.nodes if self.call is not None and self.own else []
            return [hunk for node in nodes if isinstance(node, Diff) for hunk in node.hunks]
        before, after = self.before, self.after
        return compute_hunks(before.text if before else "", after.text if after else "")

    def __repr__(self) -> str:
        return f"<FileVersion {self.index} {self.action} of {self.history.path}>"


class FileHistory(msgspec.Struct, eq=False):
    """A file that a session changed, and its versions."""

    path: str
    """From the root, as the session's machine wrote it."""
    versions: list[FileVersion]
    last: tuple[int, FileText | None] = (-1, None)
    """The text that was asked for last, and the index of its version."""

    @property
    def own(self) -> list[FileVersion]:
        """The versions that calls of the session made."""
        return [version for version in self.versions if version.own]

    @property
    def added(self) -> int:
        """Lines that the session added, in all."""
        return sum(version.added for version in self.own)

    @property
    def removed(self) -> int:
        """Lines that the session removed, in all."""
        return sum(version.removed for version in self.own)

    @property
    def turns(self) -> list[int]:
        """The turns in which the session changed it."""
        return sorted({version.turn for version in self.own if version.turn is not None})

    @property
    def agents(self) -> list[str]:
        """The agents that changed it."""
        return list(dict.fromkeys(version.agent for version in self.own if version.agent is not None))

    def at(self, record: int | None = None) -> FileVersion | None:
        """Return the last version, or the last one that came about up to a record of the main thread."""
        found = (version for version in reversed(self.versions) if record is None or version.record <= record)
        return next(found, None)

    def before(self, version: FileVersion) -> FileText | None:
        """Return the file before a version."""
        if version.load_before is not None or not version.index:
            return version.load_before() if version.load_before is not None else None
        return self.after(self.versions[version.index - 1])

    def after(self, version: FileVersion) -> FileText | None:
        """Return the file after a version."""
        if not version.whole:
            return None
        if self.last[0] != version.index:
            self.last = (version.index, self._replay(version))
        return self.last[1]

    def _replay(self, version: FileVersion) -> FileText | None:
        """Make the text of a version from the nearest one before it that states its text."""
        chain: list[FileVersion] = []
        current = version
        while current.step is not None and current.index != self.last[0]:
            chain.append(current)
            if current.load_before is not None or not current.index:
                break
            current = self.versions[current.index - 1]
        text = self.last[1] if current.index == self.last[0] else current.load() if current.load is not None else None
        for one in reversed(chain):
            text = one.load_before() if one.load_before is not None else text
            text = one.step(text) if one.step is not None else None
        return text
