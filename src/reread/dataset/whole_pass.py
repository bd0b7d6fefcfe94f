"""One pass over all that is new, in a process of its own: `python -m reread.dataset.whole_pass JOB`.

It derives everything that is kept of sessions, the newest first: usage and documents for a search, places, facts and
versions of files, then the rows of tables. If it is killed, the next pass or verb goes on where it was.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path

import msgspec

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


def main() -> None:
    """Read the sessions of the job in the first argument, at low priority."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    job = msgspec.json.decode(sys.argv[1], type=PassJob)
    with only_pass(WAIT_SECONDS) if job == PassJob() else nullcontext(True) as is_only:
        if not is_only:
            return
        derive_all(find_files(job.roots or None, map(Path, job.paths), prompts=True))
        if not job.paths:
            derive_rows(job.roots)


if __name__ == "__main__":
    main()
