"""The names of git's objects."""

from __future__ import annotations

import re

_SHA = re.compile(r"[0-9a-f]{7,64}")


def is_sha(text: str) -> bool:
    """True for the hexadecimal name of an object, or the beginning of one."""
    return _SHA.fullmatch(text) is not None
