"""Load plug-ins from the entry points of installed packages."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
OWN = "reread."
"""How the modules of plug-ins begin that come with reread."""


def may_offer(folder: str, group: str) -> bool:
    """True if a package in a folder of `sys.path` may have plug-ins of a group."""
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208
    except NotADirectoryError:  # packages in an archive
        return True
    except OSError:
        return False
    return any(
        _names_group(os.path.join(folder, name, "entry_points.txt"), group)
        for name in names
        if name.endswith((".dist-info", ".egg-info"))
    )


def _names_group(path: str, group: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return group.encode() in file.read()
    except OSError:
        return False


def load_plugins(group: str, convert: Callable[[object], T]) -> list[T]:
    """Load and convert each plug-in of a group, reread's own last; one that fails is skipped with a warning."""
    if "importlib.metadata" not in sys.modules and not any(may_offer(folder, group) for folder in sys.path):
        return []
    from importlib.metadata import entry_points  # loaded late: it takes longer than reading a small session

    loaded: list[T] = []
    for point in sorted(entry_points(group=group), key=lambda point: point.value.startswith(OWN)):
        try:
            loaded.append(convert(point.load()))
        except Exception as error:
            warnings.warn(f"Cannot load the plug-in {point.name!r} of {group}: {error!r}", RuntimeWarning, stacklevel=2)
    return loaded
