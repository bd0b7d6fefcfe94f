"""The libraries of the extras `reread[tables]` and `reread[iceberg]`."""

from __future__ import annotations

import importlib
from types import ModuleType

from reread.base.extras import install_command
from reread.errors import Misuse

SUBJECTS = {"tables": "Tables need", "iceberg": "Iceberg needs"}


def require(module: str, extra: str = "tables") -> ModuleType:
    """Import a module of an extra; raise Misuse if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if str(error.name).partition(".")[0] != library:
            raise
        message = f"{SUBJECTS[extra]} {library}; install it with `{install_command(extra)}`."
        raise Misuse(message) from None
