"""Files that name programs for the client to start, as settings with hooks do: in the box they lie under another name.

A recorded session may have such a file, or write one. Under its own name the client would start the programs at once.
So the stand-in names the other path wherever the record names this one, and comparisons take it for the same.
"""

from __future__ import annotations

import posixpath
from collections.abc import Container
from itertools import pairwise
from typing import Any

from reread.base.coerce import as_dict, as_list, as_str

ASIDE = ".reread-aside"
"""How the other name of such a file ends."""
PATH = "file_path"
CLIENTS_OWN = ("settings.json", "settings.local.json", ".mcp.json", ".claude.json")
EXTENSIONS = ("skills", "agents", "commands", "plugins", "output-styles")
KEYS = ("hooks", "mcpServers")
"""What an extension of the client says before it names programs."""


def names_programs(path: str, text: str) -> bool:
    """Whether the client could start programs that a file with this text names."""
    parts = path.split("/")
    if ".git" in parts or parts[-1] in CLIENTS_OWN:
        return True
    is_extension = any(here == ".claude" and below in EXTENSIONS for here, below in pairwise(parts))
    return is_extension and any(key in text for key in KEYS)


def absolute(path: str, folder: str) -> str:
    """Return a path from the root, without steps back."""
    return posixpath.normpath(posixpath.join(folder, path))


def set_aside(message: dict[str, Any], paths: Container[str]) -> dict[str, Any]:
    """Return a message whose calls name files under their other names."""
    blocks = [_block(as_dict(block), paths) for block in as_list(message.get("content"))]
    return {**message, "content": blocks}


def _block(block: dict[str, Any], paths: Container[str]) -> dict[str, Any]:
    given = as_dict(block.get("input"))
    path = as_str(given.get(PATH))
    return {**block, "input": {**given, PATH: path + ASIDE}} if path is not None and path in paths else block


def with_own_paths(text: str) -> str:
    """Return a text with such files under their own names."""
    return text.replace(ASIDE, "")
