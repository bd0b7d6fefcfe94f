"""Background process that computes turns, agents and cost for library rows, with an on-disk cache."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk.cache import FileState
from reread.disk.sources import FileSource
from reread.errors import RereadError
from reread.reader.row_counts import RowCounts, count_session
from reread.server.count_cache import CountCache
from reread.session.session import Session, threads_of

FileStates = tuple[FileState, ...]
"""The states of a session's file, and of all others that its counts depend on."""
RECOUNT_FACTOR = 20.0
"""A session that keeps growing is counted again after this many times as long as the last count took."""


class CounterProcess:
    """Counts sessions in a child process, in the order of the latest request."""

    def __init__(self, on_counted: Callable[[Path, RowCounts], None]) -> None:
        self._on_counted = on_counted
        self._counted_states: dict[Path, FileStates] = {}
        """The states of the files of each session when it was last counted."""
        self._recount_times: dict[Path, float] = {}
        """The earliest time to count each file again."""
        self._requests: queue.SimpleQueue[list[tuple[Path, FileStates]] | None] = queue.SimpleQueue()
        self._gone: deque[Path] = deque()
        self._child: subprocess.Popen[bytes] | None = None
        self._pauses = 0
        """The number of blocks that pause counting now."""
        self._condition = threading.Condition()
        """Guards the child and the pauses; notified when counting may go on."""
        self._closed = False
        threading.Thread(target=self._run, name="counter", daemon=True).start()

    def request(self, files: Sequence[tuple[Path, FileStates]]) -> None:
        """Count the sessions of which a file has changed, in this order; replaces earlier requests."""
        self._requests.put(list(files))

    def forget(self, files: Iterable[Path]) -> None:
        """Forget the counts of files that are gone, before the next file is counted."""
        self._gone.extend(files)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pause counting during the block; blocks may overlap."""
        with self._condition:
            self._pauses += 1
            self._signal("SIGSTOP")
        try:
            yield
        finally:
            with self._condition:
                self._pauses -= 1
                if not self._pauses:
                    self._signal("SIGCONT")
                    self._condition.notify_all()

    def _signal(self, name: str) -> None:
        """Signal the child; without such signals (Windows) it finishes its current file."""
        number = getattr(signal, name, None)
        if number is not None and self._child is not None:
            self._child.send_signal(number)

    def close(self) -> None:
        """Stop counting and kill the child."""
        self._closed = True
        self._requests.put(None)
        with self._condition:
            self._condition.notify_all()
            if self._child is not None:
                self._child.kill()

    def _run(self) -> None:
        kept = CountCache()
        while (files := self._latest()) is not None:
            kept.forget([self._gone.popleft() for _ in range(len(self._gone))])
            for path, states in files:
                if self._closed or not self._requests.empty():
                    break
                if self._counted_states.get(path) != states and time.monotonic() >= self._recount_times.get(path, 0.0):
                    self._count(kept, path, states)
        kept.close()
        if self._child is not None:
            with self._child:  # closes its pipes, and waits
                self._child.kill()

    def _latest(self) -> list[tuple[Path, FileStates]] | None:
        """Wait for a request and return the newest one; None once closed."""
        files = self._requests.get()
        while files is not None and not self._requests.empty():
            files = self._requests.get()
        return files

    def _count(self, kept: CountCache, path: Path, states: FileStates) -> None:
        counted = kept.get(path, states)
        if counted is None:
            began = time.monotonic()
            counted = self._count_in_child(path)
            took = time.monotonic() - began
            self._recount_times[path] = time.monotonic() + RECOUNT_FACTOR * took
            if counted is not None:
                kept.put(path, states, counted)
        self._counted_states[path] = states
        if counted is not None and not self._closed:
            self._on_counted(path, counted)

    def _count_in_child(self, path: Path) -> RowCounts | None:
        """Return the counts of a file; None if the child could not read it."""
        with self._condition:
            self._condition.wait_for(lambda: not self._pauses or self._closed)
            child = self._child = self._running_child()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(msgspec.json.encode(os.fsencode(path)) + b"\n")
            child.stdin.flush()
            return msgspec.json.decode(child.stdout.readline(), type=RowCounts | None)
        except (OSError, ValueError, *jsontext.DECODE_ERRORS):
            return None

    def _running_child(self) -> subprocess.Popen[bytes]:
        """Return the child, started if needed.

        It has its own process group, so that Ctrl-C does not reach it, but not its own session: Linux schedules each
        session on its own (autogroup) and would ignore the child's niceness.
        """
        if self._child is not None and self._child.poll() is None:
            return self._child
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "reread.server.counter_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=None if sys.platform == "win32" else 0,
        )


def main() -> None:
    """Read paths from standard input, one per line, and print the counts of each file."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    for line in sys.stdin.buffer:
        try:
            path = Path(os.fsdecode(msgspec.json.decode(line, type=bytes)))
            session = Session(FileSource(path))
            counted: RowCounts | None = count_session(session)
            threads = threads_of(session)
            threads.loader.read_endings()
            threads.save_fold()
        except (RereadError, OSError):
            counted = None
        sys.stdout.buffer.write(msgspec.json.encode(counted) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
