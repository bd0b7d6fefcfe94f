"""The rows that appended lines bring: records as they come, calls with their results, usage as responses end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from reread.accounting.billing import UsageEntry
from reread.accounting.digest import OWN_ROW, file_digest, file_owner
from reread.accounting.prices import current_prices
from reread.accounting.responses import resolve
from reread.accounting.scan import Scanner
from reread.addons.spark.files import FilePart
from reread.dataset.schema import CALLS, RECORDS, USAGE, Row
from reread.dataset.transcripts import TranscriptFile
from reread.dataset.usage_rows import response_rows
from reread.disk import layout
from reread.disk.agent_files import agent_id, agent_meta
from reread.disk.sources import FileSource
from reread.facts.responses import name_responses
from reread.facts.sessions import agents_of
from reread.facts.store import FactStore
from reread.model.conversation import Agent
from reread.session.loader import Loader
from reread.session.session import Session

CHUNK = 1 << 20
RESULT_LINE = CALLS.names(text=False).index("result_line")


class PrefixSource(FileSource):
    """The first bytes of a file, whatever follows them."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(path)
        self.size: int = size

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset; fewer at the end of the prefix."""
        return super().read(offset, min(length, max(0, self.size - offset)))


def record_rows_of(part: FilePart, machine: str, *, text: bool, numbered: bool) -> Iterator[Row]:
    """Yield the records of new lines."""
    yield from part.rows(RECORDS.name, machine, text=text, numbered=numbered)


def call_rows_of(part: FilePart, machine: str, *, text: bool, numbered: bool) -> Iterator[Row]:
    """Yield the calls whose results are in new lines."""
    path = part.local()
    source = PrefixSource(path, part.end)
    if path.name.startswith(layout.AGENT_PREFIX):
        agent = Agent(agent_id(path), source.read, path=str(path), meta=agent_meta(path))
        loader = Loader(source, agent)
        loader.load()
        agent.set_lines(loader.lines)
        transcript = TranscriptFile(path, machine, loader)
    else:
        transcript = TranscriptFile(path, machine, Session(source))
    starts = [line.offset for line in transcript.loader.lines]
    first = bisect_left(starts, part.start)
    for _, row in transcript.rows([CALLS.name], text=text):
        if (row[RESULT_LINE] or 0) > first:
            yield row


def usage_rows_of(part: FilePart, machine: str, *, text: bool, numbered: bool) -> Iterator[Row]:
    """Yield the responses that new lines complete."""
    path = part.local()
    known = _complete(path, part.start)
    entries = [entry for key, entry in _complete(path, part.end).items() if key not in known]
    with closing(FactStore(cache=False)) as store:
        agents = agents_of(store, [], [str(path)])
        yield from response_rows(store, machine, name_responses(store, entries), agents)


def _complete(path: Path, size: int) -> dict[tuple[str | None, str | None], UsageEntry]:
    """Return the responses that are complete in the first bytes of a file.

    That is one with a stop reason, or after which another one began: its row does not come again. What a file says of
    responses that are in another one is left out.
    """
    agent, session = file_owner(str(path))
    scanner, source = Scanner(session=session, agent=agent), PrefixSource(path, size)
    at = 0
    while data := source.read(at, CHUNK):
        scanner.feed(data)
        at += len(data)
    digest = scanner.digest
    own = {number for number, origin in enumerate(digest.origins) if origin.source == OWN_ROW}
    digest.special = [response for response in digest.special if response.origin_index in own]
    digest.readings = []
    last = digest.ids[-1] if digest.ids else None
    entries = resolve([file_digest(str(path), digest)], current_prices())
    return {
        (entry.message, entry.request): entry
        for entry in entries
        if entry.responses and (not entry.unconfirmed or entry.message != last)
    }


APPENDED: Mapping[str, Callable[..., Iterator[Row]]] = {
    RECORDS.name: record_rows_of,
    CALLS.name: call_rows_of,
    USAGE.name: usage_rows_of,
}
"""The tables that can be streamed, and what makes their rows."""
