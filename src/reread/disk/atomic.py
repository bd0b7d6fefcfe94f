"""Writing: a file stands there whole or not at all, whoever else writes it and however the writer ends."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, pieces: Iterable[bytes], *, sync: bool = False) -> None:
    """Write a file beside its place and put it there; what is no file, such as a device, is written to as it is."""
    place = Path(os.path.realpath(path))  # a link stays a link
    if os.path.exists(place) and not os.path.isfile(place):
        with place.open("wb") as file:
            file.writelines(pieces)
        return
    fresh = place.with_name(f".reread-{secrets.token_hex(6)}")
    try:
        with fresh.open("xb") as file:
            file.writelines(pieces)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if os.path.exists(place):
            if not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            shutil.copymode(place, fresh)
        fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
