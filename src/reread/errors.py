"""The error tree. Content never raises: only I/O and misuse do.

RereadError
├── NotFound      no such file, session or prefix
├── Ambiguous     a prefix that fits several sessions
├── Unreadable    the system refused: permission, a directory, a vanished file
├── Unwritable    the system would not keep it: a full disk, permission
└── Misuse        an argument that makes no sense
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class RereadError(Exception):
    """Anything reread raises on purpose; its message says what to do."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        """The file it is about, where it is about one."""


class NotFound(RereadError):
    """Nothing is there under that name."""


class Ambiguous(RereadError):
    """A session prefix that fits more than one session."""

    def __init__(self, message: str, *, candidates: Sequence[str]) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)
        """The files it could mean."""


class Unreadable(RereadError):
    """The system would not let the bytes be read."""

    @classmethod
    def at(cls, path: str | Path, error: OSError) -> Unreadable:
        """What the system said of a path, and what to do."""
        hint = "; check its permissions" if isinstance(error, PermissionError) else ""
        return cls(f"{path}: cannot be read: {error.strerror or error}{hint}", path=str(path))


class Unwritable(RereadError):
    """The system would not let the bytes be written."""

    @classmethod
    def at(cls, path: str | Path, error: OSError) -> Unwritable:
        """What the system said of a path."""
        return cls(f"{path}: cannot be written: {error.strerror or error}", path=str(path))


class Misuse(RereadError):
    """An argument or a mix of options that has no meaning."""
