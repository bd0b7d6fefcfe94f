"""The version of the code that folds records, which what is kept of a fold is checked against."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_format() -> str:
    """Return a value that changes with the code that folds records."""
    digest = hashlib.blake2b(digest_size=12)
    root = Path(__file__).parent.parent
    for folder in ("model", "records", "session"):
        for path in sorted((root / folder).rglob("*.py")):
            stat = path.stat()
            digest.update(f"{path.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
