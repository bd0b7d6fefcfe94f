"""Parse lines that the fast scan cannot: damaged, of another dialect, or with fields of unexpected types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast, get_args

import msgspec

from reread.accounting.rows import AnyLine
from reread.base import jsontext
from reread.base.times import timestamp_ms
from reread.records import dialects
from reread.records.decode import Record, slow_records
from reread.records.envelope import UsageFields, to_usage


class ParsedRecord(NamedTuple):
    """A record in the native format."""

    line: AnyLine
    body: bytes
    """The whole record as JSON."""
    streamed: bool
    """True if the record comes from a stream."""


def parse_line(body: bytes) -> Iterator[ParsedRecord]:
    """Yield the records of a line."""
    return parse_records(_records(body))


def parse_records(records: Iterable[Record]) -> Iterator[ParsedRecord]:
    """Yield decoded records for counting."""
    for record in records:
        native = record.native
        if native:
            yield ParsedRecord(fit(native, AnyLine), jsontext.dumps(native), _is_streamed(record))


def peek_line(body: bytes) -> tuple[int | None, bool]:
    """Return the first time in a line, and whether the line comes from a stream."""
    start_ms: int | None = None
    streamed = False
    for record in _records(body):
        streamed |= _is_streamed(record)
        if start_ms is None:
            start_ms = timestamp_ms(record.envelope.timestamp)
    return start_ms, streamed


def _records(body: bytes) -> list[Record]:
    """Return the records of a line, however damaged it is."""
    if not body.strip(b" \t\r\n\x00"):
        return []
    record = Record(0, 0, body)
    return [record] if not record.fault else slow_records(body, 0, 0)


def _is_streamed(record: Record) -> bool:
    if record.dialect == dialects.NATIVE:
        return False
    value = record.value
    return isinstance(value, dict) and dialects.was_printed(cast(dict[str, Any], value))


def fit(value: Any, shape: type[Any]) -> Any:
    """Convert an object to a struct, leaving out fields of the wrong type at any depth."""
    try:
        return msgspec.json.decode(jsontext.dumps(value, deep=False), type=shape)
    except jsontext.DECODE_ERRORS:
        pass
    if shape is UsageFields and isinstance(value, dict):
        return to_usage(cast(dict[str, Any], value))
    out = shape()
    for field in msgspec.structs.fields(shape):
        if not isinstance(value, dict) or field.name not in value:
            continue
        item: Any = cast(dict[str, Any], value)[field.name]
        inner = next((part for part in get_args(field.type) if isinstance(part, type) and _is_struct(part)), None)
        if inner is not None and isinstance(item, dict):
            setattr(out, field.name, fit(item, inner))
            continue
        try:
            setattr(out, field.name, msgspec.json.decode(jsontext.dumps(item, deep=False), type=field.type))
        except jsontext.DECODE_ERRORS:
            continue
    return out


def _is_struct(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct)
