"""Exports: a session as a file to keep or share. A format is one function and one row."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from reread.disk.atomic import write_atomic
from reread.errors import Misuse, Unwritable
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.parts import Selection
from reread.session.session import Session, open  # noqa: A004

Format = Callable[[Session, Selection], Iterator[bytes]]


def _markdown(session: Session, selection: Selection) -> Iterator[bytes]:
    return (line.encode() + b"\n" for line in session_markdown(session, selection))


def _json(session: Session, selection: Selection) -> Iterator[bytes]:
    return session_json(session, selection)


def _html(session: Session, selection: Selection) -> Iterator[bytes]:
    from reread.reader.html_export import session_html

    return session_html(session, selection)


FORMATS: dict[str, Format] = {"html": _html, "markdown": _markdown, "json": _json}
"""Every format by its name."""


def export(
    source: str | Path | bytes | IO[bytes] | Session,
    form: str = "markdown",
    *,
    to: str | Path | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    **selection: Any,
) -> bytes:
    """A session in another format, as bytes; also written to a file where `to` names one.

    What is shown can be chosen as for the views: turns=(3, 9), branch, thinking, tools, only, full; for a page, images.
    """
    if form not in FORMATS:
        raise Misuse(f"{form!r} is no format: say {' or '.join(FORMATS)}")
    session = open(source, root=root)
    document = b"".join(FORMATS[form](session, Selection(**selection)))
    if to is not None:
        write_document(session, [document], Path(to))
    return document


def write_document(session: Session, pieces: Iterable[bytes], path: Path) -> None:
    """Write a document that was made of a session; it cannot take the place of that session's own file."""
    if session.path is not None and os.path.realpath(path) == os.path.realpath(session.path):
        raise Misuse(f"{path}: is the session itself; name another file to write to")
    try:
        write_atomic(path, pieces)
    except OSError as error:
        raise Unwritable.at(path, error) from error
