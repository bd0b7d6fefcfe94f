"""The files that state a session's usage: its own, its agents', and captures or transcripts of the same session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reread.accounting.collect import Inputs
from reread.catalog.store import companions
from reread.disk.sources import Source
from reread.records.decode import Record
from reread.records.dialects import history
from reread.session.session_part import PartSource
from reread.storage.kept_file import file_exists

CHUNK = 1 << 18


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
    if isinstance(source, PartSource):
        inputs.data.append(b"".join(_chunks(source)))
        for agent in agents:
            inputs.add_file(str(agent.absolute()))
    elif path is not None and file_exists(path):
        add_session(inputs, path, roots)
    else:
        inputs.data.append(b"".join(_chunks(source)))
    return inputs


def _chunks(source: Source) -> Iterator[bytes]:
    at = 0
    while data := source.read(at, CHUNK):
        yield data
        at += len(data)
