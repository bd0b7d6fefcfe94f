"""Keys: what sessions are called in addresses and in the names of pages."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def key_for(path: Path, taken: Mapping[str, Path]) -> str:
    """The name of a file, where it is plain and no other session has it; else with a mark of where it lies."""
    stem = path.stem
    if _PLAIN.fullmatch(stem) and taken.get(stem, path) == path:
        return stem
    mark = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=6).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:60].strip("-.") or "session"
    return f"{plain}~{mark}"
