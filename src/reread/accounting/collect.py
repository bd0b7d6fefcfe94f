"""Surveys: all digests of the files that are wanted, from the cache where it knows them, and what they come to."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from reread.accounting.billing import Usage
from reread.accounting.cache import Cache, CachedDigest, opened
from reread.accounting.digest import FORMAT, FileDigest, file_digest, packed
from reread.accounting.entries import UsageEntry, sum_entries
from reread.accounting.prices import Prices
from reread.accounting.responses import resolve
from reread.accounting.workers import Progress, ScanJob, kept_digest, read_all
from reread.base import jsontext
from reread.base.gc_pause import gc_paused
from reread.disk import layout
from reread.errors import NotFound, Unreadable

BESIDE = frozenset({"tool-results", "memory"})
"""Folders that belong to a session and hold no records."""


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""A file of this name is its own session's, whatever its first rows, which a fork copies, say."""
LARGE = 8 << 20
"""From so many bytes on, looking into the cache takes less time than reading."""


class InputFile(msgspec.Struct):
    """A file to count."""

    path: str
    stat: os.stat_result


class Inputs:
    """What is to be counted: files, and bytes that are in no file."""

    def __init__(self) -> None:
        self.found: dict[str, InputFile] = {}
        self.folders: list[str] = []
        """Everything below these is counted, so that what was there and is not was deleted."""
        self.loose: list[bytes] = []

    @property
    def state(self) -> tuple[object, ...]:
        """What changes when something of it does."""
        stats = ((path, found.stat) for path, found in sorted(self.found.items()))
        return tuple((path, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for path, s in stats)

    def add(self, other: Inputs) -> None:
        """All that another one has."""
        self.found |= other.found
        self.folders += other.folders
        self.loose += other.loose

    def add_session(self, path: Path) -> None:
        """A session's file, and those of its agents."""
        self.add_file(str(path.absolute()))
        head = None if _UUID.fullmatch(path.stem) else layout.first_envelope(path)
        name = head.sessionId if head is not None and head.sessionId else path.stem
        for agent in layout.agent_files(path, [name]).values():
            self.add_file(str(agent.absolute()))

    def add_folder(self, folder: Path) -> None:
        """Everything below a folder."""
        whole = str(folder.absolute())
        self.folders.append(whole)
        for path, _ in layout.jsonl_files(whole, skip=BESIDE):
            if os.path.basename(path) not in layout.NON_SESSION_FILES:
                self.add_file(path)

    def add_file(self, path: str) -> None:
        """One file, by its whole path."""
        if path in self.found:
            return
        try:
            stat = os.stat(path)  # noqa: PTH116 (of thousands of files, and `pathlib` takes its time)
        except FileNotFoundError:
            raise NotFound(f"{path}: no such file; `reread ls` lists sessions", path=path) from None
        except OSError as error:
            raise Unreadable.at(path, error) from error
        self.found[path] = InputFile(path, stat)


class Collection:
    """Digests of all that was asked for, from the cache where it has them."""

    def __init__(
        self,
        wanted: Inputs,
        cache: Cache | None,
        prices: Prices,
        *,
        keep_deleted: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.wanted = wanted
        self.cache = cache
        self.prices = prices
        self.progress = progress
        self.known = cache.entries() if cache is not None else {}
        gone = [path for path in self.known if path not in wanted.found and _is_below(path, wanted.folders)]
        self.deleted = [path for path in gone if not os.path.exists(path)]
        self.forgotten = [] if keep_deleted else self.deleted
        self.kept = self.deleted if keep_deleted else []
        self.unread: set[str] = set()
        """Files that were found and could not be read."""

    def entries(self, *, exact: bool = False) -> list[UsageEntry]:
        """Everything that was spent; unless exact, what happened in the same quarter of an hour is one."""
        key = self._key()
        known = None if exact else self._settled(key)
        if known is not None:
            return known
        fresh: list[CachedDigest] = []
        files = [*self._files(fresh), *map(_loose, self.wanted.loose)]
        entries = resolve(files, self.prices, exact=exact)
        settled = None if self.cache is None or exact or self.wanted.loose else packed(entries)
        if self.cache is not None and settled is not None:
            self.cache.save(fresh, self.forgotten, key, settled)
        elif self.cache is not None and (fresh or self.forgotten):
            self.cache.save(fresh, self.forgotten)
        return entries

    def _settled(self, key: bytes) -> list[UsageEntry] | None:
        """What was settled for just these files when they were as they are."""
        unchanged = all(self._entry(found) is not None for found in self.wanted.found.values())
        if self.cache is None or self.wanted.loose or self.forgotten or not unchanged:
            return None
        settled = self.cache.settled(key)
        try:
            return None if settled is None else msgspec.msgpack.decode(settled, type=list[UsageEntry])
        except (msgspec.DecodeError, UnicodeError):
            return None

    def _entry(self, found: InputFile) -> CachedDigest | None:
        """What is kept of a file that has not changed."""
        entry = self.known.get(found.path)
        return entry if entry is not None and entry.is_of(found.stat) else None

    def _key(self) -> bytes:
        """What a settlement depends on."""
        said = (FORMAT, self.wanted.state, sorted(self.kept), msgspec.json.encode(self.prices.table))
        return hashlib.blake2b(jsontext.dumps(said), digest_size=16).digest()

    def _files(self, fresh: list[CachedDigest]) -> Iterator[FileDigest]:
        """Every file's digest; those that were read now are to be kept."""
        wanted = [path for path in (*self.wanted.found, *self.kept) if path in self.known]
        blobs = self.cache.digests(wanted) if self.cache is not None else {}
        jobs: list[ScanJob] = []
        for path, found in self.wanted.found.items():
            entry = self._entry(found)
            digest = kept_digest(blobs[path]) if path in blobs and entry and entry.read == entry.size else None
            if digest is not None:
                yield file_digest(path, digest)
            else:
                before = self.known.get(path) if path in blobs else None
                before = msgspec.structs.replace(before, digest=blobs[path]) if before is not None else None
                jobs.append(ScanJob(path, found.stat.st_size, before))
        self.unread = {job.path for job in jobs}
        for path in self.kept:
            digest = kept_digest(blobs[path]) if path in blobs else None
            if digest is not None:
                yield file_digest(path, digest)
        for entry, digest in read_all(jobs, self.progress):
            self.unread.discard(entry.path)
            fresh.append(entry)
            yield file_digest(entry.path, digest)


def total_usage(wanted: Inputs, prices: Prices) -> Usage:
    """What some files say was spent, in all."""
    size = sum(found.stat.st_size for found in wanted.found.values())
    with gc_paused(), opened(size >= LARGE) as cache:
        return sum_entries(Collection(wanted, cache, prices).entries()).usage()


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder + os.sep) for folder in folders)


def _loose(data: bytes) -> FileDigest:
    from reread.accounting.scan import Scanner

    scanner = Scanner()
    scanner.feed(data)
    scanner.flush()
    return FileDigest(scanner.digest, f"<{hashlib.blake2b(data, digest_size=8).hexdigest()}>")
