"""One pass over all that is new, in a process of its own, which `session/pass_process.py` starts.

It derives everything that is kept of sessions, the newest first: usage and documents for a search, places, facts and
versions of files, then the rows of tables. If it is killed, the next pass or verb goes on where it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from reread.base.worker import Say
from reread.disk import layout
from reread.disk.file_set import FileSet, find_files
from reread.index.update import refresh
from reread.session.pass_process import PassJob, only_pass
from reread.session.session_pass import PARTS, SessionPass

WAIT_SECONDS = 60.0


def derive_all(files: FileSet, *, wait: float = WAIT_SECONDS) -> None:
    """Index what changed and derive all parts of these sessions in the same pass, then what is missing of others."""
    refresh(files, wait=wait, parts=PARTS)
    states = sorted(files.states.items(), key=lambda item: item[1].modified, reverse=True)
    with SessionPass() as sessions:
        for path, _ in states:
            if not os.path.basename(path).startswith(layout.AGENT_PREFIX):
                sessions.fill(path)


def derive_rows(roots: list[str]) -> None:
    """Bring the tables up to date that `reread sql` queries, if what writes them is installed."""
    if find_spec("pyarrow") is not None:
        from reread.dataset.local_tables import own_tables

        with own_tables(roots or None):
            pass


def make_pass(jobs: Iterator[PassJob], say: Say = lambda _: None) -> None:
    """Read the sessions of each job; nobody hears of it."""
    for job in jobs:
        with only_pass(WAIT_SECONDS) if job == PassJob() else nullcontext(True) as is_only:
            if not is_only:
                continue
            derive_all(find_files(job.roots or None, map(Path, job.paths), prompts=True))
            if not job.paths:
                derive_rows(job.roots)
