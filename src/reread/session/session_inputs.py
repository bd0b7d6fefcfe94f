"""What a session is read from and counted by: its files, those of its agents, and its part of a file of several."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from reread.accounting.collect import Inputs
from reread.catalog.resolve import LATEST, looks_like_path
from reread.catalog.store import companions
from reread.disk.filenames import filename_for
from reread.disk.sources import MemorySource, Source, source_pieces
from reread.disk.transcript_file import open_transcript
from reread.records.decode import Record
from reread.records.dialects import history, stored
from reread.storage.kept_file import file_exists


class PartSource(MemorySource):
    """The lines of one session of a file. The others are blank, so that each line keeps its number."""


def part_of(path: Path, name: str | Path) -> PartSource | None:
    """Return the part of a file that an id, or its beginning, names; None if it names the file.

    A record without an id belongs to the session before it. A captured conversation is one, whatever its sessions.
    """
    if isinstance(name, Path) or name == LATEST or looks_like_path(name) or path.stem.startswith(filename_for(name)):
        return None
    ids: list[str] = []
    with io.BufferedReader(open_transcript(path)) as file:
        lines = list(file)
    for line in lines:
        record = Record(0, 0, line)
        if record.dialect == stored.NAME:
            return None
        ids.append(record.envelope.sessionId or (ids[-1] if ids else ""))
    known = set(filter(None, ids))
    meant = [id for id in known if id.startswith(name)]
    if len(meant) != 1 or len(known) == 1:
        return None
    own = (line if id == meant[0] else b"\n" for line, id in zip(lines, ids, strict=True))
    return PartSource(b"".join(own), path)


def add_session(inputs: Inputs, path: Path, roots: Sequence[str | Path] | None = None) -> None:
    """Add a session's file, those of its agents, and what else was recorded of the same session."""
    inputs.add_session(path)
    for other in companions(path, roots):
        inputs.add_session(other)


def is_usage_known(records: Iterable[Record]) -> bool:
    """False if the records are remembered prompts: what their session used is recorded nowhere."""
    return next((record.dialect != history.NAME for record in records), True)


def usage_inputs(
    path: Path | None, source: Source, roots: Sequence[str | Path] | None, agents: Iterable[Path] = ()
) -> Inputs:
    """Return what is counted as a session's usage: its files; its bytes if there is no file or it is a part of one."""
    inputs = Inputs()
    is_part = isinstance(source, PartSource)
    if path is not None and file_exists(path) and not is_part:
        add_session(inputs, path, roots)
        return inputs
    inputs.data.append(b"".join(source_pieces(source)))
    for agent in agents if is_part else ():
        inputs.add_file(str(agent.absolute()))
    return inputs
