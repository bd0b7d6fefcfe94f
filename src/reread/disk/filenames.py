"""File names: any id as a name that is safe on every system, one to one."""

from __future__ import annotations

import hashlib
import re

LONGEST = 120
"""How long a name may be, its ending aside: folders and endings come on top, and some systems allow 255 bytes."""
HASHED = "%="
"""What stands between the beginning of an id too long for a name and the hash of all of it."""
EMPTY = "%"
RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)), "conin$", "conout$"}
)
"""Names that Windows gives to devices, whatever their ending."""
TAKEN = frozenset({"history", "journal", "memory", "subagents", "tool-results", "workflows"})
"""Names of what lies beside sessions and is none."""
AGENTS = "agent-"
"""How the names of agents' own files begin."""

_OTHER = re.compile(r"[^a-z0-9_.\-]")
_ESCAPES = re.compile(r"(?:%[0-9a-f]{2})+")


def name_of(id: str) -> str:
    """The file name of an id, its ending aside.

    Lower case, digits, `_`, `-` and inner dots stand for themselves and all else is `%` and two hex digits for each
    byte of its UTF-8: so capitals, accents and what a system normalises cannot make two ids one file.
    """
    name = _OTHER.sub(lambda char: _escaped(char[0]), id)
    if name.split(".", 1)[0] in RESERVED or name in TAKEN or name.startswith((".", "-", AGENTS)):
        name = _escaped(name[0]) + name[1:]
    if name.endswith("."):
        name = name[:-1] + _escaped(".")
    if len(name) > LONGEST:
        digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        return _ESCAPES.sub("_", name[:60]).replace("%", "_") + HASHED + digest
    return name or EMPTY


def id_of(name: str) -> str | None:
    """The id of a file name, its ending aside; None where the name holds only a hash of it.

    A name that `name_of` never gives, such as one with capitals, is the id as it stands.
    """
    if "%" not in name:
        return name
    if HASHED in name:
        return None
    if name == EMPTY:
        return ""
    plain = _ESCAPES.sub(_unescaped, name)
    return plain if name_of(plain) == name else name


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def _unescaped(found: re.Match[str]) -> str:
    data = bytes.fromhex(found[0].replace("%", ""))
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return found[0]
