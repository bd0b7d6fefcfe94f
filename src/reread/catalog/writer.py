"""Append lines to a captured conversation, each result with what it adds to the cost."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from reread.accounting.billing import to_dollars
from reread.accounting.cost_counters import CounterReading, counter_delta, read_result
from reread.accounting.counter_deltas import is_per_process
from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.base.version import __version__
from reread.catalog.stored_line import (
    END,
    NEWLINE,
    OUT,
    START,
    LineEncoder,
    LineType,
    RunMarker,
    StoredLine,
    decode_line,
    format_timestamp,
    line_type,
    split_line_end,
)
from reread.disk.reverse_lines import lines_backwards
from reread.errors import Misuse, Unwritable
from reread.records import dialects
from reread.storage.lock import lock
from reread.storage.safe_open import make_private_folder, open_descriptor

NEVER, RESULT, LINE = FSYNC_MODES = ("never", "result", "line")
"""When written lines are forced onto the disk: never, after each result and run, or after each line."""
_FSYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP)
"""Errors of fsync on something that is not a file on a disk."""


class ConversationWriter:
    """The only writer of a conversation; a context manager. Its methods may be called from any thread."""

    def __init__(
        self, path: Path, conversation: str, *, workspace: str, agent: str, fsync: str = RESULT, wait: float = 0
    ) -> None:
        if fsync not in FSYNC_MODES:
            raise Misuse(f"Invalid fsync mode {fsync!r}; use {', '.join(FSYNC_MODES[:-1])} or {FSYNC_MODES[-1]}.")
        self.path = path
        self.repair: str | None = None
        """The repair that was made when the file was opened, as a sentence."""
        self.line_count: int = 0
        """The number of lines written."""
        self._workspace = workspace
        self._fsync_mode = fsync
        self._encoder = LineEncoder(conversation, agent)
        self._meter = CostMeter(path)
        self._mutex = threading.Lock()
        try:
            make_private_folder(path.parent)
            self._fd = open_descriptor(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except OSError as error:
            raise Unwritable.at(path, error) from error
        try:
            if not lock(self._fd, wait=wait):
                raise Misuse(
                    f"Conversation {conversation!r} is being captured right now; wait for that run to end, "
                    "or capture into another conversation."
                )
            self._end_torn_line()
        except BaseException:
            os.close(self._fd)
            raise

    def start_run(self, argv: Sequence[str] = (), *, cwd: str | None = None, title: str | None = None) -> None:
        """Write that a run starts."""
        self._meter.start_run()
        self._write_marker(RunMarker(START, list(argv), cwd, title, self._workspace, __version__))

    def end_run(self, exit_code: int | None = None) -> None:
        """Write that the run has ended."""
        self._write_marker(RunMarker(END, exit_code=exit_code))
        self._sync(after_result=True)

    def append(self, raw: bytes, *, end: bytes = NEWLINE, stream: str = OUT, timestamp: datetime | None = None) -> None:
        """Write one line."""
        with self._mutex:
            data, is_result = self._encode(raw, end, stream, format_timestamp(timestamp))
            self._write_lines(data)
        self._sync(after_result=is_result)

    def extend(self, lines: Sequence[bytes], *, stream: str = OUT) -> None:
        """Write several lines, each with its line end, with the current time."""
        with self._mutex:
            timestamp = format_timestamp()
            encoded = [self._encode(*split_line_end(line), stream, timestamp) for line in lines]
            self._write_lines(b"".join(data for data, _ in encoded))
        self._sync(after_result=any(is_result for _, is_result in encoded))

    def close(self, *, discard_empty: bool = False) -> None:
        """Close and unlock the conversation; `discard_empty` deletes a file without content."""
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

    def _encode(self, raw: bytes, end: bytes, stream: str, timestamp: str) -> tuple[bytes, bool]:
        """Return the stored form of a line, and True if it is a result."""
        found = line_type(raw)
        if found is None or stream != OUT or found.type not in ("result", "system"):
            return self._encoder.encode(raw, timestamp, embed=found is not None, end=end, stream=stream), False
        cost, duration = self._meter.measure(raw, found)
        data = self._encoder.encode(raw, timestamp, embed=True, end=end, cost_usd=cost, duration_ms=duration)
        return data, found.type == "result"

    def _write_marker(self, marker: RunMarker) -> None:
        with self._mutex:
            self._write(self._encoder.encode_marker(marker, format_timestamp()))

    def _write_lines(self, data: bytes) -> None:
        """Append captured lines, and count those that were written to their end."""
        size = os.fstat(self._fd).st_size
        try:
            self._write(data)
        finally:
            self.line_count += data.count(b"\n", 0, os.fstat(self._fd).st_size - size)

    def _write(self, data: bytes) -> None:
        """Append whole lines; after a short write, the rest is tried until the system reports why."""
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            raise Unwritable.at(self.path, error) from error

    def _sync(self, *, after_result: bool) -> None:
        if self._fsync_mode == LINE or (self._fsync_mode == RESULT and after_result):
            try:
                os.fsync(self._fd)
            except OSError as error:
                if error.errno not in _FSYNC_UNSUPPORTED:
                    raise Unwritable.at(self.path, error) from error

    def _end_torn_line(self) -> None:
        """Add a newline to a line that a crash cut off, so that the next one starts a new line; nothing is removed."""
        if os.fstat(self._fd).st_size == 0:
            return
        torn = next(lines_backwards(self.path))
        if not torn:
            return
        self._write(b"\n")
        is_complete = decode_line(torn) is not None
        what = "the missing newline was added" if is_complete else f"its {len(torn)} bytes stay as they are"
        self.repair = f"Repaired {self.path}: the last capture stopped in the middle of a line; {what}."


class CostMeter:
    """Turn the client's running totals into costs per result.

    The totals grow for as long as a process runs, and in newer versions for as long as a session lives.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: CounterReading | None = None
        self._run_is_new = True
        """True until the first result of the run."""
        self._client_version: str | None = None

    def start_run(self) -> None:
        """Begin to read the output of another process."""
        self._run_is_new = True

    def measure(self, raw: bytes, line_type: LineType) -> tuple[float | None, float | None]:
        """Return the cost and the duration of the turn that a line ends, None for each that it does not give."""
        if line_type.type == "system":
            self._client_version = as_str(_native(raw).get("version")) or self._client_version
            return None, None
        result = _native(raw)
        duration = result.get("duration_ms")
        return self._cost(result), duration if isinstance(duration, int | float) else None

    def _cost(self, result: dict[str, Any]) -> float | None:
        reading = read_result(result, 0)
        if reading is None or reading.cost_nanos is None:
            return None
        base = self._base(reading)
        self._last, self._run_is_new = reading, False
        return to_dollars(counter_delta(reading, base).cost_nanos or 0)

    def _base(self, reading: CounterReading) -> CounterReading | None:
        """Return the earlier reading that includes what this one includes; None if this one starts from zero."""
        if self._run_is_new and is_per_process(self._client_version):
            return None
        last = self._last
        if last is None and self._run_is_new:
            last = _last_reading(self._path)
        if last is None or last.session != reading.session:
            return None
        return last if reading.follows(last) else None


def _last_reading(path: Path) -> CounterReading | None:
    """Read the last result in a conversation's file."""
    for line in lines_backwards(path):
        if b'"result"' in line:
            stored = decode_line(line)
            if isinstance(stored, StoredLine) and stored.stream == OUT and _native(stored.raw).get("type") == "result":
                return read_result(_native(stored.raw), 0)
    return None


def _native(raw: bytes) -> dict[str, Any]:
    """Return a line's object in the native format; empty if it is not an object."""
    value: Any = jsontext.loads_clean(raw)
    return dialects.translate(as_dict(value))[1] if isinstance(value, dict) else {}
