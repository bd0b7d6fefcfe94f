"""The values of a session's files; the TypeScript types are generated from these."""

from __future__ import annotations

from datetime import datetime

from reread.reader.schema import Value
from reread.tools.nodes import Node


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
