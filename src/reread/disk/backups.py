"""The copies of files that Claude Code makes before it changes them: `file-history/<session>/<hash>@v<number>`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from reread.disk.kept import is_file
from reread.disk.regular import open_regular

FOLDER = "file-history"
LARGEST = 64 << 20
"""A copy with more bytes is not read."""
_NAME = re.compile(r"[0-9A-Za-z_-]{1,128}@v[0-9]{1,9}", re.ASCII)
_SESSION = re.compile(r"[\w-]{1,128}", re.ASCII)


def read_backup(session: Path, ids: Iterable[str], name: str) -> bytes | None:
    """Return the content of a copy that belongs to a session; None if it does not exist.

    A transcript names its copies. Only a plain name is taken, and a link is not followed.
    """
    if _NAME.fullmatch(name) is None:
        return None
    for id in dict.fromkeys([session.stem, *ids]):
        path = session.parent.parent.parent / FOLDER / id / name
        if _SESSION.fullmatch(id) is None or path.is_symlink() or not is_file(path):
            continue
        try:
            with open_regular(path) as file:
                data = file.read(LARGEST + 1)
        except OSError:  # deleted in the meantime, or not for us to read
            continue
        if len(data) <= LARGEST:
            return data
    return None
