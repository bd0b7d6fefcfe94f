"""Responses as facts: each counted once over all files of a scope, from a scan that opens no session.

A file that changed is scanned from where it was read to, and counted again together with the files that it is linked
to, over whatever other files: what counts of these depends on no file besides.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from reread.accounting.billing import UsageEntry
from reread.accounting.collect import Digests, Inputs, data_digest
from reread.accounting.dedupe import file_links
from reread.accounting.digest import FileDigest, UsageCache
from reread.accounting.prices import Prices, current_prices
from reread.accounting.responses import resolve
from reread.accounting.workers import Progress
from reread.disk.cache import FileState, is_stale
from reread.disk.derived_cache import known_path
from reread.facts.schema import FILE, LINK, ORIGIN, RESPONSE, SCOPE, SETTLED
from reread.facts.store import FactStore, Row

KEPT_SCOPES = 4
"""So many sets of folders stay counted, and those besides that somebody asked for lately: he may still be at it."""
LATELY = 3600
"""In seconds."""
MOST_SCOPES = 16
"""So many at most, whoever asks for more."""
NAMED = 0
"""The scope of files and data that were named: it is not kept."""


class Counted(NamedTuple):
    """Responses that were counted."""

    scope: int
    unread: set[str]
    """Files that could not be read."""


def count_responses(
    store: FactStore, inputs: Inputs, *, keep_deleted: bool = False, progress: Progress | None = None
) -> Counted:
    """Bring the responses of some inputs up to date."""
    if not store.is_lasting or inputs.data or not _is_whole(inputs):
        return _count_named(store, inputs, progress)
    counting = _Counting(store, inputs, keep_deleted, progress)
    counting.update()
    return Counted(counting.scope, counting.unread)


def _is_whole(inputs: Inputs) -> bool:
    """True if all files are those of folders."""
    tops = tuple(f"{folder}/" for folder in inputs.folders)
    return bool(tops) and all(path.replace("\\", "/").startswith(tops) for path in inputs.states)


def _count_named(store: FactStore, inputs: Inputs, progress: Progress | None) -> Counted:
    digests = Digests(inputs.states, UsageCache(store.file) if store.is_lasting else None, progress=progress)
    files = [*digests.read(inputs.states), *map(data_digest, inputs.data)]
    unread = set(digests.unread)
    return Counted(name_responses(store, _entries(files, unread)).scope, unread)


def name_responses(store: FactStore, entries: Sequence[UsageEntry]) -> Counted:
    """Let a store have some responses besides those of its files."""
    files = {path: number for number, path in enumerate(dict.fromkeys(entry.path for entry in entries), 1)}
    origins = _Origins(1, NAMED, files)
    rows = list(origins.rows(entries))
    named = ((RESPONSE, rows), (ORIGIN, origins.made), (FILE, [(number, path) for path, number in files.items()]))
    for table, found in named:  # they stand before those of the cache
        store.run(f"CREATE TEMP TABLE IF NOT EXISTS named_{table.name} ({', '.join(table.names)})")
        store.run(f"DELETE FROM named_{table.name}")
        store.add(table.called(f"named_{table.name}"), found)
    return Counted(NAMED, set())


class _Counting:
    """Brings the responses of one scope up to date."""

    def __init__(self, store: FactStore, inputs: Inputs, keep_deleted: bool, progress: Progress | None) -> None:
        self.store = store
        self.inputs = inputs
        self.keep_deleted = keep_deleted
        self.progress = progress
        self.unread: set[str] = set()
        name = "\0".join([*sorted(inputs.folders), "deleted, too" if keep_deleted else ""])
        self.scope: int = self._scope(name)

    def _scope(self, name: str) -> int:
        """Return the id of a scope and note that it is asked for; of a new one, those asked for long ago make room."""
        store, now = self.store, int(time.time())
        query = f"SELECT id, used FROM {SCOPE.name} WHERE name = ?"
        found = store.rows(query, (name,))
        if found and found[0][1] > now - LATELY // 2:
            return found[0][0]
        with store.writing():
            for scope, _ in store.rows(query, (name,)):  # another process may have made it by now
                store.run(f"UPDATE {SCOPE.name} SET used = ? WHERE id = ?", (now, scope))
                return scope
            for place, (old, used) in enumerate(store.rows(f"SELECT id, used FROM {SCOPE.name} ORDER BY used DESC"), 1):
                if place < KEPT_SCOPES or (place < MOST_SCOPES and used >= now - LATELY):
                    continue
                for (file,) in store.rows(f"SELECT file FROM {SETTLED.name} WHERE scope = ?", (old,)):
                    store.forget_responses(old, file)
                store.run(f"DELETE FROM {SCOPE.name} WHERE id = ?", (old,))
            return store.add_one(SCOPE, name, now)

    def update(self) -> None:
        """Count again what changed, and what is linked to it, until nobody else stored something meanwhile."""
        while not self._try():
            pass

    def _try(self) -> bool:
        """Bring the scope up to date; False if it was not as it is now when the counting began."""
        store, states = self.store, self.inputs.states
        cache = UsageCache(store.file)
        gone = self.inputs.gone(cache.files())
        kept = gone if self.keep_deleted else []
        if gone and not self.keep_deleted:
            cache.save([], gone)  # what is linked to them counts as changed from now on
        known = self._known()
        wanted = {path: states.get(path) for path in (*states, *kept)}
        changed = {
            path
            for path, state in wanted.items()
            if path not in known or (state is not None and is_stale(known[path][1], state))
        }
        left = known.keys() - wanted.keys()
        if not changed and not left:
            return True
        digests = Digests(states, cache, progress=self.progress)
        fresh = {digest.path: digest for digest in digests.read(sorted(changed))}
        linked = self._linked(known, fresh, left)
        others = {digest.path: digest for digest in digests.read(sorted(linked & wanted.keys() - fresh.keys()))}
        self.unread = set(digests.unread)
        files = [*fresh.values(), *others.values()]
        entries = _entries(files, self.unread)
        with store.writing():
            if self._known() != known:
                return False
            ids = {file.path: store.file_id(file.path) for file in files}
            for file in {*ids.values(), *(known[path][0] for path in {*left, *changed, *linked} if path in known)}:
                store.forget_responses(self.scope, file)
            self._store(fresh.values(), ids, entries, wanted)
        return True

    def _known(self) -> dict[str, tuple[int, FileState]]:
        """Return the ids of the files that were counted, and their states then."""
        columns = "s.file, f.path, s.device, s.inode, s.size, s.modified"
        query = f"SELECT {columns} FROM {SETTLED.name} s JOIN {FILE.name} f ON f.id = s.file WHERE s.scope = ?"
        return {
            known_path(path): (file, FileState(*state)) for file, path, *state in self.store.rows(query, (self.scope,))
        }

    def _linked(
        self, known: dict[str, tuple[int, FileState]], fresh: dict[str, FileDigest], gone: Collection[str]
    ) -> set[str]:
        """Return the known files that are linked to what changed."""
        if not known:
            return set()
        paths = {file: path for path, (file, _) in known.items()}
        found = {known[path][0] for path in (*fresh, *gone) if path in known}
        todo, asked = list(found), set[int]()
        hashes = {hash for file in fresh.values() for hash in _hashes(file)}
        while todo or hashes:
            hashes.update(*(self._column("hash", "file", file) for file in todo))
            new = hashes - asked
            asked |= new
            reached = {file for hash in new for file in self._column("file", "hash", hash)}
            todo, hashes = [file for file in reached - found if file in paths], set[int]()
            found.update(todo)
        return {paths[file] for file in found}

    def _column(self, wanted: str, by: str, value: int) -> list[int]:
        rows = self.store.rows(f"SELECT {wanted} FROM {LINK.name} WHERE {by} = ?", (value,))
        return [found for (found,) in rows]

    def _store(
        self,
        fresh: Iterable[FileDigest],
        ids: dict[str, int],
        entries: Iterable[UsageEntry],
        wanted: dict[str, FileState | None],
    ) -> None:
        store = self.store
        stored = {path for path in ids if (state := wanted[path]) is None or store.may_store(path, state)}
        first = store.rows(f"SELECT coalesce(max(id), 0) + 1 FROM {ORIGIN.name}")[0][0]
        origins = _Origins(first, self.scope, ids)
        rows = list(origins.rows(entry for entry in entries if entry.path in stored))
        store.add(ORIGIN, origins.made)
        store.add(RESPONSE, rows)
        gone = FileState(0, 0, 0, 0)
        store.add(SETTLED, ((self.scope, ids[path], *(wanted[path] or gone)) for path in stored))
        for file in fresh:
            store.run(f"DELETE FROM {LINK.name} WHERE file = ?", (ids[file.path],))
            store.add(LINK, ((ids[file.path], hash) for hash in _hashes(file)))


class _Origins:
    """Gives each origin of responses a number."""

    def __init__(self, first: int, scope: int, files: dict[str, int]) -> None:
        self.files = files
        self.made: list[Row] = []
        self._first = first
        self._scope = scope
        self._known: dict[Row, int] = {}

    def rows(self, entries: Iterable[UsageEntry]) -> Iterator[Row]:
        """Yield the rows of entries."""
        for entry in entries:
            where = (self.files[entry.path], entry.session, entry.project, entry.branch, entry.agent)
            number = self._known.get(where)
            if number is None:
                number = self._known[where] = self._first + len(self.made)
                self.made.append((number, self._scope, *where, None))
            yield (
                number,
                entry.message,
                entry.request,
                entry.time_ms,
                entry.model,
                entry.mode,
                entry.prompt,
                entry.responses,
                *entry.counts,
                entry.reported_nanos,
                entry.unconfirmed,
            )


def _entries(files: list[FileDigest], unread: set[str]) -> list[UsageEntry]:
    """Return the usage entries of files; a file that cannot be counted must not stop the others."""
    prices: Prices = current_prices()
    with suppress(Exception):
        return resolve(files, prices)
    good: list[FileDigest] = []
    for file in files:
        try:
            resolve([file], prices)
        except Exception:  # the report names those that are missing
            unread.add(file.path)
        else:
            good.append(file)
    return resolve(good, prices)


def _hashes(file: FileDigest) -> set[int]:
    """Return a number for each name that links a file to others; two names with one number do no harm."""
    return {crc32(repr(name).encode("utf-8", "surrogatepass")) for name in file_links(file)}
