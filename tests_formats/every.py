"""The sessions that every reader of a format reads.

The samples and `tests/real` are always read; if `REREAD_REAL_CLIENT` is set, so is its `data/` folder.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import reread
from reread.base.paths import SAMPLES

HOME = Path(__file__).parent.parent
LARGER = os.environ.get("REREAD_REAL_CLIENT")


def every_session() -> Iterator[reread.Session]:
    """Yield the sessions: transcripts, what the client printed, and rollouts of the Codex CLI."""
    roots = [HOME / "tests" / "real", *([Path(LARGER) / "data"] if LARGER else [])]
    paths = [Path(header.path) for header in reread.sessions(root=SAMPLES)]
    for pattern in ("*/*/projects/*/*.jsonl", "*/*/stream*.jsonl"):
        paths += [path for root in roots for path in sorted(root.glob(pattern))]
    paths += sorted((HOME / "tests" / "real-codex").rglob("*.jsonl"))
    for path in paths:
        if not path.name.startswith("agent-"):
            yield reread.open(path)
