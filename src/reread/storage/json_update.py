"""Change a small JSON file that other processes may change at the same time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from reread.errors import Unreadable, Unwritable
from reread.storage.atomic import write_atomic
from reread.storage.lock import lock
from reread.storage.safe_open import make_private_folder, open_descriptor, read_settings

LOCK_SECONDS = 10


@contextmanager
def locked(path: Path) -> Generator[bool]:
    """Lock a file by a file beside it during the block; False if another process has held the lock for too long."""
    fd = open_descriptor(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    try:
        yield lock(fd, wait=LOCK_SECONDS)
    finally:
        os.close(fd)


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if there is no file. Raise Unreadable if it contains anything else."""
    try:
        value = json.loads(read_settings(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Unreadable.at(path, error) from error
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Unreadable(f"Cannot read {path}: it is not a JSON object; repair it, or move it away.", path=str(path))
    return cast(dict[str, Any], value)


def change_object(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the JSON object in a file, with nobody else changing it; the file and its folder are private."""
    try:
        make_private_folder(path.parent)
        with locked(path) as held:
            if not held:
                raise Unwritable(f"Cannot write {path}: another process is writing it; try again.", path=str(path))
            value = read_object(path)
            before = json.dumps(value)
            change(value)
            if json.dumps(value) != before:
                write_atomic(path, [json.dumps(value, indent=2).encode() + b"\n"], sync=True)
    except OSError as error:
        raise Unwritable.at(path, error) from error
