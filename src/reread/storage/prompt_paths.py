"""Where the prompts of deleted sessions are: in the history of a configuration folder, as if it were a folder."""

from __future__ import annotations

import os

HISTORY = "history.jsonl"
PASTES = "paste-cache"
"""The folder beside a history with long texts that were pasted into prompts."""
SUFFIX = ".jsonl"


def is_prompts(path: str | os.PathLike[str]) -> bool:
    """True if a path is that of a session of which only the prompts are left."""
    above, name = os.path.split(str(path))
    return name.endswith(SUFFIX) and os.path.basename(above) == HISTORY


def prompts_path(history: str, name: str) -> str:
    """Return the path of a session in a history."""
    return os.path.join(history, f"{name}{SUFFIX}")
