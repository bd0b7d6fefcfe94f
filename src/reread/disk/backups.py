"""The copies of files that Claude Code makes before it changes them: `file-history/<session>/<hash>@v<number>`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reread.errors import RereadError
from reread.storage.kept_file import open_regular
from reread.storage.kept_names import generations_by_name

FOLDER = "file-history"
LARGEST = 64 << 20
"""A copy with more bytes is not read."""
_NAME = re.compile(r"[0-9A-Za-z_-]{1,128}@v[0-9]{1,9}", re.ASCII)
_SESSION = re.compile(r"[\w-]{1,128}", re.ASCII)


class BackupFiles:
    """The copies that belong to a session; only those with a plain name, and no links."""

    def __init__(self, owners: Iterable[tuple[Path, Iterable[str]]]) -> None:
        """Find the copies that belong to session files, each given with the ids that it has."""
        self._paths: dict[str, str] = {}
        for session, ids in owners:
            top = session.parent.parent.parent / FOLDER
            for id in dict.fromkeys([session.name.split(".")[0], *ids]):
                if _SESSION.fullmatch(id) is not None:
                    self._find(os.path.join(top, id))

    def _find(self, folder: str) -> None:
        with suppress(OSError):  # there are none, or they are not for us to read
            names = [entry.name for entry in os.scandir(folder) if not entry.is_symlink()]
            for name in (*names, *sorted(generations_by_name(names))):
                if _NAME.fullmatch(name) is not None:
                    self._paths.setdefault(name, os.path.join(folder, name))

    def read(self, name: str) -> bytes | None:
        """Return the content of a copy; None if it does not exist."""
        path = self._paths.get(name)
        if path is None:
            return None
        try:
            with open_regular(path) as file:
                data = file.read(LARGEST + 1)
        except (OSError, RereadError):  # deleted in the meantime, or damaged
            return None
        return data if len(data) <= LARGEST else None
