"""What reread itself writes of sessions: the list of all places, and how to forget what was derived from one.

A file that no row of `PLACES` names is in no folder of reread's own: a test uses every verb and looks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import NamedTuple

from reread.accounting.digest import UsageCache
from reread.dataset.local_tables import FOLDER as TABLES
from reread.disk import joins
from reread.disk.moved_files import SESSION_UUID
from reread.errors import Unwritable
from reread.index.store import drop_indexes_with
from reread.session import saved_fold
from reread.storage.safe_open import own_reader
from reread.storage.user_paths import cache_folder

STORE, CACHE = "store", "cache"


class OwnPlace(NamedTuple):
    """A place in reread's own folders, and what a deletion does there."""

    folder: str
    name: str
    """A pattern for the paths of its files below the folder."""
    holds: str
    deleted: str
    """What `delete` does with what it holds of a session."""


PLACES = (
    OwnPlace(STORE, "archive/*", "kept copies; other archives are listed in `archives.json`", "deleted with `--kept`"),
    OwnPlace(STORE, "conversations/*", "captured conversations, with agents and summaries", "deleted with `--kept`"),
    OwnPlace(STORE, "projects/*", "adopted sessions", "deleted"),
    OwnPlace(STORE, "trash/*", "what was deleted", "deleted with `--now`"),
    OwnPlace(STORE, "annotations.json*", "stars and notes", "deleted with `--now`, once nothing else is left"),
    OwnPlace(
        STORE, "share/maps/*", "the texts that `share` replaced", "deleted with `--now`, once nothing else is left"
    ),
    OwnPlace(
        STORE, "placing.json", "what `resume` is putting", "gone when it is put; a killed run is undone by the next"
    ),
    OwnPlace(STORE, "share/*", "a key, and decisions by HMAC", "stays: no word can be had from it"),
    OwnPlace(
        STORE, "config.json*", "settings, budgets, workspaces of captured conversations", "stays: it names no session"
    ),
    OwnPlace(STORE, "sql_history", "what you typed at the prompt of `sql`", "stays: these are your own words"),
    OwnPlace(STORE, "machine", "the machine's name", "stays: it names no session"),
    OwnPlace(STORE, "archives.json*", "where other archives are", "stays: it names no session"),
    OwnPlace(STORE, "reread-keep.xml", "a timer of Windows", "stays: it names no session"),
    OwnPlace(STORE, "*.lock", "nothing", "stays"),
    OwnPlace(CACHE, "cache.sqlite*", "headers, usage, facts", "its rows are overwritten"),
    OwnPlace(CACHE, "folds/*", "opened sessions", "its own are deleted"),
    OwnPlace(CACHE, "joins/*", "how kept states and files fit together", "its own are deleted"),
    OwnPlace(CACHE, "search-*", "the words of all sessions", "deleted as a whole if it knows the session"),
    OwnPlace(CACHE, "tables/*", "tables of `sql`, and what was fetched of a bucket's", "deleted as a whole"),
    OwnPlace(CACHE, "mirrors/*", "which objects a bucket has", "goes with what the bucket has: `--kept --now`"),
    OwnPlace(CACHE, "clients/*", "versions of the client that `rerun` installed", "stays: it has no words"),
    OwnPlace(CACHE, "spending-*", "what today costs, and is left of budgets", "stays: it has no words"),
    OwnPlace(CACHE, "rate-limits-*", "the rate limits that a client gave last", "stays: it has no words"),
    OwnPlace(CACHE, "pass*", "when all sessions were last read", "stays: it has no words"),
)
"""Everything that reread writes of sessions without being told where; the first row that fits a file is its own."""
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
        if not values.forget(is_of):
            raise Unwritable(
                "Cannot delete from the cache: another process is writing there; try again when it is done."
            )
    for folder in (cache_folder() / saved_fold.NAME, cache_folder() / joins.NAME):
        for file in folder.iterdir() if folder.is_dir() else ():
            with suppress(OSError), own_reader(file) as opened:
                head = opened.read(HEAD)
                if (needle is not None and needle.encode() in head) or any(os.fsencode(path) in head for path in gone):
                    file.unlink()
    drop_indexes_with(is_of)
    shutil.rmtree(cache_folder() / TABLES, ignore_errors=True)
