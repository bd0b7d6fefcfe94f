"""Export a session to a file. A format is one function and one row in `FORMATS`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Unpack

from reread.base.choices import SelectionOptions
from reread.disk import layout
from reread.disk.sources import FileSource, Source
from reread.errors import Misuse, Unwritable
from reread.exports.agent_trace import session_agent_trace
from reread.exports.atif import session_atif
from reread.exports.chat import session_chat
from reread.exports.otlp import session_otlp
from reread.exports.pairs import session_pairs
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.selection import Selection, selection_at
from reread.session.session import Session, open, threads_of  # noqa: A004
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import file_exists, stat_file
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder

CHUNK = 1 << 20

Format = Callable[[Session, Selection], Iterator[bytes]]


def _markdown(session: Session, selection: Selection) -> Iterator[bytes]:
    return (line.encode() + b"\n" for line in session_markdown(session, selection))


def _html(session: Session, selection: Selection) -> Iterator[bytes]:
    from reread.reader.html_export import session_html

    return session_html(session, selection)


def _jsonl(session: Session, selection: Selection) -> Iterator[bytes]:
    """The session's own file, byte for byte, with the records that only its earlier states have in their places."""
    if selection.is_excerpt or not selection.every_kind:
        raise Misuse("Cannot select parts of a session in jsonl, which is its own file; use -f json.")
    yield from _bytes_of(threads_of(session).source)


def _bytes_of(source: Source) -> Iterator[bytes]:
    at = 0
    while data := source.read(at, CHUNK):
        yield data
        at += len(data)


FORMATS: dict[str, Format] = {
    "html": _html,
    "markdown": _markdown,
    "json": session_json,
    "jsonl": _jsonl,
    "atif": session_atif,
    "chat": session_chat,
    "pairs": session_pairs,
    "otlp": session_otlp,
    "agent-trace": session_agent_trace,
}
"""Every format by name: the only list of them. Options, completion and help are made of it."""


def require_format(name: str) -> Format:
    """Return the function that writes a format; raise Misuse if there is no such format."""
    if name not in FORMATS:
        raise Misuse(f"Unknown format {name!r}; use {', '.join(FORMATS)}.")
    return FORMATS[name]


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
    write = require_format(format)
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
    if session.path is None:
        return
    beside, target = session.path.with_suffix(""), path.with_suffix("")
    agents = threads_of(session).agent_files().values()
    names = [agent.relative_to(beside) for agent in agents if agent.is_relative_to(beside)]
    names += [name.with_suffix(".meta.json") for name in names]
    names += [file.relative_to(beside) for file in layout.spilled_files(session.path)]
    for name in names:
        if file_exists(beside / name):
            make_private_folder((target / name).parent)
            write_atomic(target / name, _bytes_of(FileSource(beside / name)))
