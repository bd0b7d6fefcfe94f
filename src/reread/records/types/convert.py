"""Convert JSON values to the structs of their records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from reread.records.blocks import to_struct
from reread.records.types.base import Entry, Malformed, System, Unknown
from reread.records.types.registry import PAYLOADS, RECORDS, SYSTEMS


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
