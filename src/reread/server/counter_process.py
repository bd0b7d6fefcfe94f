"""The clerk: counts the sessions of the library, newest first, in another process, and keeps what was counted."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from reread.disk.sources import FileSource
from reread.errors import RereadError
from reread.reader.counts import RowCounts, count_session
from reread.server.count_cache import CountCache
from reread.session.session import Session

PATIENCE = 20.0
"""A session that is being written is counted again after so many times as long as counting it took."""


class CounterProcess:
    """Counts sessions in the background."""

    def __init__(self, tell: Callable[[Path, RowCounts], None]) -> None:
        self._tell = tell
        self._done: dict[Path, object] = {}
        """The state in which each file was last counted."""
        self._rest: dict[Path, float] = {}
        """When each may be counted again."""
        self._wanted: queue.SimpleQueue[list[tuple[Path, object]] | None] = queue.SimpleQueue()
        self._child: subprocess.Popen[bytes] | None = None
        self._holds = 0
        """How many wait for something else."""
        self._free = threading.Condition()
        self._closed = False
        threading.Thread(target=self._run, name="clerk", daemon=True).start()

    def want(self, files: Sequence[tuple[Path, object]]) -> None:
        """Count these, as far as they changed, in this order."""
        self._wanted.put(list(files))

    @contextmanager
    def held(self) -> Generator[None]:
        """Count nothing for as long as someone waits for something else."""
        with self._free:
            self._holds += 1
            self._signal("SIGSTOP")
        try:
            yield
        finally:
            with self._free:
                self._holds -= 1
                if not self._holds:
                    self._signal("SIGCONT")
                    self._free.notify_all()

    def _signal(self, name: str) -> None:
        """Tell the other process to stop or to go on; where there are no signals it finishes the file it is at."""
        number = getattr(signal, name, None)
        if number is not None and self._child is not None:
            self._child.send_signal(number)

    def close(self) -> None:
        """Stop at once."""
        self._closed = True
        self._wanted.put(None)
        with self._free:
            self._free.notify_all()
            if self._child is not None:
                self._child.kill()

    def _run(self) -> None:
        kept = CountCache()
        while (files := self._latest()) is not None:
            for path, state in files:
                if self._closed or not self._wanted.empty():
                    break
                if self._done.get(path) != state and time.monotonic() >= self._rest.get(path, 0.0):
                    self._count(kept, path, state)
        kept.close()
        if self._child is not None:
            with self._child:  # closes its pipes, and waits
                self._child.kill()

    def _latest(self) -> list[tuple[Path, object]] | None:
        files = self._wanted.get()
        while files is not None and not self._wanted.empty():
            files = self._wanted.get()
        return files

    def _count(self, kept: CountCache, path: Path, state: object) -> None:
        counted = kept.get(path, state)
        if counted is None:
            began = time.monotonic()
            counted = self._ask(path)
            took = time.monotonic() - began
            self._rest[path] = time.monotonic() + PATIENCE * took
            if counted is not None:
                kept.put(path, state, counted)
        self._done[path] = state
        if counted is not None and not self._closed:
            self._tell(path, counted)

    def _ask(self, path: Path) -> RowCounts | None:
        """What the other process counts; None where it could not."""
        with self._free:
            self._free.wait_for(lambda: not self._holds or self._closed)
            child = self._child = self._running()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(msgspec.json.encode(os.fsencode(path)) + b"\n")
            child.stdin.flush()
            return msgspec.json.decode(child.stdout.readline(), type=RowCounts | None)
        except (OSError, ValueError, msgspec.DecodeError):
            return None

    def _running(self) -> subprocess.Popen[bytes]:
        """The other process: out of reach of Ctrl-C, but in this session, or Linux would not heed how nice it is."""
        if self._child is not None and self._child.poll() is None:
            return self._child
        return subprocess.Popen(
            [sys.executable, "-m", "reread.server.counter_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=None if sys.platform == "win32" else 0,
        )


def main() -> None:
    """Count each file that a line of standard input names, until it ends."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    for line in sys.stdin.buffer:
        try:
            path = Path(os.fsdecode(msgspec.json.decode(line, type=bytes)))
            counted: RowCounts | None = count_session(Session(FileSource(path)))
        except (RereadError, OSError):
            counted = None
        sys.stdout.buffer.write(msgspec.json.encode(counted) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
