"""The libraries of the extras of the package: import one, or say how to install it where reread runs."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import PurePath
from types import ModuleType

from reread.errors import Misuse

PIPX, UV_TOOL = {"pipx", "venvs"}, {"uv", "tools"}
"""Folders above an environment that pipx or `uv tool` made: pip cannot install into it."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra of reread here."""
    folders = set(PurePath(sys.prefix).parts)
    if folders >= PIPX:
        return f"pipx inject reread {shlex.join(_requirements(extra))}"
    if folders >= UV_TOOL:
        return f"uv tool install --force 'reread[{extra}]'"
    return f"pip install 'reread[{extra}]'"


def _requirements(extra: str) -> list[str]:
    from importlib.metadata import requires

    split = [line.partition(";") for line in requires("reread") or ()]
    return [
        library.strip() for library, _, marker in split if marker.strip().replace('"', "'") == f"extra == '{extra}'"
    ]


def require(module: str, extra: str = "tables", subject: str = "Tables need") -> ModuleType:
    """Import a module of an extra; raise Misuse, which says what needs it, if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if str(error.name).partition(".")[0] != library:
            raise
        message = f"{subject} {library}; install it with `{install_command(extra)}`."
        raise Misuse(message) from None
