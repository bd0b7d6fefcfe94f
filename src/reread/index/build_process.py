"""A process that brings the index up to date: `python -m reread.index.build_process JOB`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.disk.file_set import find_files
from reread.index.update import refresh

WAIT_SECONDS = 60.0


class BuildJob(msgspec.Struct, frozen=True):
    """The sessions to index."""

    roots: list[str] = []
    """Folders; none for those of this machine."""
    paths: list[str] = []


def main() -> None:
    """Index the sessions of the job in the first argument, at low priority."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    job = msgspec.json.decode(sys.argv[1], type=BuildJob)
    refresh(find_files(job.roots or None, map(Path, job.paths), prompts=True), wait=WAIT_SECONDS)


if __name__ == "__main__":
    main()
