"""Start the process that derives everything kept of sessions; what it does is on a higher floor, so it is named."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from reread.storage.lock import lock
from reread.storage.safe_open import make_own_folder, open_own
from reread.storage.user_paths import cache_folder

if TYPE_CHECKING:
    from reread.base.worker import Worker

WORK = "reread.dataset.whole_pass:make_pass"
BEGUN = "pass"
"""The file in the cache folder whose time says when a pass was begun last."""
LOCK = "pass.lock"
"""The file that the pass over this machine's sessions has a lock on."""
PAUSE_SECONDS = 3600.0
"""How long a pass that was begun is enough: what is new since then is little."""
VARIABLE = "REREAD_BACKGROUND"
"""The variable that prevents passes nobody asked for: `off`."""


class PassJob(msgspec.Struct, frozen=True):
    """The sessions to read."""

    roots: list[str] = []
    """Folders; none for those of this machine."""
    paths: list[str] = []


def start_pass(job: PassJob) -> Worker:
    """Start a pass in a process that outlives this one, and that no key pressed in its terminal reaches."""
    from reread.base.worker import Worker  # loaded late: each verb in a terminal asks whether a pass is due

    worker = Worker(WORK, nice=True, speaks=False)
    worker.send(job)
    worker.finish()
    return worker


def pass_is_due() -> bool:
    """True if no pass over this machine's sessions was begun for a while, and nobody forbids one."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false"):
        return False
    try:
        age = time.time() - os.stat(cache_folder() / BEGUN).st_mtime  # noqa: PTH116
    except OSError:
        return True
    return not 0 <= age < PAUSE_SECONDS


def begin_pass() -> bool:
    """Start a pass over this machine's sessions, and return True if it is the first; raise OSError if it cannot be."""
    begun = cache_folder() / BEGUN
    is_first = not os.path.lexists(begun)
    with _opened(BEGUN) as descriptor:
        os.utime(descriptor if os.utime in os.supports_fd else begun)
    start_pass(PassJob())
    return is_first


@contextmanager
def only_pass(wait: float) -> Generator[bool]:
    """Be the only pass over this machine's sessions; False if another does not end within the wait: it may take hours.

    Whoever starts passes as long as something is missing starts none while one waits.
    """
    with _opened(LOCK) as descriptor:
        yield lock(descriptor, wait=wait)


@contextmanager
def _opened(name: str) -> Generator[int]:
    make_own_folder(cache_folder())
    descriptor = open_own(cache_folder() / name, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
