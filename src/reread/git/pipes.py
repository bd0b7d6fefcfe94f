"""What git would wait for: pipes and devices among its own files. Git opens whatever stands there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from reread.errors import Unreadable

OWN = ".git"
LARGEST = 1 << 20
"""Bytes of a file that names others that are read."""
MOST_FILES = 500_000
"""So many files are looked at; a repository with more is given up when git takes too long."""
_INCLUDED = re.compile(rb'^[ \t]*path[ \t]*=[ \t]*"?([^" \t\r\n][^"\r\n]*)', re.MULTILINE | re.IGNORECASE)


def refuse_pipes(folder: Path) -> None:
    """Raise Unreadable if one of git's own files, of the repository that a folder lies in, is a pipe or a device.

    Looked at are git's folder, the one that a work tree shares with others, those that objects are borrowed from, and
    files that its configuration includes. A socket is passed over: git makes one, and to open it fails at once.
    """
    own = next((place / OWN for place in (folder, *folder.parents) if os.path.lexists(place / OWN)), folder)
    if own == folder and not (folder / "objects").is_dir():
        return  # no repository
    waiting, seen = [str(own)], set[str]()
    while waiting and len(seen) < MOST_FILES:
        path = os.path.realpath(waiting.pop())
        if path in seen:
            continue
        seen.add(path)
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
            if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise Unreadable(f"git cannot read {path}: it is a pipe or a device, and git would wait.", path=path)
            if stat.S_ISDIR(mode):
                with os.scandir(path) as entries:
                    waiting += [
                        one.path for one in entries if not one.is_file(follow_symlinks=False) or _names(one.name)
                    ]
            elif stat.S_ISREG(mode) and _names(os.path.basename(path)):
                waiting += _named(path)
        except OSError:  # gone, or not to be read: git says so
            continue


def _names(name: str) -> bool:
    """True if git follows what a file with this name says."""
    return name in (OWN, "commondir", "alternates") or "config" in name


def _named(path: str) -> Iterator[str]:
    """Yield the paths that one of git's files names."""
    folder, name = os.path.split(path)
    with Path(path).open("rb") as opened:
        data = opened.read(LARGEST)
    if name == "alternates":
        found, folder = data.splitlines(), os.path.split(folder)[0]
    elif name in (OWN, "commondir"):
        found = [data.removeprefix(b"gitdir:").strip()]
    else:
        found = [path.rstrip() for path in _INCLUDED.findall(data)]
    for one in found:
        yield os.path.join(folder, os.path.expanduser(os.fsdecode(one.split(b"\0")[0])))
