"""A process that derives all that is kept of sessions: `python -m reread.index.build_process JOB`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.disk import layout
from reread.disk.file_set import FileSet, find_files
from reread.index.update import refresh
from reread.session.session_pass import PARTS, SessionPass

WAIT_SECONDS = 60.0


class BuildJob(msgspec.Struct, frozen=True):
    """The sessions to read."""

    roots: list[str] = []
    """Folders; none for those of this machine."""
    paths: list[str] = []


def derive_all(files: FileSet, *, wait: float = WAIT_SECONDS) -> None:
    """Index what changed and derive all parts of these sessions in the same pass, then what is missing of others."""
    refresh(files, wait=wait, parts=PARTS)
    states = sorted(files.states.items(), key=lambda item: item[1].modified, reverse=True)
    with SessionPass() as sessions:
        for path, _ in states:
            if not os.path.basename(path).startswith(layout.AGENT_PREFIX):
                sessions.fill(path)


def main() -> None:
    """Read the sessions of the job in the first argument, at low priority."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    job = msgspec.json.decode(sys.argv[1], type=BuildJob)
    derive_all(find_files(job.roots or None, map(Path, job.paths), prompts=True))


if __name__ == "__main__":
    main()
