"""Map any id to a file name that is safe on every system, one to one."""

from __future__ import annotations

import re
from pathlib import Path

from reread.base import jsontext

MAX_LENGTH = 120
"""Longest name, without its suffix: folders and suffixes come on top, and some systems allow only 255 bytes."""
HASH_SEPARATOR = "%="
"""Separates the start of an id that is too long for a name from the hash of all of it."""
EMPTY = "%"
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)), "conin$", "conout$"}
)
"""Device names on Windows, whatever their suffix."""
NOT_SESSIONS = frozenset({"history", "journal", "memory", "subagents", "tool-results", "workflows"})
"""Names of files and folders beside sessions that are not sessions."""
AGENT_PREFIX = "agent-"
"""Prefix of the transcripts of agents."""

_UNSAFE = re.compile(r"[^a-z0-9_.\-]")
_ESCAPES = re.compile(r"(?:%[0-9a-f]{2})+")


def filename_for(id: str) -> str:
    """Return the file name of an id, without a suffix.

    Lower-case letters, digits, `_`, `-` and inner dots stay; every other character becomes `%` and two hex digits for
    each byte of its UTF-8, so that neither case folding nor Unicode normalization can map two ids to one file.
    """
    name = _UNSAFE.sub(lambda char: _escape(char[0]), id)
    if name.split(".", 1)[0] in RESERVED or name in NOT_SESSIONS or name.startswith((".", "-", AGENT_PREFIX)):
        name = _escape(name[0]) + name[1:]
    if name.endswith("."):
        name = name[:-1] + _escape(".")
    if len(name) > MAX_LENGTH:
        from hashlib import sha256  # loaded late: it loads OpenSSL

        digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        return _ESCAPES.sub("_", name[:60]).replace("%", "_") + HASH_SEPARATOR + digest
    return name or EMPTY


def id_from_filename(name: str) -> str | None:
    """Return the id of a file name without its suffix; None if the name contains only a hash of the id.

    A name that `filename_for` never returns, such as one with capitals, is itself the id.
    """
    if "%" not in name:
        return name
    if HASH_SEPARATOR in name:
        return None
    if name == EMPTY:
        return ""
    plain = _ESCAPES.sub(_unescape, name)
    return plain if filename_for(plain) == name else name


def unicode_stem(path: Path) -> str:
    """Return a file's name without its suffix, as text that can be encoded: names need not be Unicode."""
    return jsontext.replace_surrogates(path.stem)


def _escape(char: str) -> str:
    return "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def _unescape(found: re.Match[str]) -> str:
    data = bytes.fromhex(found[0].replace("%", ""))
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return found[0]
