"""Generate a JSON Schema of the native format from the types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from reread.records.types.base import System
from reread.records.types.registry import FAMILIES, RECORDS, SYSTEMS


def json_schema() -> dict[str, Any]:
    """Return a JSON Schema of the native format, generated from the types."""
    entries = {*RECORDS.values(), *SYSTEMS.values()}
    members = {f"Any{family.capitalize()}": {*table.values()} for family, table in FAMILIES.items()}
    _, definitions = msgspec.json.schema_components(entries.union(*members.values()), ref_template="#/$defs/{name}")
    for table in (RECORDS, *FAMILIES.values()):
        for kind, struct in table.items():
            _pin(definitions[struct.__name__], "type", kind)
    for kind, struct in SYSTEMS.items():
        if struct is not System:
            _pin(definitions[struct.__name__], "type", "system")
            _pin(definitions[struct.__name__], "subtype", kind)
    for name, family in members.items():
        definitions[name] = {"anyOf": _references(family)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of a Claude Code session",
        "anyOf": _references(entries),
        "$defs": dict(sorted(definitions.items())),
    }


def _pin(definition: dict[str, Any], name: str, value: str) -> None:
    """Require a field, and allow this value in addition to those already allowed."""
    allowed = definition["properties"][name].get("enum", [])
    definition["properties"][name] = {"enum": [*allowed, value]}
    definition["required"] = [*dict.fromkeys([*definition.get("required", []), name])]


def _references(structs: Iterable[type[Struct]]) -> list[dict[str, str]]:
    return [{"$ref": f"#/$defs/{name}"} for name in sorted(struct.__name__ for struct in structs)]
