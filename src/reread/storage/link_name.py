"""Give a finished file its name, unless another one has it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def name_unless_taken(temporary: Path, target: Path) -> None:
    """Give a file its name; raise FileExistsError if another one has it."""
    try:
        os.link(temporary, target)  # the only way that cannot overwrite
    except OSError as error:
        if error.errno == errno.EEXIST or os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        temporary.rename(target)  # a file system without hard links
