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
    added: int
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
