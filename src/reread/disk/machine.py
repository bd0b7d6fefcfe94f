"""The name of this machine in tables and buckets: made once, and unlike that of any other machine."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

from reread.disk.layout import default_store
from reread.errors import Misuse, Unwritable
from reread.storage.atomic import write_atomic, write_new
from reread.storage.safe_open import make_private_folder, read_settings
from reread.storage.user_paths import is_machine_id

VARIABLE = "REREAD_MACHINE"
FILE = "machine"

_OTHER = re.compile(r"[^a-z0-9]+")


def machine_id() -> str:
    """Return the name of this machine: `REREAD_MACHINE`, or its host name with eight random digits, made once."""
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        if not is_machine_id(given):
            raise Misuse(f"Invalid {VARIABLE} {given!r}; use up to 100 small letters, digits, dots, dashes and _.")
        return given
    file = default_store() / FILE
    try:
        return _read(file) or _make(file)
    except OSError as error:
        raise Unwritable.at(file, error) from error


def _read(file: Path) -> str | None:
    try:
        name = read_settings(file).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    return name if is_machine_id(name) else None


def _make(file: Path) -> str:
    """Make a name and write it down; if several processes do at once, the first one's counts."""
    host = _OTHER.sub("-", socket.gethostname().lower()).strip("-")[:40] or FILE
    name = f"{host}-{os.urandom(4).hex()}"
    make_private_folder(file.parent)
    content = [f"{name}\n".encode()]
    write_new(file, content, sync=True)
    known = _read(file)
    if known is None:
        write_atomic(file, content, sync=True)
    return known or name
