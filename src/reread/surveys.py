"""Surveys: which files are to be counted, and what they say, from the cache where it knows."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

import msgspec

from reread import places
from reread.cache import Cache, Entry
from reread.digests import FORMAT, Digest, Filed, guessed_project, owner
from reread.errors import Misuse, NotFound, Unreadable
from reread.prices import Prices
from reread.readers import Job, Progress, kept_digest, read_all
from reread.settlement import settle
from reread.spends import Spend
from reread.store import companions
from reread.tallies import SLOT_MS

STDIN = "-"
if TYPE_CHECKING:
    from reread.session import Session

    Source = str | Path | bytes | IO[bytes] | Session

BESIDE = frozenset({"tool-results", "memory"})
"""Folders that belong to a session and hold no records."""


def is_session(source: object) -> TypeGuard[Session]:
    """Whether this is an open session; told by what it has, so that sessions need not be loaded to count."""
    return hasattr(source, "agent_files")


class _Found(msgspec.Struct):
    """A file to count."""

    path: str
    stat: os.stat_result


class Asked:
    """What is to be counted: files, and bytes that are in no file."""

    def __init__(self, sources: list[Source], root: str | Path | Sequence[str | Path] | None) -> None:
        self.root = root
        self.found: dict[str, _Found] = {}
        self.folders: list[str] = []
        """Everything below these is counted, so that what was there and is not was deleted."""
        self.loose: list[bytes] = []
        if not sources:
            roots = [root] if isinstance(root, str | Path) else root
            for folder in _session_folders(roots):
                self._add_folder(folder)
        for source in sources:
            self._add(source)

    def _add(self, source: Source) -> None:
        if isinstance(source, str | Path) and str(source) != STDIN:
            path = Path(source).expanduser()
            if path.is_dir():
                self._add_folder(path)
            elif path.is_file():
                self._add_session(path)
            else:
                from reread.session import find

                self._add_session(find(source, root=self.root))
        elif is_session(source):
            if source.path is None:
                self.loose.append(source.source.read(0, sys.maxsize >> 1))
            else:
                self._add_session(source.path)
        else:
            self.loose.append(_bytes(source))

    def _add_session(self, path: Path) -> None:
        """A session's file, those of its agents, and what else tells of the same session."""
        self._add_file(path)
        for other in companions(path, [self.root] if isinstance(self.root, str | Path) else self.root):
            self._add_with_agents(other)
        self._add_with_agents(path)

    def _add_with_agents(self, path: Path) -> None:
        self._add_file(path)
        head = places.first_head(path)
        names = {path.stem, head.sessionId if head is not None and head.sessionId else path.stem}
        for agent in places.agent_files(path, sorted(names)).values():
            self._add_file(agent)

    def _add_folder(self, folder: Path) -> None:
        whole = str(folder.absolute())
        self.folders.append(whole)
        for path in _below(whole):
            self._add_file(Path(path))

    def _add_file(self, path: Path) -> None:
        whole = str(path.absolute())
        if whole in self.found:
            return
        try:
            stat = path.stat()
        except FileNotFoundError:
            raise NotFound(f"{path}: no such file; `reread ls` lists sessions", path=str(path)) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unreadable(f"{path}: {reason}; check its permissions", path=str(path)) from error
        self.found[whole] = _Found(whole, stat)


