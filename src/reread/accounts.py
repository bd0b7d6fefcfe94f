"""Accounts: who spent what, where, when and on which model, over any number of sessions."""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from io import FileIO
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from reread import places, session
from reread.cache import PROOF, Cache, Entry
from reread.digests import FORMAT, Digest, Scanner
from reread.errors import Misuse, NotFound, Unreadable
from reread.prices import Prices, in_force
from reread.session import Session
from reread.settlement import Filed, Spend, guessed_project, owner, settle
from reread.tallies import SLOT_MS, Filter, Report, tally
from reread.when import parse_when

Source = str | Path | bytes | IO[bytes] | Session
When = str | datetime | date
Progress = Callable[[int], None]
SHARE_FROM = 32 << 20
"""From so many bytes on, another process that reads half of them pays for its start."""
MOST_PROCESSES = 8
LOCAL = "local"

_decode_digest = msgspec.msgpack.Decoder(Digest).decode
_decode_spends = msgspec.msgpack.Decoder(list[Spend]).decode


def usage(
    *sources: Source | Iterable[Source],
    by: str | Sequence[str] = "day",
    since: When | None = None,
    until: When | None = None,
    tz: str | tzinfo | None = None,
    project: str | Path | Sequence[str | Path] | None = None,
    model: str | Sequence[str] | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    prices: str | Path | Prices | None = None,
    cache: bool = True,
    keep_deleted: bool = False,
    progress: Progress | None = None,
) -> Report:
    """What sessions spent, in tokens and money: each response once, by group and in all.

    Without sources, all sessions of this machine (or below `root`). A source is a session (with its agents), a folder
    (all below it), a stream's file, bytes or a binary file. `by`: day, week, month, session, project, model, branch,
    agent, thread (main or subagents), block (five hours), or several of them.
    """
    zone = time_zone(tz)
    table = prices if isinstance(prices, Prices) else in_force(prices)
    groups = tuple(_words(by))
    keep = Filter(
        since=_milliseconds(since, zone),
        until=_milliseconds(until, zone, end=True),
        projects=tuple(os.path.realpath(Path(p).expanduser()) for p in _words(project)),
        models=tuple(_words(model)),
    )
    asked = _Asked(list(_flat(sources)), root)
    with _no_collection(), _opened(cache) as kept:
        books = _Books(asked, kept, table, keep_deleted=keep_deleted, progress=progress)
        exact = "block" in groups or any(edge is not None and edge % SLOT_MS for edge in (keep.since, keep.until))
        return tally(books.spends(exact=exact), groups, zone=zone, prices=table, keep=keep)


def time_zone(tz: str | tzinfo | None) -> tzinfo | None:
    """A time zone by name (`Europe/Berlin`, `UTC`, `+02:00`); None, the local one."""
    if tz is None or isinstance(tz, tzinfo):
        return tz
    name = tz.strip()
    if name.lower() in ("", LOCAL):
        return None
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        if name[0] in "+-":
            offset = datetime.strptime(name, "%z").utcoffset()
            return timezone(offset or timedelta())
        from zoneinfo import ZoneInfo

        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        raise Misuse(f"{tz!r} is no time zone: say local, UTC, +02:00 or a name such as Europe/Berlin") from None


def _words(value: Any) -> list[Any]:
    """One value, several, or several with commas between them."""
    if value is None:
        return []
    values: list[Any] = list(cast(list[Any], value)) if isinstance(value, list | tuple | set) else [value]
    if all(isinstance(item, str) for item in values):
        return [word.strip() for item in values for word in item.split(",") if word.strip()]
    return values


def _milliseconds(when: When | None, zone: tzinfo | None, *, end: bool = False) -> int | None:
    """A moment; a day that ends something is in it to its last moment."""
    if when is None:
        return None
    if isinstance(when, str):
        text = when.strip()
        moment = parse_when(text, zone=zone)
        whole = text.lower() in ("today", "yesterday") or (len(text) == 10 and text[:4].isdigit())
    else:
        whole = not isinstance(when, datetime)
        moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone).astimezone() if zone else moment.astimezone()
    if whole and end:
        moment = _next_day(moment, zone)
    return round(moment.timestamp() * 1000)


def _next_day(moment: datetime, zone: tzinfo | None) -> datetime:
    following = (moment.astimezone(zone) + timedelta(hours=36)).replace(tzinfo=None)
    midnight = following.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.replace(tzinfo=zone) if zone else midnight.astimezone()


def _flat(sources: Iterable[Any]) -> Iterator[Source]:
    for source in sources:
        if isinstance(source, str | Path | bytes | bytearray | Session) or hasattr(source, "read"):
            yield cast(Source, source)
        else:
            yield from _flat(source)


class _Found(msgspec.Struct):
    """A file to count."""

    path: str
    stat: os.stat_result


