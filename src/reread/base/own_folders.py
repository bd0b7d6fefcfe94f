"""Where reread's own folders are, for whoever starts with almost no imports."""

from __future__ import annotations

import os
import sys

CACHE_VARIABLE = "REREAD_CACHE"


def cache_path() -> str:
    """Return the path of the folder for caches on this machine."""
    given = os.environ.get(CACHE_VARIABLE)
    return os.path.expanduser(given) if given else _own_path("cache", "XDG_CACHE_HOME", "~/.cache")


def data_path() -> str:
    """Return the path of the folder for what this machine keeps."""
    return _own_path("data", "XDG_DATA_HOME", "~/.local/share")


def _own_path(kind: str, variable: str, default: str) -> str:
    if sys.platform == "linux":  # the same as platformdirs, without the 30 ms that loading it takes
        given = os.environ.get(variable, "")
        is_whole = os.path.isabs(given)  # noqa: PTH117 - pathlib takes longer to load than all of this
        return os.path.join(given if is_whole else os.path.expanduser(default), "reread")
    import platformdirs

    return getattr(platformdirs, f"user_{kind}_dir")("reread", appauthor=False)