def _bytes(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    data = sys.stdin.buffer.read() if source == STDIN else source.read()
    if not isinstance(data, bytes):
        raise Misuse("open the file in binary mode: reread reads bytes")
    return data


def _session_folders(roots: Sequence[str | Path] | None) -> Iterator[Path]:
    """The folders that hold projects, below the given ones or this machine's own."""
    for root in [Path(root).expanduser() for root in roots] if roots else places.default_roots():
        if roots and not root.is_dir():
            raise NotFound(f"{root}: no such folder; give --root a configuration or projects folder", path=str(root))
        inner = [root / name for name in places.FOLDERS if (root / name).is_dir()]
        yield from inner or ([root] if roots else [])


def _below(folder: str) -> Iterator[str]:
    """Every file below a folder that can hold records; what cannot be read is passed over."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".jsonl"):
            if entry.name not in places.NO_SESSIONS and entry.is_file():
                yield entry.path
        elif entry.name not in BESIDE and entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)


class Survey:
    """Digests of all that was asked for, from the cache where it has them."""

    def __init__(
        self,
        asked: Asked,
        cache: Cache | None,
        prices: Prices,
        *,
        keep_deleted: bool,
        progress: Progress | None,
    ) -> None:
        self.asked = asked
        self.cache = cache
        self.prices = prices
        self.progress = progress
        self.known = cache.entries() if cache is not None else {}
        gone = [path for path in self.known if path not in asked.found and _is_below(path, asked.folders)]
        self.deleted = [path for path in gone if not Path(path).exists()]
        self.forgotten = [] if keep_deleted else self.deleted
        self.kept = self.deleted if keep_deleted else []

    def spends(self, *, exact: bool) -> list[Spend]:
        """Everything that was spent; unless exact, what happened in the same quarter of an hour is one."""
        key = self._key()
        known = None if exact else self._settled(key)
        if known is not None:
            return known
        fresh: list[Entry] = []
        files = [*self._files(fresh), *map(_loose, self.asked.loose)]
        spends = settle(files, self.prices, slot=None if exact else SLOT_MS)
        if self.cache is not None and not exact and not self.asked.loose:
            self.cache.save(fresh, self.forgotten, key, msgspec.msgpack.encode(spends))
        elif self.cache is not None and (fresh or self.forgotten):
            self.cache.save(fresh, self.forgotten)
        return spends

    def _settled(self, key: bytes) -> list[Spend] | None:
        """What was settled for just these files when they were as they are."""
        unchanged = all(self._entry(found) is not None for found in self.asked.found.values())
        if self.cache is None or self.asked.loose or self.forgotten or not unchanged:
            return None
        settled = self.cache.settled(key)
        try:
            return None if settled is None else msgspec.msgpack.decode(settled, type=list[Spend])
        except (msgspec.DecodeError, UnicodeError):
            return None

    def _entry(self, found: _Found) -> Entry | None:
        """What is kept of a file that has not changed."""
        entry = self.known.get(found.path)
        return entry if entry is not None and entry.is_of(found.stat) else None

    def _key(self) -> bytes:
        """What a settlement depends on."""
        stats = [(found.path, found.stat) for found in self.asked.found.values()]
        files = sorted((path, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for path, s in stats)
        said = (FORMAT, files, sorted(self.kept), msgspec.json.encode(self.prices.table))
        return hashlib.blake2b(msgspec.msgpack.encode(said), digest_size=16).digest()

    def _files(self, fresh: list[Entry]) -> Iterator[Filed]:
        """Every file's digest; those that were read now are to be kept."""
        wanted = [path for path in (*self.asked.found, *self.kept) if path in self.known]
        blobs = self.cache.digests(wanted) if self.cache is not None else {}
        jobs: list[Job] = []
        for path, found in self.asked.found.items():
            entry = self._entry(found)
            digest = kept_digest(blobs[path]) if path in blobs and entry and entry.read == entry.size else None
            if digest is not None:
                yield _filed(path, digest)
            else:
                before = self.known.get(path) if path in blobs else None
                before = msgspec.structs.replace(before, digest=blobs[path]) if before is not None else None
                jobs.append(Job(path, found.stat.st_size, before))
        for path in self.kept:
            digest = kept_digest(blobs[path]) if path in blobs else None
            if digest is not None:
                yield _filed(path, digest)
        for entry, digest in read_all(jobs, self.progress):
            fresh.append(entry)
            yield _filed(entry.path, digest)


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder + os.sep) for folder in folders)


def _filed(path: str, digest: Digest) -> Filed:
    place = Path(path)
    return Filed(digest, path, guessed_project(place), *owner(place))


def _loose(data: bytes) -> Filed:
    from reread.scanners import Scanner

    scanner = Scanner()
    scanner.feed(data)
    scanner.flush()
    return Filed(scanner.digest, f"<{hashlib.blake2b(data, digest_size=8).hexdigest()}>")
