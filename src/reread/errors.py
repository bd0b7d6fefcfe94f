"""The errors that reread raises. Content never raises: only I/O and misuse do.

RereadError
├── NotFound      no such file, session or id prefix
├── Ambiguous     an id prefix that matches several sessions
├── Unreadable    the system refused to read: no permission, a folder, a file that vanished
├── Unwritable    the system refused to write: a full disk, no permission
├── Misuse        an invalid argument or combination of options
└── Undecided     a session cannot be shared before somebody has decided about what was found in it
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class RereadError(Exception):
    """The base of all errors that reread raises on purpose; the message says what to do."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        """The file that caused the error; None if there is none."""


class NotFound(RereadError):
    """No file or session has this name."""


class Ambiguous(RereadError):
    """A session id prefix matches several sessions."""

    def __init__(self, message: str, *, candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidates: tuple[str, ...] = tuple(candidates)
        """The files that match."""


class Unreadable(RereadError):
    """The system refused to read a file or folder."""

    @classmethod
    def at(cls, path: str | Path, error: OSError) -> Unreadable:
        """Return the error for a path that could not be read."""
        hint = "; check its permissions" if isinstance(error, PermissionError) else ""
        return cls(f"Cannot read {path}: {error.strerror or error}{hint}.", path=str(path))


@contextmanager
def naming_file(path: str | Path) -> Generator[None]:
    """Raise an Unreadable that names the file if its content makes reading fail.

    That would be a fault of reread; it must not stop a verb that reads many files.
    """
    try:
        yield
    except (RereadError, OSError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise Unreadable(f"Cannot read {path}: {reason}; please report this.", path=str(path)) from error


class Unwritable(RereadError):
    """The system refused to write a file."""

    @classmethod
    def at(cls, path: str | Path, error: OSError) -> Unwritable:
        """Return the error for a path that could not be written."""
        return cls(f"Cannot write {path}: {error.strerror or error}.", path=str(path))


class Undecided(RereadError):
    """Somebody has to decide about findings before a session is shared."""

    def __init__(self, message: str, *, findings: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.findings: tuple[object, ...] = tuple(findings)
        """The findings that nobody decided about."""


class Misuse(RereadError):
    """An argument is invalid, or options contradict each other."""
