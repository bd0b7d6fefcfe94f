"""The state of the files that tables were made of: it tells whether they are up to date, without reading a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from reread.accounting.prices import current_prices
from reread.base import jsontext
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.file_set import FileSet
from reread.storage.user_paths import MIRRORS, typed_path


def path_text(path: str) -> str:
    """Return a path, or the address in a bucket, that can be written as UTF-8, whatever bytes are in the name."""
    if f"{os.sep}{MIRRORS}{os.sep}" in path:
        path = typed_path(Path(path))
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def transcript_states(states: Mapping[str, FileState]) -> dict[str, str]:
    """Return, for each file, a hash of what its rows depend on: its state, its notes and the files of its own folder.

    Agents' files beside it, as older clients wrote them, are left out: the session's file grows when an agent ends.
    """
    own: dict[str, list[object]] = {path: [tuple(states[path])] for path in sorted(states)}
    for path, parts in own.items():
        folder, mark, _ = path.rpartition(f"{os.sep}{layout.SUBAGENTS}{os.sep}")
        if mark and f"{folder}.jsonl" in own:
            own[f"{folder}.jsonl"].append((path, *states[path]))
        if os.path.basename(path).startswith(layout.AGENT_PREFIX):
            with suppress(OSError):
                parts.append(tuple(FileState.at(Path(path).with_suffix(".meta.json"))))
    return {path: hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest() for path, parts in own.items()}


def usage_state(files: FileSet, *, keep_deleted: bool = False) -> str:
    """Return a hash of all that the rows of `usage` depend on."""
    content = (sorted(files.states.items()), keep_deleted, msgspec.json.encode(current_prices().table))
    return hashlib.blake2b(jsontext.dumps(content), digest_size=16).hexdigest()
