"""Structs that only state fields: those of the text files in this folder, which are tables of types.

A paragraph is a type, or a part that others name: its family, its name and its meaning; then, by their types, its
fields. No module can name these structs, as type checkers do not know them; what one has to name is a class.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from reread.base.structs import FrozenStructType
from reread.records.blocks import BlockPart, Content
from reread.records.types.attachments import HookAttachment
from reread.records.types.base import (
    AttachmentPayload,
    EventPayload,
    NestedEntry,
    ProgressPayload,
    StateRecord,
    StreamRecord,
    System,
)

BASES: dict[str, tuple[type[Struct], str]] = {
    "attachment": (AttachmentPayload, "Attachment"),
    "event": (EventPayload, "Event"),
    "hook": (HookAttachment, "Attachment"),
    "part": (BlockPart, ""),
    "progress": (ProgressPayload, "Progress"),
    "state": (StateRecord, ""),
    "stream": (StreamRecord, ""),
    "system": (System, ""),
}
"""The struct above each family, and the last word of the names below it."""
FILES = ("api", "state", "stream", "system", "attachments")
"""The tables; each begins with what those after it name, and its structs are said to be of the module of its name."""


def declare_structs(package: str) -> None:
    """Make the structs of all tables, each an attribute of the package, and of its module, where a pickle looks."""
    known = vars(sys.modules[package])
    for file in FILES:
        text = Path(__file__).with_name(f"{file}.txt").read_text(encoding="utf-8")
        for head, *rows in map(str.splitlines, text.split("\n\n")):
            kind, meaning = head.split(": ", 1)
            family, name = kind.split(" ")
            struct = _struct(family, name, {"__doc__": meaning, "__module__": package}, _fields(rows, known))
            struct.__module__ = f"{package}.{file}"
            known[struct.__name__] = vars(sys.modules[struct.__module__])[struct.__name__] = struct


def _fields(rows: Iterable[str], known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for row in rows:
        hint, *names = row.split()
        type = _type(hint, known)
        yield from ((name, type if type in (Any, Content, NestedEntry) else type | None) for name in names)


def _type(hint: str, known: Mapping[str, Any]) -> Any:
    """Return the type that a table names: `int`, `list[Command]`, `dict[str,Any]` or `str|list[str]`."""
    first, _, other = hint.partition("|")
    if other:
        return _type(first, known) | _type(other, known)
    outer, _, inner = hint.partition("[")
    if outer == "list":
        return list[_type(inner[:-1], known)]
    if outer == "dict":
        return dict[str, _type(inner.removeprefix("str,")[:-1], known)]
    return {"str": str, "int": int, "bool": bool, "Any": Any}.get(hint) or known[hint]


def _struct(family: str, name: str, namespace: dict[str, Any], fields: Iterable[tuple[str, Any]]) -> type[Struct]:
    """Return the struct of a type; its name follows from that: `system away_summary` is `SystemAwaySummary`."""
    base, ending = BASES[family]
    hints = dict(fields)
    namespace |= dict.fromkeys(hints)
    if family != "part":
        tag, hint = ("subtype", str | None) if family == "system" else ("type", str)
        hints, namespace[tag] = {tag: hint, **hints}, name
        words = "".join(word[:1].upper() + word[1:] for word in name.replace("-", "_").split("_"))
        name = f"System{words}" if family == "system" else words.removesuffix(ending) + ending
    made = FrozenStructType(name, (base,), {**namespace, "__annotations__": hints})
    return cast(type[Struct], made)
