"""Short names for sessions in URLs and in the names of exported pages."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,119}")


def is_session_key(text: str) -> bool:
    """True if a text can be the key of a session, and so the name of a file."""
    return _KEY.fullmatch(text) is not None


def session_key(path: Path, taken: Mapping[str, Path]) -> str:
    """The stem of a file if it is plain and no other session has it, else a stem with a hash of the path."""
    stem = path.stem
    if _PLAIN.fullmatch(stem) and taken.get(stem, path) == path:
        return stem
    digest = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=6).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:60].strip("-.") or "session"
    return f"{plain}~{digest}"
