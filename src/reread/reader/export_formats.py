"""Export a session to a file, in a format of the core or of an add-on.

A format is a function with what the help and the documents say of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Unpack, cast

from reread.base.addons import load_parts, named_parts
from reread.base.choices import SelectionOptions
from reread.disk.sources import FileSource, source_pieces
from reread.disk.spilled import spilled_files
from reread.errors import Misuse, Unwritable
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.selection import Selection, selection_at
from reread.session.session import Session, open, threads_of  # noqa: A004
from reread.storage.atomic import is_device, write_atomic
from reread.storage.kept_file import file_exists, stat_file
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder


class ExportFormat(NamedTuple):
    """A format in which a session can be written."""

    write: Callable[[Session, Selection], Iterator[bytes]]
    """Yields the pieces of the document."""
    about: str
    """What it is, in a line."""
    readers: str
    """Who reads it."""
    empty: str = ""
    """Why a session may have nothing in this format."""


def _markdown(session: Session, selection: Selection) -> Iterator[bytes]:
    return (line.encode() + b"\n" for line in session_markdown(session, selection))


def _html(session: Session, selection: Selection) -> Iterator[bytes]:
    from reread.reader.html_export import session_html

    return session_html(session, selection)


def _jsonl(session: Session, selection: Selection) -> Iterator[bytes]:
    """The session's own file, byte for byte, with the records that only its earlier states have in their places."""
    if selection.is_excerpt or not selection.every_kind:
        raise Misuse("Cannot select parts of a session in jsonl, which is its own file; use -f json.")
    yield from source_pieces(threads_of(session).source)


FORMATS: dict[str, ExportFormat] = {
    "html": ExportFormat(_html, "the reader with the session, in one page that needs no network", "browsers"),
    "markdown": ExportFormat(_markdown, "the session as text", "people, models, anything that draws Markdown"),
    "json": ExportFormat(session_json, "everything that the library knows of the session", "scripts"),
    "jsonl": ExportFormat(
        _jsonl,
        "the session's own file, byte for byte, with those of its agents beside it; if the client rewrote it, with "
        "the records that only kept states have",
        "Claude Code, everything that reads transcripts, Hugging Face",
    ),
}
"""The formats of the core by name."""


def format_names() -> tuple[str, ...]:
    """Return the names of all formats."""
    return *FORMATS, *(name for name in named_parts("formats") if name not in FORMATS)


def all_formats() -> dict[str, ExportFormat]:
    """Return all formats by name, but for those that cannot be loaded."""
    return {**FORMATS, **load_parts("formats", lambda found: cast(ExportFormat, found)), **FORMATS}


def require_format(name: str) -> ExportFormat:
    """Return a format; raise Misuse if there is none of this name."""
    if name in FORMATS:
        return FORMATS[name]
    part = named_parts("formats").get(name)
    if part is None:
        raise Misuse(f"Unknown format {name!r}; use {', '.join(format_names())}.")
    return part.load()


def export(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session,
    format: str = "markdown",
    *,
    to: str | Path | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    **selection: Unpack[SelectionOptions],
) -> bytes:
    """Return a session in another format, and write it to the file `to` if given.

    `reread export --help` lists the formats.
    The other keywords select what is exported, as in every view: turns=(3, 9), path, thinking, tools, only, full;
    images for an HTML page. `value_types.SelectionOptions` has them all.
    """
    write = require_format(format).write
    session = open(source, root=root)
    document = b"".join(write(session, selection_at(session, Selection(**selection))))
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


def write_companions(session: Session, path: Path) -> None:
    """Write the files of a session's agents and its spilled results beside a copy of its own file."""
    if session.path is None or is_device(path):
        return
    beside, target = session.path.with_suffix(""), path.with_suffix("")
    agents = threads_of(session).agent_files().values()
    names = [agent.relative_to(beside) for agent in agents if agent.is_relative_to(beside)]
    names += [name.with_suffix(".meta.json") for name in names]
    names += [file.relative_to(beside) for file in spilled_files(session.path)]
    for name in names:
        if file_exists(beside / name):
            make_private_folder((target / name).parent)
            write_atomic(target / name, source_pieces(FileSource(beside / name)))
