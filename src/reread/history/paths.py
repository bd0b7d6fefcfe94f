"""The path of a file in a session: absolute, so that the same file has one name."""

from __future__ import annotations

import ntpath
import posixpath

from reread.base.paths import is_windows_path, normalize_folder


def absolute_path(path: str, folder: str | None) -> str:
    """Return a path as one from the root, relative ones below a folder; links are not followed and case is kept."""
    if is_windows_path(path):
        return normalize_folder(ntpath.normpath(path))
    if path.startswith("/") or not folder:
        return posixpath.normpath(path)
    if is_windows_path(folder):
        return normalize_folder(ntpath.normpath(ntpath.join(folder, path)))
    return posixpath.normpath(posixpath.join(folder, path))


def is_below(path: str, folder: str) -> bool:
    """True if a path is a folder's, or is inside it."""
    return path == folder or path.startswith((f"{folder}/", f"{folder}\\"))


def path_ends_with(path: str, ending: str) -> bool:
    """True if a path is another, or ends with it at a folder."""
    whole, part = path.replace("\\", "/"), ending.replace("\\", "/").removeprefix("./")
    return whole == part or (not part.startswith("/") and whole.endswith(f"/{part}"))
