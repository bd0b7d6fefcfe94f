"""The tables of all known types, by name, and the conversion of JSON values to the structs of their records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

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
