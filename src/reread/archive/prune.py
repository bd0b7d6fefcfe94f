"""Delete kept files, when a person asks for it: earlier generations, or all that is kept of a session."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reread.archive.kept_copy import TEMPORARY
from reread.archive.restore import KeptVersion
from reread.archive.sync_state import FOLDER
from reread.disk.kept import MAP_SUFFIX, kept_name, parse_kept_name


def superseded(versions: Iterable[KeptVersion]) -> list[KeptVersion]:
    """Return the generations that are not the newest of their file."""
    by_name: defaultdict[str, list[KeptVersion]] = defaultdict(list)
    for version in versions:
        by_name[version.name].append(version)
    return [one for found in by_name.values() for one in sorted(found, key=lambda one: one.generation)[:-1]]


def delete(archive: Path, versions: Iterable[KeptVersion]) -> None:
    """Delete kept files with their maps and the folders that are empty then, and number the others from 1 on."""
    for version in versions:
        for path in (version.path + MAP_SUFFIX, version.path):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
    tidy(archive)
    for folder, _, _ in os.walk(archive, topdown=False):
        if Path(folder) not in (archive, archive / FOLDER):
            with suppress(OSError):  # it is not empty
                os.rmdir(folder)  # noqa: PTH106


def tidy(archive: Path) -> None:
    """Finish what a run that was killed has begun: delete what it was writing, and close gaps between generations."""
    for folder, _, names in os.walk(archive):
        generations: defaultdict[str, list[int]] = defaultdict(list)
        for name in names:
            if name.startswith(TEMPORARY):
                with suppress(OSError):
                    os.unlink(os.path.join(folder, name))  # noqa: PTH108
            parsed = parse_kept_name(name) if name[0] != "." else None
            if parsed is not None:
                generations[parsed[0]].append(parsed[1])
        for name, numbers in generations.items():
            if len(numbers) != max(numbers):
                _renumber(folder, name, sorted(numbers))


def _renumber(folder: str, name: str, numbers: list[int]) -> None:
    for wanted, number in enumerate(numbers, 1):
        if wanted != number:
            old, new = (os.path.join(folder, kept_name(name, which)) for which in (number, wanted))
            with suppress(FileNotFoundError):
                os.replace(old + MAP_SUFFIX, new + MAP_SUFFIX)  # noqa: PTH105
            os.replace(old, new)  # noqa: PTH105
