"""Export a session to a file. A format is one function and one row in `FORMATS`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from reread.disk.atomic import write_atomic
from reread.disk.kept import stat_file
from reread.disk.regular import PRIVATE_FILE
from reread.errors import Misuse, Unwritable
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.selection import Selection
from reread.session.session import Session, open  # noqa: A004

Format = Callable[[Session, Selection], Iterator[bytes]]


def _markdown(session: Session, selection: Selection) -> Iterator[bytes]:
    return (line.encode() + b"\n" for line in session_markdown(session, selection))


def _html(session: Session, selection: Selection) -> Iterator[bytes]:
    from reread.reader.html_export import session_html

    return session_html(session, selection)


FORMATS: dict[str, Format] = {"html": _html, "markdown": _markdown, "json": session_json}
"""Every format by name."""


def export(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    form: str = "markdown",
    *,
    to: str | Path | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    **selection: Any,
) -> bytes:
    """Return a session in another format, and write it to the file `to` if given.

    The other keywords select what is exported, as in every view: turns=(3, 9), branch, thinking, tools, only, full;
    images for an HTML page.
    """
    if form not in FORMATS:
        raise Misuse(f"Unknown format {form!r}; use {', '.join(FORMATS)}.")
    session = open(source, root=root)
    document = b"".join(FORMATS[form](session, Selection(**selection)))
    if to is not None:
        write_document(session, [document], Path(to))
    return document


def copy_mode(session: Session) -> int:
    """Return the mode of a copy of a session: no one may read it who may not read the session."""
    if session.path is None:
        return 0o666
    try:
        return stat_file(session.path).st_mode & 0o666
    except OSError:  # it has been deleted
        return PRIVATE_FILE


def write_document(session: Session, pieces: Iterable[bytes], path: Path) -> None:
    """Write an exported document, but never over the session's own file."""
    if session.path is not None and os.path.realpath(path) == os.path.realpath(session.path):
        raise Misuse(f"Cannot write {path}: it is the session itself; choose another file.")
    try:
        write_atomic(path, pieces, mode=copy_mode(session))
    except OSError as error:
        raise Unwritable.at(path, error) from error
