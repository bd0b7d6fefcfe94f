"""Paths as transcripts have them: of any system, whatever system this is."""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from pathlib import Path

from reread.base.late_pattern import late_pattern

SAMPLES = Path(__file__).parent.parent / "samples"
"""The sessions that --demo shows."""
_DRIVE = late_pattern(r"[A-Za-z]:(?=[\\/]|$)")
_SEPARATORS = late_pattern(r"[\\/]+")
_POSIX_PIECE = late_pattern(r"[^/]*+/++|[^/]+")
_PIECE = late_pattern(r"[^\\/]*+[\\/]++|[^\\/]+")


def is_windows_path(path: str) -> bool:
    """True for a path with a drive letter, or of a share."""
    return _DRIVE.match(path) is not None or path.startswith("\\\\")


def is_foreign(path: str) -> bool:
    """True for an absolute path of another kind of system than this one."""
    return path.startswith("/") if os.name == "nt" else is_windows_path(path)


def is_local(path: str) -> bool:
    """True for an absolute path of this system that names no other machine.

    Asking Windows for a file on a share tells the other machine who asks, so no path of a transcript may lead there.
    """
    return Path(path).is_absolute() and not is_foreign(path) and not path.startswith(("\\\\", "//"))


def path_parts(path: str) -> list[str]:
    """Return the folders and the name in a path; in one of POSIX, a backslash is part of a name."""
    return [part for part in (path.split("/") if path.startswith("/") else _SEPARATORS.split(path)) if part]


def path_pieces(path: str) -> list[str]:
    """Split a path into its folders and its name, each with the separator after it."""
    return (_POSIX_PIECE if path.startswith("/") else _PIECE).findall(path)


def path_name(path: str) -> str:
    """Return the last part of a path; the path itself if it has no parts."""
    parts = path_parts(path)
    return parts[-1] if parts else path


def program_name(path: str) -> str:
    """Return the name of a program in lower case, without its folder and without `.exe` or `.cmd`."""
    return re.sub(r"\.(?:exe|cmd|bat)$", "", path_name(path).lower())


def normalize_folder(path: str) -> str:
    """Return a folder's path so that equal ones are written alike: a capital drive letter, no separator at the end."""
    if _DRIVE.match(path):
        path = path[0].upper() + path[1:]
    return path.rstrip("\\/") if is_windows_path(path) and len(path) > 3 else path.rstrip("/") or path


def comparable_path(path: str) -> str:
    """Return a path to be compared with others: on Windows, case and the kind of separator do not count."""
    path = normalize_folder(path)
    return path.replace("\\", "/").lower() if is_windows_path(path) else path


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