class _Asked:
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
        if isinstance(source, Session):
            if source.path is None:
                self.loose.append(source.source.read(0, sys.maxsize >> 1))
            else:
                self._add_session(source.path)
        elif isinstance(source, str | Path) and source != session.STDIN:
            path = Path(source).expanduser()
            if path.is_dir():
                self._add_folder(path)
            else:
                self._add_session(session.find(source, root=self.root))
        else:
            self.loose.append(_bytes(source))

    def _add_session(self, path: Path) -> None:
        """A session's file, and those of its agents."""
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
    data = sys.stdin.buffer.read() if source == session.STDIN else source.read()
    if not isinstance(data, bytes):
        raise Misuse("open the file in binary mode: reread reads bytes")
    return data


def _session_folders(roots: Sequence[str | Path] | None) -> Iterator[Path]:
    """The folders that hold projects, below the given ones or this machine's own."""
    for root in [Path(root).expanduser() for root in roots] if roots else places.config_folders():
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
        elif entry.name not in _BESIDE and entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)


_BESIDE = frozenset({"tool-results", "memory"})


class _Books:
    """Digests of all that was asked for, from the cache where it has them."""

    def __init__(
        self,
        asked: _Asked,
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
        unchanged = all(self._entry(found) is not None for found in self.asked.found.values())
        if self.cache is not None and not exact and not self.asked.loose and unchanged and not self.forgotten:
            settled = self.cache.settled(key)
            if settled is not None:
                return _decode_spends(settled)
        fresh: list[Entry] = []
        files = [*self._files(fresh), *map(_loose, self.asked.loose)]
        spends = settle(files, self.prices)
        if self.cache is not None:
            merged = msgspec.msgpack.encode(_merged(spends)) if not self.asked.loose else None
            if fresh or self.forgotten or not exact:
                self.cache.save(fresh, self.forgotten, (key, merged) if merged is not None else None)
        return spends

    def _entry(self, found: _Found) -> Entry | None:
        """What is kept of a file that has not changed."""
        entry = self.known.get(found.path)
        return entry if entry is not None and entry.is_of(found.stat) else None

    def _key(self) -> bytes:
        """What a settlement depends on."""
        files = sorted(
            [
                (f.path, f.stat.st_dev, f.stat.st_ino, f.stat.st_size, f.stat.st_mtime_ns)
                for f in self.asked.found.values()
            ]
        )
        said = (FORMAT, files, sorted(self.kept), msgspec.json.encode(self.prices.table))
        return hashlib.blake2b(msgspec.msgpack.encode(said), digest_size=16).digest()

    def _files(self, fresh: list[Entry]) -> Iterator[Filed]:
        wanted = [path for path in (*self.asked.found, *self.kept) if path in self.known]
        digests = self.cache.digests(wanted) if self.cache is not None else {}
        jobs: list[_Job] = []
        for found in self.asked.found.values():
            entry, digest = self.known.get(found.path), digests.get(found.path)
            if (
                entry is not None
                and digest is not None
                and entry.is_of(found.stat)
                and entry.read == found.stat.st_size
            ):
                yield _filed(found.path, _decode_digest(digest))
            else:
                jobs.append(_Job(found, entry if digest else None, digest))
        for path in self.kept:
            if path in digests:
                yield _filed(path, _decode_digest(digests[path]))
        for entry, digest in _read_all(jobs, self.progress):
            fresh.append(entry)
            yield _filed(entry.path, digest)


def _is_below(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder + os.sep) for folder in folders)


def _filed(path: str, digest: Digest) -> Filed:
    place = Path(path)
    return Filed(digest, path, guessed_project(place), *owner(place))


def _loose(data: bytes) -> Filed:
    scanner = Scanner()
    scanner.feed(data)
    scanner.flush()
    return Filed(scanner.digest, f"<{hashlib.blake2b(data, digest_size=8).hexdigest()}>")


def _merged(spends: list[Spend]) -> list[Spend]:
    """What happened in the same quarter of an hour at the same place, as one."""
    out: dict[tuple[Any, ...], Spend] = {}
    for spend in spends:
        slot = None if spend.when is None else spend.when // SLOT_MS * SLOT_MS
        priced = (spend.nanos is None, spend.reported is None, spend.responses > 0)
        key = (slot, spend.session, spend.project, spend.branch, spend.agent, spend.model, priced)
        before = out.get(key)
        if before is None:
            out[key] = msgspec.structs.replace(spend, when=slot)
        else:
            before.join(spend)
    return list(out.values())


# Reading files, in several processes where that pays


class _Job(msgspec.Struct):
    """A file to read, and what is known of its beginning."""

    found: _Found
    entry: Entry | None = None
    digest: bytes | None = None

    @property
    def size(self) -> int:
        """How many bytes are to be read."""
        return self.found.stat.st_size - (self.entry.read if self.entry is not None else 0)


