"""Whose a file is: the machine that wrote it, its person and team.

A file of this machine is its own. One that a bucket keeps is of the machine that kept it; the configuration says whose
that is, because a bucket knows only machines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from reread.base.text import split_names
from reread.storage.user_paths import MACHINES, MIRRORS, typed_path

FileTest = Callable[[str | None], bool]


def file_owners() -> Callable[[str, str | None], str | None]:
    """Return a function that tells the `person`, `machine` or `team` of a file; None if it is not known."""
    from reread.catalog.team_settings import team_settings  # most reports ask for no owner
    from reread.disk.machine import machine_id

    own, settings = machine_id(), team_settings()

    @lru_cache(1 << 14)
    def machine_of(path: str | None) -> str:
        if path is None or f"{os.sep}{MIRRORS}{os.sep}" not in path:
            return own
        return typed_path(Path(path)).partition(f"/{MACHINES}/")[2].partition("/")[0] or own

    def owner(name: str, path: str | None) -> str | None:
        machine = machine_of(path)
        if name == "machine":
            return machine
        named = (person for pattern, person in settings.people.items() if fnmatchcase(machine, pattern))
        person = settings.person if machine == own else next(named, None)
        return person if name == "person" else settings.name if person is not None else None

    return owner


def owner_test(person: str | Sequence[str] | None, machine: str | Sequence[str] | None) -> FileTest | None:
    """Return a test for files of these people and machines, each a name or a pattern (`ann-*`); None if all count."""
    wanted = {"person": split_names(person), "machine": split_names(machine)}
    if not any(wanted.values()):
        return None
    owner = file_owners()

    @lru_cache(1 << 14)
    def test(path: str | None) -> bool:
        return all(
            any(fnmatchcase(owner(name, path) or "", pattern) for pattern in patterns)
            for name, patterns in wanted.items()
            if patterns
        )

    return test
