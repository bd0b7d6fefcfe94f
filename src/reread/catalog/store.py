"""The store: captured conversations on disk, one file each, to which whole lines are appended."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import msgspec

from reread import __version__
from reread.accounting.cost_counters import CounterReading, counter_delta, read_result
from reread.accounting.counter_deltas import is_per_process
from reread.base import jsontext
from reread.base.coerce import as_str
from reread.catalog.config import enter_workspace
from reread.catalog.stored_line import (
    END,
    NEWLINE,
    OUT,
    START,
    LineEncoder,
    LineType,
    Run,
    RunMarker,
    StoredLine,
    decode_line,
    line_type,
    split_end,
    stamp_of,
)
from reread.catalog.summaries import captures_of
from reread.disk import layout
from reread.disk.filenames import id_of, name_of
from reread.disk.lock import lock
from reread.errors import Ambiguous, Misuse, NotFound, Unreadable, Unwritable
from reread.records import dialects

DEFAULT = "default"
LATEST = "latest"
FOLDER = "conversations"
ENDING = ".jsonl"
NEVER, RESULT, LINE = SYNCS = ("never", "result", "line")
"""When what was written is forced onto the disk: when the system likes, after each result and run, or always."""
MARK = b'"run":{'
CHUNK = 1 << 20
NANO = 1e9
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""What a file that is no file on a disk says."""


class Store:
    """The captured conversations below a folder, or below this machine's own."""

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = layout.expand_path(root) if root is not None else layout.default_store()
        """Where new conversations go."""
        self._given = root is not None

    @property
    def roots(self) -> list[Path]:
        """Where conversations are looked for."""
        return [self.root] if self._given else layout.store_roots()

    def conversations(self, *, workspace: str | None = None, agent: str | None = None) -> Iterator[StoredConversation]:
        """Every conversation, the newest first."""
        found = [(_modified(path), path) for path in self._files()]
        for _, path in sorted(found, reverse=True):
            kept = StoredConversation(path)
            if workspace in (None, kept.workspace) and agent in (None, kept.agent):
                yield kept

    def open(self, name: str | Path) -> StoredConversation:
        """A conversation by id or the beginning of one, by path, by the id of a session in it, or the latest."""
        if name == "":
            raise Misuse("an empty name is no conversation: give an id or its beginning, a path, or latest")
        if isinstance(name, Path) or "/" in name or os.sep in name or name.endswith(ENDING):
            path = layout.expand_path(name)
            called = None if os.path.isfile(path) else next((k for k in self.conversations() if k.id == name), None)
            if called is None and not os.path.isfile(path):
                raise NotFound(f"{path}: no such file; `reread ls --captured` lists conversations", path=str(path))
            return called or StoredConversation(path)
        everything = self.conversations()
        if name == LATEST:
            latest = next(everything, None)
            if latest is None:
                raise NotFound(f"no conversation has been captured in {self.root}; `reread capture -- claude -p …`")
            return latest
        fits = [kept for kept in everything if kept.id.startswith(name)]
        exact = [kept for kept in fits if kept.id == name] or fits
        if len(exact) == 1:
            return exact[0]
        if not fits:
            held = captures_of(name, self.roots)
            if held:
                return StoredConversation(held[0])
            raise NotFound(f"no captured conversation {name!r}; `reread ls --captured` lists them")
        shown = "".join(f"\n  {kept.id}  {kept.path}" for kept in exact[:20])
        raise Ambiguous(f"{name!r} fits {len(exact)} conversations:{shown}", candidates=[str(k.path) for k in exact])

    def append(
        self,
        conversation: str,
        line: bytes,
        *,
        workspace: str = DEFAULT,
        agent: str = DEFAULT,
        stream: str = OUT,
        timestamp: datetime | None = None,
    ) -> None:
        """Keep one line, with its end or without; waits a moment where another writes to the conversation."""
        with self.writer(conversation, workspace=workspace, agent=agent, wait=5) as writer:
            raw, end = split_end(line)
            writer.append(raw, end=end or NEWLINE, stream=stream, timestamp=timestamp)

    def writer(
        self,
        conversation: str,
        *,
        workspace: str = DEFAULT,
        agent: str = DEFAULT,
        fsync: str = RESULT,
        wait: float = 0,
    ) -> ConversationWriter:
        """The one writer of a conversation, which is made where it is new."""
        return ConversationWriter(self, conversation, workspace=workspace, agent=agent, fsync=fsync, wait=wait)

    def path_of(self, conversation: str, *, workspace: str = DEFAULT, agent: str = DEFAULT) -> Path:
        """The file of a conversation; one that another program named by the bare id is used as it is."""
        folder = self.root / FOLDER / name_of(workspace) / name_of(agent)
        if id_of(conversation) == conversation and name_of(conversation) != conversation:
            with suppress(OSError):
                bare = folder / f"{conversation}{ENDING}"
                if bare in folder.iterdir():  # asking for it could find one with other capitals
                    return bare
        return folder / f"{name_of(conversation)}{ENDING}"

    def _files(self) -> Iterator[Path]:
        folders = [folder for root in self.roots if os.path.isdir(folder := root / FOLDER)]
        return layout.unique_files(path for folder in folders for path in folder.glob(f"*/*/*{ENDING}"))