Read = tuple[Entry, Digest]


def _read_all(jobs: list[_Job], progress: Progress | None) -> Iterator[Read]:
    processes = _processes(sum(job.size for job in jobs))
    if processes < 2:
        yield from _read_some(jobs, progress)
        return
    mine, *others = _shares(jobs, processes)
    import multiprocessing

    context = multiprocessing.get_context()
    pipes: list[Any] = []
    helpers: list[Any] = []
    for share in others:
        here, there = context.Pipe(duplex=False)
        helper = context.Process(target=_help, args=(there, share), daemon=True)
        helper.start()
        there.close()
        pipes.append(here)
        helpers.append(helper)
    yield from _read_some(mine, progress)
    for pipe, helper, share in zip(pipes, helpers, others, strict=True):
        yield from _received(pipe, share, progress)
        helper.join()


def _received(pipe: Any, share: list[_Job], progress: Progress | None) -> Iterator[Read]:
    """What another process read; where it died, the files are read here."""
    try:
        sent = msgspec.msgpack.decode(pipe.recv_bytes(), type=list[Read])
    except (EOFError, OSError, msgspec.DecodeError):
        yield from _read_some(share, progress)
        return
    finally:
        pipe.close()
    if progress is not None:
        progress(sum(job.size for job in share))
    yield from sent


def _help(pipe: Any, jobs: list[_Job]) -> None:
    gc.disable()
    pipe.send_bytes(msgspec.msgpack.encode(list(_read_some(jobs, None))))
    pipe.close()


def _processes(size: int) -> int:
    """How many processes to read so many bytes with."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES, size // (SHARE_FROM // 2)))


def _shares(jobs: list[_Job], count: int) -> list[list[_Job]]:
    """The jobs in shares of about the same size."""
    shares: list[list[_Job]] = [[] for _ in range(count)]
    sizes = [0] * count
    for job in sorted(jobs, key=lambda job: job.size, reverse=True):
        least = sizes.index(min(sizes))
        shares[least].append(job)
        sizes[least] += job.size
    return shares


def _read_some(jobs: list[_Job], progress: Progress | None) -> Iterator[Read]:
    for job in jobs:
        try:
            yield _read(job)
        except OSError:
            continue
        if progress is not None:
            progress(job.size)


def _read(job: _Job) -> Read:
    """Read a file from where it was left, or from its start where it is another."""
    path, entry = job.found.path, job.entry
    agent, session = owner(Path(path))
    with Path(path).open("rb", buffering=0) as file:
        stat = os.fstat(file.fileno())
        scanner = Scanner(session=session, agent=agent)
        if entry is not None and job.digest is not None and _goes_on(file, entry, stat):
            scanner = Scanner(_decode_digest(job.digest), session=session, agent=agent)
            scanner.offset = entry.read
        file.seek(scanner.offset)
        while count := file.readinto(scanner.room()):
            scanner.filled(count)
        proof = _proof(file, scanner.offset)
    if not scanner.digest.resumable:
        scanner.flush()
        scanner.offset, proof = stat.st_size, b""
    blob = msgspec.msgpack.encode(scanner.digest)
    scanner.flush()
    kept = Entry(path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, scanner.offset, proof, blob)
    return kept, scanner.digest


def _proof(file: FileIO, end: int) -> bytes:
    file.seek(max(0, end - PROOF))
    return file.read(min(PROOF, end)) or b""


def _goes_on(file: FileIO, entry: Entry, stat: os.stat_result) -> bool:
    """Whether a file is the one that was read, and at most longer."""
    if not entry.proof or not (entry.is_of(stat) or entry.may_have_grown(stat)):
        return False
    return _proof(file, entry.read) == entry.proof


@contextmanager
def _opened(wanted: bool) -> Generator[Cache | None]:
    cache = Cache() if wanted else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


@contextmanager
def _no_collection() -> Generator[None]:
    """Counting makes no garbage in cycles, and collecting while it runs costs half its time again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def report_value(report: Report) -> dict[str, Any]:
    """A report as JSON values: `rows` with their groups and figures, and `totals`."""
    rows = [{**row.group, **figures(row.usage)} for row in report.rows]
    more = {"unpriced_models": list(report.totals.unpriced_models), "lower_bound": report.totals.lower_bound}
    return {"rows": rows, "totals": {**figures(report.totals), **more}}


FIGURES = (
    "responses",
    "input_tokens",
    "output_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_read_tokens",
    "web_searches",
    "cost_usd",
    "reported_cost_usd",
    "unconfirmed_responses",
)


def figures(usage: Any) -> dict[str, Any]:
    """The figures of a usage by name."""
    return {name: usage[name] for name in FIGURES}
