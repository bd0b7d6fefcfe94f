"""Texts that are too large for a transcript: results and pastes, in files beside a session."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from reread.base import jsontext
from reread.base.coerce import as_dict
from reread.base.format import size_text
from reread.disk.layout import SUBAGENTS, TOOL_RESULTS, beside_session
from reread.disk.sources import FileSource
from reread.errors import RereadError
from reread.storage.kept_file import is_file, stat_file
from reread.storage.kept_names import MAP_SUFFIX, SUFFIX, generations_by_name, is_settled
from reread.storage.prompt_history import PASTES, is_prompts

MOST_SHOWN = 16 << 20
"""Bytes of a file that views show."""
PIECE = 256 << 10
MOST_SEARCHED = 64 << 20
"""Bytes of a file that are searched, in pieces."""
BINARY = b"\0"
LOOKED_AT = 8192
"""Bytes that tell whether a file is text."""


class SpilledPiece(NamedTuple):
    """Some of the text of a file."""

    offset: int
    length: int
    text: str


def spilled_files(session: Path) -> list[Path]:
    """Return the files of tool results that are too large for a session's own file."""
    folder = session.with_suffix("") / TOOL_RESULTS
    names = [path.name for path in folder.iterdir()] if os.path.isdir(folder) else []
    kept = set(generations_by_name(names))
    own = {name for name in names if name.removesuffix(MAP_SUFFIX).removesuffix(SUFFIX) not in kept}
    return beside_session(session, filter(is_file, (folder / name for name in sorted(own | kept))))


def tool_result_file(session: Path, written: str) -> Path | None:
    """Return the file of a text too large for the transcript; found by its name, as sessions are moved."""
    name = written.replace("\\", "/").rsplit("/", 1)[-1]
    for folder, owner in large_text_folders(session):
        path = folder / name
        if is_file(path) and beside_session(owner, [path]):
            return path
    return None


def large_text_folders(session: Path) -> list[tuple[Path, Path]]:
    """Return the folders with texts too large for a transcript, each with a file or folder that it lies beside."""
    if is_prompts(session):
        return [(session.parents[1] / PASTES, session.parent)]
    above = next((folder.parent for folder in session.parents if folder.name == SUBAGENTS), session.parent.parent)
    owners = ((session.with_suffix(""), session), (above, above), (session.parent, session))
    return [(folder / TOOL_RESULTS, owner) for folder, owner in owners]


def spilled_text(session: Path, name: str) -> str | None:
    """Return the text of a result that was written beside a session; None if it is not there, or is no text."""
    source = _source(session, name)
    if source is None or source.path is None:
        return None
    try:
        data = source.read(0, MOST_SHOWN)
        size = stat_file(source.path).st_size
    except (OSError, RereadError):
        return None
    if BINARY in data[:LOOKED_AT]:
        return None
    if size > len(data):
        return f"{data.decode('utf-8', 'replace')}\n… {size_text(size - len(data))} more in {name}"
    return _of_blocks(data) or data.decode("utf-8", "replace")


def _of_blocks(data: bytes) -> str | None:
    """Return the texts of a list of blocks, as MCP servers answer; None for any other text."""
    if not data.startswith(b"["):
        return None
    try:
        value = jsontext.loads_clean(data)
    except ValueError:
        return None
    blocks = cast(list[Any], value) if isinstance(value, list) else []
    texts = [as_dict(block).get("text") for block in blocks]
    known = [text for text in texts if isinstance(text, str)]
    return "\n".join(known) if known and len(known) == len(texts) else None


def spilled_pieces(session: Path, name: str) -> Iterator[SpilledPiece]:
    """Yield the text of a result that was written beside a session in pieces, up to a limit."""
    source = _source(session, name)
    offset = 0
    while source is not None and offset < MOST_SEARCHED:
        piece = _piece(source, offset)
        if piece is None:
            return
        yield piece
        offset += piece.length


def spilled_piece(session: Path, name: str, offset: int) -> str | None:
    """Return the piece that begins at an offset."""
    source = _source(session, name)
    piece = _piece(source, offset) if source is not None else None
    return piece.text if piece is not None else None


UNSETTLED = 1
"""A state that is unlike any other, itself included: the same time may stand for what arrives next."""


def large_texts_state(session: Path) -> int:
    """Return a number that changes when a text too large for a transcript arrives beside it; never 0."""
    times: list[int] = []
    for folder, _ in large_text_folders(session):
        try:
            times.append(os.stat(folder).st_mtime_ns)  # noqa: PTH116
        except OSError:
            times.append(0)
    if not all(map(is_settled, times)):
        return UNSETTLED
    return zlib.crc32(repr(times).encode()) + 2


def _piece(source: FileSource, offset: int) -> SpilledPiece | None:
    """Return the piece at an offset; it ends with a line, or else with a word if one ends there."""
    try:
        data = source.read(offset, PIECE)
    except RereadError:
        return None
    if not data or (offset == 0 and BINARY in data[:LOOKED_AT]):
        return None
    if len(data) == PIECE:
        end = max(data.rfind(b"\n"), data.rfind(b" ", PIECE // 2)) + 1
        data = data[: end or PIECE]
    return SpilledPiece(offset, len(data), data.decode("utf-8", "replace"))


def _source(session: Path, name: str) -> FileSource | None:
    path = tool_result_file(session, name)
    if path is None:
        return None
    try:
        return FileSource(path)
    except (OSError, RereadError):
        return None
