"""Rows of `usage`: the responses of many files, each counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reread.accounting.collect import Collection, Inputs
from reread.accounting.entries import UsageEntry
from reread.accounting.prices import current_prices
from reread.accounting.usage_cache import open_cache
from reread.accounting.workers import Progress
from reread.base.gc_pause import gc_paused
from reread.dataset.freshness import path_text
from reread.dataset.rows import entry_rows
from reread.dataset.schema import Row
from reread.disk import layout
from reread.disk.file_set import FileSet
from reread.reports.facts_cache import known_agent_types, known_cache_breaks


def settled_rows(
    files: FileSet, machine: str, *, keep_deleted: bool = False, cache: bool = True, progress: Progress | None = None
) -> Iterator[Row]:
    """Yield the rows of all files together: no other files can change them. Files in the catalogue are not read."""
    inputs = Inputs(files.states, files.folders, files.failures)
    with gc_paused(), open_cache(cache) as usage_cache:
        collection = Collection(inputs, usage_cache, current_prices(), keep_deleted=keep_deleted, progress=progress)
        entries = collection.entries(exact=True)
    types = _agent_types(entries, files, cache=cache)
    breaks = known_cache_breaks(files.states, cache=cache)
    for entry in entries:
        entry.path = path_text(entry.path) if entry.path is not None else None
    yield from entry_rows(entries, machine, types, breaks)


def _agent_types(entries: Iterable[UsageEntry], files: FileSet, *, cache: bool) -> dict[str, str]:
    """Return the types of agents; for one without metadata, its session is opened: the call that started it tells."""
    types = layout.agent_types(files.states)
    unknown = [entry for entry in entries if entry.path and entry.agent and entry.agent not in types]
    sessions = {layout.session_file(entry.path, entry.session or "") for entry in unknown if entry.path}
    return known_agent_types(sorted(sessions), cache=cache) | types if sessions else types
