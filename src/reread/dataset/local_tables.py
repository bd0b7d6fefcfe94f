"""The tables of this machine for queries: kept in the cache, and brought up to date before each use."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reread.dataset.freshness import path_text, transcript_states, usage_state
from reread.dataset.manifest import newest_manifest
from reread.dataset.report import Progress, TablesReport
from reread.dataset.schema import VERSION
from reread.dataset.table_files import TableFiles
from reread.disk.cache import cache_folder
from reread.disk.derived_cache import times_forgotten
from reread.disk.file_set import FileSet, find_files
from reread.disk.machine import machine_id
from reread.errors import Unreadable, Unwritable

FOLDER = "tables"
WAIT_SECONDS = 60.0
"""How long to wait for another process that brings the same tables up to date."""
UNNAMED = "unnamed"


@contextmanager
def own_tables(
    roots: Sequence[str | Path] | None = None, *, text: bool = False, progress: Progress | None = None
) -> Generator[TableFiles]:
    """Yield a folder with the tables of all sessions as they are now; it is of use as long as this lasts."""
    try:
        kept = _current_tables(roots, text=text, progress=progress)
    except (Unwritable, OSError):  # no cache: then the tables are made for this once
        with tempfile.TemporaryDirectory(prefix="reread-") as folder:
            place = TableFiles(folder)
            _update(place, find_files(roots), text=text, progress=progress)
            yield place
        return
    try:
        yield kept
    except Unreadable:  # damaged since: the next query makes them anew
        shutil.rmtree(kept.folder, ignore_errors=True)
        raise


def _current_tables(roots: Sequence[str | Path] | None, *, text: bool, progress: Progress | None) -> TableFiles:
    """Return the folder with the tables as they are now; no rows are in it of what was deleted meanwhile."""
    while True:
        before = times_forgotten()
        files = find_files(roots)
        place = own_place(files, text=text)
        try:
            _refresh(place, files, text=text, progress=progress)
        finally:
            is_dropped = drop_if_forgotten(place, before)
        if not is_dropped:
            return place


def drop_if_forgotten(place: TableFiles, before: int) -> bool:
    """Delete tables that were made while sessions were deleted, which they may have rows of; True if that was so.

    `before` says how often files had been forgotten when it began.
    """
    is_meant = times_forgotten() != before
    if is_meant:
        shutil.rmtree(place.folder, ignore_errors=True)
    return is_meant


def own_place(files: FileSet, *, text: bool, team: str | None = None) -> TableFiles:
    """Return the folder in the cache for the tables of some files, or for those of a team with this key."""
    return TableFiles(cache_folder() / FOLDER / _key(files, text=text, team=team))


def _refresh(place: TableFiles, files: FileSet, *, text: bool, progress: Progress | None) -> None:
    try:
        if not _is_current(place, files, text=text):
            _update(place, files, text=text, progress=progress)
    except Unreadable:  # broken: what is derived can be made again
        shutil.rmtree(place.folder)
        _update(place, files, text=text, progress=progress)


def _is_current(place: TableFiles, files: FileSet, *, text: bool) -> bool:
    """True if the tables were made of the files as they are; this takes less time than to begin an update.

    Raise Unreadable if they are not as they were written.
    """
    manifest = newest_manifest(place, _machine())
    if manifest is None or (manifest.version, manifest.text) != (VERSION, text):
        return False
    states = {path: state for part in manifest.parts for path, state in part.transcripts.items()}
    now = {path_text(path): state for path, state in transcript_states(files.states).items()}
    if states != now or manifest.usage_state != usage_state(files):
        return False
    for part in (*manifest.parts, *manifest.usage):
        locations = [place.path(name) for name in part.files(manifest.machine).values()]
        if sum(map(os.path.getsize, filter(os.path.isfile, locations))) != part.size:
            raise Unreadable(
                f"Cannot read the tables in {place.folder}: a file is missing, or is not as it was written."
            )
    return True


def _update(place: TableFiles, files: FileSet, *, text: bool, progress: Progress | None) -> TablesReport:
    from reread.dataset.update import TableUpdate

    update = TableUpdate(place, _machine(), files, text=text, progress=progress)
    return update.run(wait=WAIT_SECONDS)[1]


def _machine() -> str:
    """Return the name of this machine; if it cannot be written down, one that only this query sees."""
    try:
        return machine_id()
    except Unwritable:
        return UNNAMED


def _key(files: FileSet, *, text: bool, team: str | None) -> str:
    """Return the name of the folder for the tables of some folders, made under the present name of this machine."""
    names = "\0".join([_machine(), *files.folders, *([team] if team is not None else ())])
    digest = hashlib.blake2b(names.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
    return f"{'text' if text else 'figures' if team is not None else 'plain'}-{digest}"
