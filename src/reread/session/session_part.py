"""One of the sessions of a transcript that holds several: what is opened by its id; the path opens the whole file."""

from __future__ import annotations

import io
from pathlib import Path

from reread.catalog.resolve import LATEST, looks_like_path
from reread.disk.filenames import filename_for
from reread.disk.sources import MemorySource
from reread.disk.transcript_file import open_transcript
from reread.records.decode import Record
from reread.records.dialects import stored


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
