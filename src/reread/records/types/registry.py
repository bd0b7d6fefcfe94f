"""The tables: every type by its name, entered by the module that has the struct."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from reread.records.blocks import BLOCKS
from reread.records.types.base import AttachmentPayload, Entry, EventPayload, ProgressPayload, System

RECORDS: dict[str, type[Entry]] = {}
"""Every record type."""

SYSTEMS: dict[str, type[System]] = {}
"""Every subtype of system records."""

ATTACHMENTS: dict[str, type[AttachmentPayload]] = {}
"""Every type of attachment."""

PROGRESS: dict[str, type[ProgressPayload]] = {}
"""Every type of progress."""

EVENTS: dict[str, type[EventPayload]] = {}
"""Every type of stream event."""

PAYLOADS: dict[type[Entry], tuple[str, Mapping[str, type[Struct]]]] = {}
"""Where a record carries a payload, and the types it may have."""

FAMILIES: dict[str, Mapping[str, type[Struct]]] = {
    "attachment": ATTACHMENTS,
    "block": BLOCKS,
    "event": EVENTS,
    "progress": PROGRESS,
}
"""What a field may hold besides records, by the name that `holds` and the paths of unknown fields use."""
