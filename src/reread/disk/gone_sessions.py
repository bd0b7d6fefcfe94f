"""Sessions of which only the prompts are left: those that a history names, and of which no transcript is there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.disk import layout
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, DerivedValues, encoded, proof_at, values_table
from reread.storage.kept_file import opened
from reread.storage.prompt_history import (
    HISTORY,
    PromptHistory,
    history_state,
    known_history,
    prompts_path,
    prompts_state,
    read_history,
    remember_history,
)
from reread.storage.user_paths import expand_path

TABLE, FORMAT = "histories", 1
"""Where the catalogue keeps histories; change the format when they would be read differently now."""

_decode = msgspec.msgpack.Decoder(PromptHistory).decode


def histories(roots: Sequence[str | Path] | None = None) -> list[str]:
    """Return where the histories of some folders are, or those of this machine's configuration folders.

    That of a folder `projects` is beside it.
    """
    folders = [expand_path(root).absolute() for root in roots] if roots else layout.config_folders()
    above = (folder.parent if roots and folder.name == layout.PROJECTS else folder for folder in folders)
    return list(dict.fromkeys(os.path.join(folder.absolute(), HISTORY) for folder in above))


def prompt_states(roots: Sequence[str | Path] | None, present: Collection[str]) -> Iterator[tuple[str, FileState]]:
    """Yield the paths of sessions of which only the prompts are left, with their states.

    `present` are the ids of all other sessions.
    """
    for history in histories(roots):
        read = _current(history)
        if read is None:
            continue
        for name, lines in read.sessions.items():
            if name not in present:
                path = prompts_path(history, name)
                yield path, FileState(*prompts_state(path, read.state, lines))


def prompt_paths(roots: Sequence[str | Path] | None, present: Collection[str]) -> Iterator[str]:
    """Yield the same paths without their states."""
    return (path for path, _ in prompt_states(roots, present))


def _current(history: str) -> PromptHistory | None:
    """Return a history; what was read of it before is not read again, by whatever process that was."""
    state = history_state(history)
    if state is None:
        return None
    known = known_history(history)
    if known is None:
        with closing(DerivedValues(values_table(TABLE, format=FORMAT))) as values:
            stored = values.derived([history]).get(history)
            before = _stored(stored, FileState(*state)) if stored is not None else None
            known = before if before is not None and before.state == state else _read_on(history, before, values)
        if known is not None:
            remember_history(history, known)
    return known


def _stored(stored: DerivedValue, state: FileState) -> PromptHistory | None:
    """Return what is known of a history that was only appended to since."""
    with suppress(OSError, *jsontext.DECODE_ERRORS), opened(stored.path) as (read, _):
        if stored.is_continued(state, read):
            return _decode(stored.value)
    return None


def _read_on(history: str, before: PromptHistory | None, values: DerivedValues) -> PromptHistory | None:
    found = read_history(history, before)
    value = encoded(found) if found is not None else None
    if found is None or value is None:
        return found
    state = FileState(*found.state)
    with suppress(OSError), opened(history) as (read, _):
        proof = proof_at(read, state.size)
        if proof.endswith(b"\n"):  # a last line without an end may become another
            values.save([DerivedValue(history, state, state.size, proof, value)])
    return found
