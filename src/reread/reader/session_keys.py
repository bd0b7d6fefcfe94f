"""Short names for sessions in URLs and in the names of exported pages."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def session_key(path: Path, taken: Mapping[str, Path]) -> str:
    """The stem of a file if it is plain and no other session has it, else a stem with a hash of the path."""
    stem = path.stem
    if _PLAIN.fullmatch(stem) and taken.get(stem, path) == path:
        return stem
    digest = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=6).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:60].strip("-.") or "session"
    return f"{plain}~{digest}"
