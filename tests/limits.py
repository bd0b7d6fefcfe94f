"""Limits on the CPU time of a block and the lifetime of a child process."""

import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from reread.base.gc_pause import gc_paused


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
