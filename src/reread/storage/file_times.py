"""Whether a time that a file system has noted tells one state of a file or folder from the next."""

from __future__ import annotations

import time

COARSE_WINDOW, FINE_WINDOW = 2_000_000_000, 50_000_000
"""A file that changed so many nanoseconds ago may change again without a new time: on file systems that count whole
seconds, and on others."""


def is_settled(changed: int) -> bool:
    """False if what changed at a time, in nanoseconds since 1970, may change once more and keep that time."""
    window = COARSE_WINDOW if changed % 1_000_000_000 == 0 else FINE_WINDOW
    return time.time_ns() - changed > window
