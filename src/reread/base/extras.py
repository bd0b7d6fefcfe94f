"""How to install what an extra of the package brings, into the environment that reread runs in."""

from __future__ import annotations

import shlex
import sys
from pathlib import PurePath

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
