"""The list of folders that sessions were kept in, and that are read with Claude Code's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reread.base import jsontext
from reread.disk import layout
from reread.errors import Unwritable
from reread.storage.atomic import write_atomic
from reread.storage.json_update import locked
from reread.storage.safe_open import make_private_folder


def list_archive(folder: Path) -> None:
    """Add a folder to the list."""
    _change(lambda listed: [*listed, folder] if folder not in listed else listed)


def unlist_archive(folder: Path) -> bool:
    """Take a folder out of the list; False if it was not in it."""
    return _change(lambda listed: [one for one in listed if one != folder])


def _change(change: Callable[[list[Path]], list[Path]]) -> bool:
    """Change the list, with nobody else changing it; False if it stays as it is."""
    path = layout.default_store() / layout.ARCHIVES
    try:
        make_private_folder(path.parent)
        with locked(path) as held:
            if not held:
                raise Unwritable(f"Cannot write {path}: another process is writing it; try again.", path=str(path))
            before = layout.listed_archives()
            after = change(before)
            if after != before:
                write_atomic(path, [jsontext.dumps([str(folder) for folder in after])], sync=True)
            return after != before
    except (OSError, UnicodeError) as error:
        raise Unwritable(f"Cannot write {path}: {error}", path=str(path)) from error