def stores(root: str | Path | Sequence[str | Path] | None = None) -> list[Store]:
    """The stores in the given folders, or this machine's own."""
    if root is None or isinstance(root, str | Path):
        return [Store(root)]
    return [Store(folder) for folder in root]


def companions(path: Path, roots: Sequence[str | Path] | None = None) -> list[Path]:
    """What else tells of the same sessions: a capture's transcripts, or a transcript's captures."""
    kept = StoredConversation(path)
    if not kept.is_captured:
        found = captures_of(path.stem, roots)
        return [
            other for other in found if StoredConversation(other).session_ids == [path.stem]
        ]  # what else it holds is not asked
    found = (layout.find_transcript(id, roots) for id in kept.session_ids)
    return [path for path in found if path is not None]


class StoredConversation:
    """A captured conversation: its runs, and every line of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: tuple[int, _Contents] | None = None

    @property
    def id(self) -> str:
        """The conversation's id."""
        name = self.path.stem
        return _known(id_of(name), lambda: self._first().conversation_id or name)

    @property
    def agent(self) -> str:
        """The agent it belongs to."""
        name = self.path.parent.name
        return _known(id_of(name), lambda: self._first().agent_id or name)

    @property
    def workspace(self) -> str:
        """The workspace it belongs to."""
        name = self.path.parent.parent.name
        return _known(id_of(name), lambda: next((run.workspace for run in self.runs if run.workspace), name))

    @property
    def root(self) -> Path | None:
        """The store's folder, where the file lies in one."""
        folders = self.path.absolute().parents
        return folders[3] if len(folders) > 3 and folders[2].name == FOLDER else None

    @property
    def is_captured(self) -> bool:
        """Whether the file begins with a line of a captured conversation."""
        return decode_line(next(self._lines(), b"")) is not None

    @property
    def title(self) -> str | None:
        """The title that was given last, if any was."""
        return next((run.title for run in reversed(self.runs) if run.title), None)

    @property
    def session_ids(self) -> list[str]:
        """Claude Code's ids of the sessions in it, in order, each once."""
        return self._contents().sessions

    @property
    def runs(self) -> list[Run]:
        """The times that it was captured into; of a file by another program, one that says only when."""
        return self._contents().runs

    def entries(self) -> Iterator[StoredLine]:
        """Every captured line in order, read as it is asked for; what is damaged is passed over."""
        run = 0
        for line in self._lines():
            found = decode_line(line, max(run, 1))
            if isinstance(found, RunMarker):
                run += found.event == START
            elif found is not None:
                run = found.run
                yield found

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb", buffering=CHUNK) as file:
                yield from file
        except OSError as error:
            raise Unreadable.at(self.path, error) from error

    def _first(self) -> StoredLine:
        return next(self.entries(), StoredLine("", "", "", None, b""))

    def _contents(self) -> _Contents:
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise Unreadable.at(self.path, error) from error
        if self._found is None or self._found[0] != size:
            self._found = (size, _Contents(self._lines()))
        return self._found[1]

    def __repr__(self) -> str:
        return f"<Kept {self.id} {self.path}>"


def _known(id: str | None, look: Callable[[], str]) -> str:
    """An id, or what the file itself says of it."""
    return id if id is not None else look()


