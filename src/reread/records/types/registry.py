"""The tables of all known types, by name."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from reread.records.blocks import BLOCKS, structs_by_type
from reread.records.types.base import AttachmentPayload, Entry, EventPayload, Malformed, ProgressPayload, System

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
