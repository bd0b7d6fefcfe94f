"""The tables of all known types, by name, and the conversion of JSON values to their structs; the JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

import msgspec
from msgspec import Struct

from reread.records.blocks import BLOCKS, structs_by_type, to_struct
from reread.records.types.base import (
    AttachmentPayload,
    Entry,
    EventPayload,
    Malformed,
    ProgressPayload,
    System,
    Unknown,
)

RECORDS: dict[str, type[Entry]] = {}
"""Every known type of record."""

SYSTEMS: dict[str, type[System]] = {}
"""Every known subtype of system records."""

ATTACHMENTS: dict[str, type[AttachmentPayload]] = {}
"""Every known type of attachment."""

PROGRESS: dict[str, type[ProgressPayload]] = {}
"""Every known type of progress."""

EVENTS: dict[str, type[EventPayload]] = {}
"""Every known type of stream event."""

PAYLOADS: dict[type[Entry], tuple[str, Mapping[str, type[Struct]]]] = {}
"""The records that have a payload: the field it is in, and the types it may have."""

FAMILIES: dict[str, Mapping[str, type[Struct]]] = {
    "attachment": ATTACHMENTS,
    "block": BLOCKS,
    "event": EVENTS,
    "progress": PROGRESS,
}
"""Other objects in fields than records, by the name used in `contains` and in the paths of unknown fields."""


def register_structs() -> None:
    """Enter every struct in its table, once all modules with structs are imported."""
    RECORDS.update(structs_by_type(Entry))
    del RECORDS[Malformed().type]
    SYSTEMS.update({str(kind().subtype): kind for kind in System.__subclasses__()})
    ATTACHMENTS.update(structs_by_type(AttachmentPayload))
    PROGRESS.update(structs_by_type(ProgressPayload))
    EVENTS.update(structs_by_type(EventPayload))


def to_entry(value: Any) -> Entry:
    """Return the typed value of a record in the native format; never raises."""
    if not isinstance(value, dict):
        return Malformed(reason="not a JSON object", value=value)
    record = cast(dict[str, Any], value)
    struct = _struct_of(record)
    if struct is None:
        return Unknown(type=string_field(record, "type"), value=record)
    if struct in PAYLOADS:
        name, table = PAYLOADS[struct]
        record = {**record, name: _to_payload(record.get(name), table)}
    return to_struct(record, struct)


def string_field(value: dict[str, Any], name: str) -> str:
    """Return a field that should be a string; empty if it is not."""
    text = value.get(name)
    return text if isinstance(text, str) else ""


def _struct_of(record: dict[str, Any]) -> type[Entry] | None:
    kind = string_field(record, "type")
    return SYSTEMS.get(string_field(record, "subtype"), System) if kind == "system" else RECORDS.get(kind)


def _to_payload(value: Any, table: Mapping[str, type[Struct]]) -> Any:
    if not isinstance(value, dict):
        return value
    payload = cast(dict[str, Any], value)
    kind = string_field(payload, "type")
    return to_struct(payload, table[kind]) if kind in table else Unknown(type=kind, value=payload)


ToolTypes = Mapping[str, tuple[Any, Any]]
"""The types of the input and of the structured result of each tool, by name; None if they can be anything."""
_NO_TOOLS: ToolTypes = MappingProxyType({})


def json_schema(tools: ToolTypes = _NO_TOOLS) -> dict[str, Any]:
    """Return a JSON Schema of the native format, generated from the types.

    With the types of tools, its `tools` lists the input and the structured result of each one. They are not enforced
    in records, because a model can write any input, and a tool that fails can give any result.
    """
    entries = {*RECORDS.values(), *SYSTEMS.values()}
    members = {f"Any{family.capitalize()}": {*table.values()} for family, table in FAMILIES.items()}
    shapes = [shape for pair in tools.values() for shape in pair if shape is not None]
    structs = entries.union(*members.values())
    references, definitions = msgspec.json.schema_components([*structs, *shapes], ref_template="#/$defs/{name}")
    by_shape = dict(zip(map(repr, shapes), references[len(structs) :], strict=True))
    for table in (RECORDS, *FAMILIES.values()):
        for kind, struct in table.items():
            _pin(definitions[struct.__name__], "type", kind)
    for kind, struct in SYSTEMS.items():
        if struct is not System:
            _pin(definitions[struct.__name__], "type", "system")
            _pin(definitions[struct.__name__], "subtype", kind)
    for name, family in members.items():
        definitions[name] = {"anyOf": _references(family)}
    if tools:
        for name, place in (("AnyToolInput", 0), ("AnyToolResult", 1)):
            used = dict.fromkeys(repr(pair[place]) for pair in tools.values())
            definitions[name] = {"anyOf": [by_shape[shape] for shape in used if shape in by_shape]}
        _suggest(definitions["ToolUse"], "input", "AnyToolInput")
        _suggest(definitions["User"], "toolUseResult", "AnyToolResult")
    listed = {name: [by_shape.get(repr(shape), {}) for shape in pair] for name, pair in tools.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of a Claude Code session",
        "anyOf": _references(entries),
        "$defs": dict(sorted(definitions.items())),
        "tools": {name: {"input": pair[0], "result": pair[1]} for name, pair in sorted(listed.items())},
    }


def _pin(definition: dict[str, Any], name: str, value: str) -> None:
    """Require a field, and allow this value in addition to those already allowed."""
    allowed = definition["properties"][name].get("enum", [])
    definition["properties"][name] = {"enum": [*allowed, value]}
    definition["required"] = [*dict.fromkeys([*definition.get("required", []), name])]


def _suggest(definition: dict[str, Any], name: str, kind: str) -> None:
    """Name the known types of a field that can be anything."""
    definition["properties"][name] = {"anyOf": [{"$ref": f"#/$defs/{kind}"}, {}]}


def _references(structs: Iterable[type[Struct]]) -> list[dict[str, str]]:
    return [{"$ref": f"#/$defs/{name}"} for name in sorted(struct.__name__ for struct in structs)]
