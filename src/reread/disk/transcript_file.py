"""Transcripts as everything reads them: a file, or what is kept of it, with what only its earlier states have."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from reread.disk.states import other_states
from reread.storage.kept_file import open_regular, stat_file
from reread.storage.pooled_file import PooledFile
from reread.storage.prompt_history import is_prompts
from reread.storage.read_at_file import ReadAtFile

if TYPE_CHECKING:
    from reread.disk.joined import JoinedFile
    from reread.storage.prompt_history import PromptsFile


def stat_transcript(path: str | Path) -> os.stat_result:
    """Return the status of a transcript, with the size of all that its states have."""
    status = stat_file(path)
    others = other_states(path, status)
    if others is None:
        return status
    from reread.disk.joined import status_joined

    return status_joined(os.fspath(path), status, others)


def open_transcript(path: str | Path) -> io.FileIO | ReadAtFile:
    """Open a transcript to read it now, without a buffer."""
    return _open_prompts(path) or _open_joined(path) or open_regular(path)


def hold_transcript(path: str | Path) -> PooledFile | JoinedFile | PromptsFile:
    """Open a transcript to read it now and later; it holds no descriptor while many others are read."""
    return _open_prompts(path) or _open_joined(path) or PooledFile(path)


def _open_prompts(path: str | Path) -> PromptsFile | None:
    """Open the prompts of a deleted session; None if the path is that of a transcript."""
    if not is_prompts(path):
        return None
    from reread.storage.prompt_history import open_prompts  # nearly every path is that of a transcript

    return open_prompts(path)


def _open_joined(path: str | Path) -> JoinedFile | None:
    """Open a transcript with what only its earlier states have; None if it has all of that."""
    others = other_states(path)
    if others is None:
        return None
    from reread.disk.joined import open_joined  # nearly every transcript has one state

    return open_joined(os.fspath(path), others)
