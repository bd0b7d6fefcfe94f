"""What reread derived from the files of a session, and keeps to be faster: forget it, so that no word of it is left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import closing, suppress

from reread.accounting.usage_cache import DELETE_RESULTS, UsageCache
from reread.dataset.local_tables import FOLDER as TABLES
from reread.disk import joined
from reread.disk.cache import Statement
from reread.disk.moved_files import SESSION_UUID
from reread.errors import Unwritable
from reread.index.store import drop_indexes_with
from reread.session import saved_fold
from reread.storage.safe_open import own_reader
from reread.storage.user_paths import cache_folder

HEAD = 1 << 14
"""Bytes at the beginning of a saved fold or plan that have the path of its file."""


def forget_session(session: str, paths: Iterable[str]) -> None:
    """Forget what was derived from the files of a session, under whatever paths they were read.

    The search index has the words of what was deleted until its segments are merged, so it is deleted as a whole if it
    knows one of the files; the next search builds it anew. SQLite overwrites what it deletes.
    """
    gone = set(paths)
    needle = session if SESSION_UUID.fullmatch(session) else None

    def is_of(path: str) -> bool:
        return path in gone or (needle is not None and needle in path)

    with closing(UsageCache()) as values:
        if not values.forget(is_of, Statement(DELETE_RESULTS)):
            raise Unwritable(
                "Cannot delete from the cache: another process is writing there; try again when it is done."
            )
    for folder in (cache_folder() / saved_fold.NAME, cache_folder() / joined.NAME):
        for file in folder.iterdir() if folder.is_dir() else ():
            with suppress(OSError), own_reader(file) as opened:
                head = opened.read(HEAD)
                if (needle is not None and needle.encode() in head) or any(os.fsencode(path) in head for path in gone):
                    file.unlink()
    drop_indexes_with(is_of)
    shutil.rmtree(cache_folder() / TABLES, ignore_errors=True)
