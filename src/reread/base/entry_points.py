"""Load plug-ins from the entry points of installed packages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
OWN = "reread."
"""How the modules of plug-ins begin that come with reread."""


def load_plugins(group: str, convert: Callable[[object], T]) -> list[T]:
    """Load and convert each plug-in of a group, reread's own last; one that fails is skipped with a warning."""
    from importlib.metadata import entry_points  # loaded late: it takes longer than reading a small session

    loaded: list[T] = []
    for point in sorted(entry_points(group=group), key=lambda point: point.value.startswith(OWN)):
        try:
            loaded.append(convert(point.load()))
        except Exception as error:
            warnings.warn(f"Cannot load the plug-in {point.name!r} of {group}: {error!r}", RuntimeWarning, stacklevel=2)
    return loaded
