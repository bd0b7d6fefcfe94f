"""The libraries of the extra `reread[tables]`."""

from __future__ import annotations

import importlib
from types import ModuleType

from reread.errors import Misuse


def require(module: str) -> ModuleType:
    """Import a module of the extra; raise Misuse if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise Misuse(f"Tables need {error.name}; install it with `pip install 'reread[tables]'`.") from None
