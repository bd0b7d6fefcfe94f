"""Limits on the CPU time of a block and the lifetime of a child process."""

import asyncio
import subprocess
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from reread.base.gc_pause import gc_paused

T = TypeVar("T")
PATIENCE = 60.0
"""How many seconds a test waits for what takes a moment on a machine that is not busy."""


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Fail if the block takes more CPU time; the garbage of other tests is not collected meanwhile."""
    with gc_paused():
        start = time.process_time()
        yield
        assert time.process_time() - start < seconds


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
