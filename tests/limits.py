"""Limits on CPU time, its growth, and the lifetime of a child process.

They are for what would take minutes or grow without end. How fast something is, `bench/` measures.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from reread.base.gc_pause import gc_paused

T = TypeVar("T")
PATIENCE = float(os.environ.get("REREAD_PATIENCE", "120"))
"""How many seconds a test waits for what takes a moment on a machine that is not busy."""


SLOW = 6
"""How many times slower a busy machine may be, in CPU time too."""
GROWTH = 8
"""Four times the input may take so many times the CPU time, where linear is 4 and quadratic 16."""
TRIES = (1, 1, 2, 4, 4)
"""How many times the size each try is: where another way begins, as behind the depth that a decoder reads, time has a
step and no growth."""


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Fail if the block takes much more CPU time; the garbage of other tests is not collected meanwhile."""
    with gc_paused():
        start = time.process_time()
        yield
        assert time.process_time() - start < SLOW * seconds


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time of a function, without collections, which grow with all that this process holds."""
    with gc_paused():
        start = time.process_time()
        work()
        return time.process_time() - start


def assert_linear(prepare: Callable[[int], Callable[[], object]], size: int, *, enough: float, what: str = "") -> None:
    """Fail if the time of what `prepare(size)` returns grows much faster than the size, from half of it to its double.

    One try of some decides; less than `enough` seconds for the double are little, however they grow.
    """
    small = large = 0.0
    for times in TRIES:
        large = cpu_seconds(prepare(2 * times * size))
        if large < enough:
            return
        small = cpu_seconds(prepare(times * size // 2))
        if large < GROWTH * small:
            return
    raise AssertionError(f"{what}: {small:.3f} s, then {large:.3f} s for four times as much")


@contextmanager
def child_process(command: Sequence[Any], **options: Any) -> Generator[subprocess.Popen[Any]]:
    """Start a process, and kill it if it still runs when the block ends: a failed test must not wait for it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def run_apart(work: Callable[[], T]) -> T:
    """Run a function in a thread of its own: the browser's driver keeps an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own."""
    return run_apart(lambda: asyncio.run(work))


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for a condition."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)
