"""Limits on what something may take, for tests of what must not grow without bounds."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from reread.base.gc_pause import gc_paused


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Fail where the block takes more CPU than this; collecting what other tests left behind is not its work."""
    with gc_paused():
        start = time.process_time()
        yield
        assert time.process_time() - start < seconds
