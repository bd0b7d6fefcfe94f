"""Processes that work for this one: they are asked in pickles, and answer in pickles.

Searches of servers run in one, because their engine maps files, and a pattern may have to be stopped; so do the counts
of the reader's list, the pass over everything, which goes on alone, and the reader that an editor opens. To read many
bytes for `usage`, this process is copied instead: starting another Python takes longer than that saves.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

NICE = "nice"
NICENESS = 10
PROTOCOL = pickle.HIGHEST_PROTOCOL
"""Messages are pickled: names of files need not be Unicode, and both ends are this program."""

Say = Callable[[Any], None]
Work = Callable[[Iterator[Any], Say], None]
"""The work of a process: it is given questions as they come, and says what its owner receives. It ends when they do."""


class WorkerLost(OSError):
    """A process ended before it said anything, or something that nobody can read."""


class Worker:
    """A process that works until it has no more questions, and so ends with its owner at the latest.

    Keys that are pressed in its owner's terminal do not reach it. It has its own process group for that, but not its
    own session: Linux schedules each session on its own (autogroup) and would ignore its niceness.
    """

    def __init__(self, work: str, *, nice: bool = False, speaks: bool = True) -> None:
        """Start the work of this name, `module:function`: at low priority if it is `nice`, else as fast as it can be.

        One that does not speak can go on alone: it is not even in the session of its owner's terminal.
        """
        self._process: subprocess.Popen[bytes] | _Fork = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, work, *([NICE] if nice else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if speaks else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0 if speaks and sys.platform != "win32" else None,
            start_new_session=not speaks,
            creationflags=0 if speaks else getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    @classmethod
    def forked(cls, work: Work) -> Worker:
        """Start work in a copy of this process, which takes a moment only, and which nothing is asked."""
        worker = cls.__new__(cls)
        worker._process = _Fork(work)
        return worker

    def send(self, question: object) -> None:
        """Ask something; raise WorkerLost if it has ended."""
        assert self._process.stdin is not None
        try:
            pickle.dump(question, self._process.stdin, PROTOCOL)
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerLost from error

    def receive(self) -> Any:
        """Wait for what it says next; raise WorkerLost if it ends before."""
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except Exception as error:  # what is no pickle, or one of other code, can raise anything
            raise WorkerLost from error

    def ask(self, question: object) -> Any:
        """Return what it answers; raise WorkerLost if it ends before."""
        self.send(question)
        return self.receive()

    def finish(self) -> None:
        """Have it end once all questions are answered."""
        if self._process.stdin is not None:
            with suppress(OSError):  # it has ended before
                self._process.stdin.close()

    @property
    def is_running(self) -> bool:
        """True if it has not ended."""
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has ended; raise `subprocess.TimeoutExpired` if that takes longer."""
        self._process.wait(timeout)

    def kill(self) -> None:
        """End it at once; whoever receives from it hears that it is lost."""
        self._process.kill()

    def close(self) -> None:
        """End it at once, wait for that, and close its pipes."""
        self.kill()
        self.finish()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self.wait()


class _Fork:
    """A copy of this process, with what a worker needs of a `Popen`."""

    stdin: IO[bytes] | None = None

    def __init__(self, work: Work) -> None:
        read_end, write_end = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(read_end)  # else a copy whose owner was killed would wait for itself to read what it says
            with suppress(BaseException), os.fdopen(write_end, "wb") as out:
                work(iter(()), lambda value: pickle.dump(value, out, PROTOCOL))
            os._exit(0)  # skip the exit handlers and buffers of the original
        os.close(write_end)
        self.stdout: IO[bytes] | None = os.fdopen(read_end, "rb")

    def poll(self) -> int | None:
        return None  # until somebody waits for it

    def send_signal(self, number: int) -> None:
        os.kill(self._pid, number)

    def kill(self) -> None:
        import signal  # loaded late: few workers are ended

        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> None:
        os.waitpid(self._pid, 0)


def _questions() -> Iterator[Any]:
    with suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)


def _say(value: object) -> None:
    pickle.dump(value, sys.stdout.buffer, PROTOCOL)
    sys.stdout.buffer.flush()


def main() -> None:
    """Do the work that the first argument names."""
    if NICE in sys.argv[2:]:
        with suppress(AttributeError, OSError):
            os.nice(NICENESS)
    module, _, name = sys.argv[1].partition(":")
    getattr(import_module(module), name)(_questions(), _say)


if __name__ == "__main__":
    main()