class _Contents:
    """What one pass through a conversation's file finds."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.runs: list[Run] = []
        sessions: dict[str, None] = {}
        last: bytes | None = None
        for line in lines:
            if last is not None and last in line and MARK not in line:
                continue
            found = decode_line(line)
            if isinstance(found, RunMarker):
                self._note(found)
            elif found is not None:
                if not self.runs:
                    self.runs.append(Run(started=found.timestamp))
                session = _session_of(found)
                if session:
                    sessions[session], last = None, session.encode("utf-8", "replace")
        self.sessions = list(sessions)

    def _note(self, mark: RunMarker) -> None:
        if mark.event == START:
            self.runs.append(
                Run(mark.argv, mark.cwd, mark.title, mark.timestamp, None, None, mark.workspace, mark.version)
            )
        elif self.runs:
            self.runs[-1].ended, self.runs[-1].exit_code = mark.timestamp, mark.exit_code


class _Named(msgspec.Struct):
    """Whose line it is."""

    session_id: Any = None
    sessionId: Any = None


_name = msgspec.json.Decoder(_Named).decode


def _session_of(entry: StoredLine) -> str | None:
    """The session that a printed line names."""
    try:
        named = _name(entry.raw) if entry.stream == OUT else _Named()
    except jsontext.DECODE_ERRORS:
        return None
    found = named.session_id or named.sessionId
    return found if isinstance(found, str) else None


class ConversationWriter:
    """The one writer of a conversation; a context manager. Its methods may be called from any thread."""

    def __init__(
        self, store: Store, conversation: str, *, workspace: str, agent: str, fsync: str = RESULT, wait: float = 0
    ) -> None:
        if fsync not in SYNCS:
            raise Misuse(f"{fsync!r} is no way to fsync: say {', '.join(SYNCS)}")
        self.conversation, self.workspace, self.agent = conversation, workspace, agent
        self.path = store.path_of(conversation, workspace=workspace, agent=agent)
        self.repaired: str | None = None
        """What was repaired when the file was opened, in a sentence."""
        self.lines = 0
        """How many lines have been kept."""
        self._fsync = fsync
        self._sealer = LineEncoder(conversation, agent)
        self._meter = _CostMeter(self.path)
        self._mutex = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise Unwritable.at(self.path, error) from error
        try:
            if not lock(self._fd, wait=wait):
                raise Misuse(
                    f"conversation {conversation!r} is being captured into right now; wait for that run to end, "
                    "or capture into another conversation"
                )
            self._repair()
            with suppress(OSError):  # the list is a convenience: what counts is the conversation
                enter_workspace(store.root, workspace)
        except BaseException:
            os.close(self._fd)
            raise

    def begin(self, argv: Sequence[str] = (), *, cwd: str | None = None, title: str | None = None) -> None:
        """Note that a run begins."""
        self._meter.begin()
        self._mark(RunMarker(START, list(argv), cwd, title, self.workspace, __version__))

    def finish(self, exit_code: int | None = None) -> None:
        """Note that the run ended."""
        self._mark(RunMarker(END, exit_code=exit_code))
        self._force(RESULT)

    def append(self, raw: bytes, *, end: bytes = NEWLINE, stream: str = OUT, timestamp: datetime | None = None) -> None:
        """Keep one line."""
        with self._mutex:
            data, is_result = self._sealed(raw, end, stream, stamp_of(timestamp))
            self._write(data)
            self.lines += 1
        self._force(RESULT if is_result else LINE)

    def extend(self, lines: Sequence[bytes], *, stream: str = OUT) -> None:
        """Keep some lines, each with its end, as of now."""
        with self._mutex:
            stamp = stamp_of()
            sealed = [self._sealed(*split_end(line), stream, stamp) for line in lines]
            self._write(b"".join(data for data, _ in sealed))
            self.lines += len(lines)
        self._force(RESULT if any(is_result for _, is_result in sealed) else LINE)

    def close(self, *, discard_empty: bool = False) -> None:
        """Let go of the conversation; where asked, a file that holds nothing is taken away."""
        if self._fd >= 0:
            with suppress(OSError):
                if discard_empty and os.fstat(self._fd).st_size == 0:
                    self.path.unlink()
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> ConversationWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _sealed(self, raw: bytes, end: bytes, stream: str, stamp: str) -> tuple[bytes, bool]:
        seen = line_type(raw)
        if seen is None or stream != OUT or seen.type not in ("result", "system"):
            return self._sealer.encode(raw, stamp, embed=seen is not None, end=end, stream=stream), False
        cost, duration = self._meter.take(raw, seen)
        sealed = self._sealer.encode(raw, stamp, embed=True, end=end, cost_usd=cost, duration_ms=duration)
        return sealed, seen.type == "result"

    def _mark(self, mark: RunMarker) -> None:
        with self._mutex:
            self._write(self._sealer.mark(mark, stamp_of()))

    def _write(self, data: bytes) -> None:
        """Append whole lines; where the system takes only some of them, the rest is tried until it says why."""
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            raise Unwritable.at(self.path, error) from error

    def _force(self, reason: str) -> None:
        if self._fsync == LINE or (self._fsync == RESULT and reason == RESULT):
            try:
                os.fsync(self._fd)
            except OSError as error:
                if error.errno not in _NO_SYNC:
                    raise Unwritable.at(self.path, error) from error

    def _repair(self) -> None:
        """Give a line that a crash cut off an end, so that the next one stands by itself; nothing is taken away."""
        size = os.fstat(self._fd).st_size
        if size == 0:
            return
        torn = _tail(self._fd, size)
        if not torn:
            return
        self._write(b"\n")
        whole = decode_line(torn) is not None
        what = "its end was added" if whole else f"the {len(torn)} bytes of it that were written stay as they are"
        self.repaired = f"{self.path}: the last capture was cut off within a line; {what}"


def _tail(fd: int, size: int) -> bytes:
    """What stands after the last line end of a file."""
    pieces: list[bytes] = []
    while size > 0:
        start = max(0, size - CHUNK)
        os.lseek(fd, start, os.SEEK_SET)
        piece = os.read(fd, size - start)
        cut = piece.rfind(b"\n") + 1
        pieces.append(piece[cut:])
        if cut:
            break
        size = start
    return b"".join(reversed(pieces))


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class _CostMeter:
    """What each result of a conversation adds to the last: the client's own totals run on through a process, and in
    newer versions through a session's life."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: CounterReading | None = None
        self._fresh = True
        """Whether no result has come in this run."""
        self._client: str | None = None

    def begin(self) -> None:
        """Another process."""
        self._fresh = True

    def take(self, raw: bytes, seen: LineType) -> tuple[float | None, float | None]:
        """What a line's turn cost and how long it took, where it is a result."""
        if seen.type == "system":
            if seen.subtype == "init":
                self._client = as_str(_native(raw).get("version")) or self._client
            return None, None
        result = _native(raw)
        reading = read_result(result, 0)
        duration = result.get("duration_ms")
        return self._cost(result, reading), duration if isinstance(duration, int | float) else None

    def _cost(self, result: dict[str, Any], reading: CounterReading | None) -> float | None:
        if reading is None or reading.cost_nanos is None:
            return None
        base = self._base(reading)
        self._last, self._fresh = reading, False
        return result["total_cost_usd"] if base is None else (counter_delta(reading, base).cost_nanos or 0) / NANO

    def _base(self, reading: CounterReading) -> CounterReading | None:
        """The reading that this one goes on from."""
        if self._fresh and is_per_process(self._client):
            return None
        last = self._last if self._last is not None or not self._fresh else _last_reading(self._path)
        if last is None or last.session != reading.session:
            return None
        return last if reading.follows(last) else None


def _last_reading(path: Path) -> CounterReading | None:
    """The last result that a conversation's file holds."""
    for line in _backwards(path):
        if b'"result"' in line:
            found = decode_line(line)
            if isinstance(found, StoredLine) and found.stream == OUT and _native(found.raw).get("type") == "result":
                return read_result(_native(found.raw), 0)
    return None


def _backwards(path: Path) -> Iterator[bytes]:
    """The lines of a file from the last to the first."""
    with path.open("rb") as file:
        at, rest = file.seek(0, os.SEEK_END), b""
        while at > 0:
            start = max(0, at - CHUNK)
            file.seek(start)
            first, *lines = (file.read(at - start) + rest).split(b"\n")
            yield from reversed(lines)
            at, rest = start, first
        yield rest


def _native(raw: bytes) -> dict[str, Any]:
    value: Any = jsontext.loads_clean(raw)
    return dialects.translate(cast(dict[str, Any], value))[1] if isinstance(value, dict) else {}
